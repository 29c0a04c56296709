//! `git-replay test`: many journals checked in parallel, one verdict each: a CI gate.

mod junit;
mod lines;
mod parallel;
mod sources;
mod verdict;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::ui::Ui;
use verdict::Tested;

/// Check many journals in parallel, writing nothing; exit 1 if any diverged
#[derive(Args)]
pub(super) struct Arguments {
    /// Journals, and folders that hold some
    #[arg(required = true, value_name = "journal")]
    journals: Vec<PathBuf>,
    /// Begin each at this commit instead of the recorded one
    #[arg(long, value_name = "base")]
    from: Option<String>,
    /// How many at a time (default: one for each processor)
    #[arg(short, long, value_name = "n", default_value_t = 0)]
    jobs: usize,
    /// How to print the verdicts
    #[arg(long, value_name = "format", default_value = "human")]
    format: Format,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Junit,
    Tap,
}

/// Runs the subcommand.
///
/// # Errors
/// When no journal is found, or the verdicts cannot be printed.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let repo = Repo::discover()?;
    let from = match &arguments.from {
        Some(revision) => Some(super::base::require_commit(&repo, revision)?),
        None => None,
    };
    drop(repo);
    let journals = sources::journals(&arguments.journals)?;
    let tested = parallel::tested(&journals, from, arguments.jobs, arguments.quiet);
    match arguments.format {
        Format::Human => lines::human(&tested, ui)?,
        Format::Tap => lines::tap(&tested, ui)?,
        Format::Json => ui.json(&verdict::document(&tested))?,
        Format::Junit => junit::write(&tested, ui)?,
    }
    Ok(if tested.iter().all(Tested::has_passed) {
        Exit::Done
    } else {
        Exit::No
    })
}
