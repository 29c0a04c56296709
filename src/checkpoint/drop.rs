//! `git checkpoint drop`.

use clap::Args;

use crate::checkpoint::removal::{self, Removal};
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::needed::needed;
use crate::lane::{Checkpoint, Lane, find};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// Checkpoint to drop (may be given more than once)
    #[arg(value_name = "N", required = true)]
    numbers: Vec<String>,
    /// Show what would be dropped, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print nothing but errors and questions
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let mut going: Vec<Checkpoint> = Vec::new();
    for number in &arguments.numbers {
        let checkpoint = find::by_text(repo, number)?;
        if going.iter().all(|c| c.name != checkpoint.name) {
            going.push(checkpoint);
        }
    }
    let question = question(repo, &going)?;
    removal::carry_out(
        repo,
        &Removal {
            going: &going,
            word: "dropped",
            would: "would drop",
            question,
            dry_run: arguments.dry_run,
            yes: arguments.yes,
        },
        ui,
    )
}

/// What was named is meant, as in `git stash drop`; but not everybody knows what
/// stands on it.
fn question(repo: &Repo, going: &[Checkpoint]) -> Result<Option<String>> {
    let needed = needed(repo)?;
    let own = Lane::find(repo)?.map(|lane| lane.name);
    for checkpoint in going {
        let record = &checkpoint.record;
        if needed.contains(&(record.lane.clone(), record.number)) {
            return Ok(Some(format!(
                "undo or redo stands on {}. Drop it?",
                checkpoint.lane_and_number()
            )));
        }
        if own.as_ref() != Some(&record.lane) {
            return Ok(Some(format!(
                "{} belongs to another worktree. Drop it?",
                checkpoint.lane_and_number()
            )));
        }
    }
    Ok(None)
}
