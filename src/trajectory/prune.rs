//! `git trajectory prune`: old sessions.

use clap::Args;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::state::lock::PATIENCE;
use crate::trajectory::expire;
use crate::ui::{self, Ui};

#[derive(Args)]
pub(super) struct Arguments {
    /// Sessions that nothing was written to for so long; trajectory.expire, or 30 days
    #[arg(long, value_name = "age")]
    older_than: Option<String>,
    /// Keep a line with the sums of each
    #[arg(long)]
    keep_summary: bool,
    /// Show what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let age = match &arguments.older_than {
        Some(text) => expire::age(text)?,
        None => expire::configured(repo)?.unwrap_or(expire::DEFAULT),
    };
    let old = expire::old_sessions(repo, age, arguments.keep_summary);
    if old.is_empty() {
        ui.note("nothing is old enough");
        return Ok(Exit::Done);
    }
    for stem in old.keys() {
        writeln!(ui.out, "{stem}")?;
    }
    if arguments.dry_run {
        return Ok(Exit::Done);
    }
    if !arguments.yes {
        if !ui::can_ask() {
            ui.say("nothing was deleted: --yes deletes these sessions");
            return Ok(Exit::No);
        }
        ui.flush()?;
        if !ui::confirm("Delete these sessions? They cannot be brought back.")? {
            return Ok(Exit::No);
        }
    }
    for (stem, files) in &old {
        expire::delete(repo, stem, files, arguments.keep_summary, PATIENCE)?;
    }
    Ok(Exit::Done)
}
