//! `git trajectory start`: begins a run.

use clap::Args;
use serde_json::json;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::trajectory::runs::Journal;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// What the run is called
    name: String,
    /// What was asked for
    #[arg(long, value_name = "text")]
    request: Option<String>,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let journal = Journal::begin(repo);
    journal.write(
        "run_start",
        &arguments.name,
        None,
        json!({"request": arguments.request}),
    )?;
    writeln!(ui.out, "{}", journal.run)?;
    Ok(Exit::Done)
}
