//! `git trajectory finish`: ends a run.

use clap::Args;
use serde_json::json;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::trajectory::runs::Journal;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The run; without it HARNESS_RUN, or the newest that is not finished
    #[arg(long, value_name = "id")]
    run: Option<String>,
    /// It failed
    #[arg(long)]
    fail: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let journal = Journal::find(repo, arguments.run)?;
    let standing = journal.standing()?;
    if standing.is_finished {
        ui.note(format_args!(
            "the run '{}' is finished already",
            journal.run
        ));
        return Ok(Exit::No);
    }
    for (_, phase) in &standing.unended {
        ui.warn(format_args!("the phase '{phase}' has no end"));
    }
    let is_whole = standing.failed.is_none() && standing.unended.is_empty();
    let status = if arguments.fail || !is_whole {
        "failed"
    } else {
        "done"
    };
    journal.write(
        "run_finish",
        &standing.name,
        None,
        json!({"status": status, "cost_usd": standing.cost_usd}),
    )?;
    Ok(Exit::Done)
}
