//! The program `git-checkpoint`: one file per subcommand.

mod diff;
mod drop;
mod export;
mod exposure;
mod fence;
mod fsck;
mod head_check;
mod import;
mod list;
mod others;
mod outcome;
mod prune;
mod redo;
mod removal;
mod restore;
mod rollback;
mod run;
mod save;
mod show;
mod show_json;
mod status;
mod targets;
mod time;
mod undo;
mod wrote;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cli::{self, Exit};
use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::restore::journal::Journal;
use crate::snapshot::restore::stage::Stage;
use crate::ui::Ui;

/// A snapshot of the working tree before each write, and an undo that loses nobody's work
#[derive(Parser)]
#[command(
    name = "git-checkpoint",
    bin_name = "git checkpoint",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Program {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    save: save::Arguments,
}

#[derive(Subcommand)]
enum Command {
    /// Take a checkpoint of the working tree (what bare `git checkpoint` does)
    Save(save::Arguments),
    /// List the checkpoints of this worktree
    List(list::Arguments),
    /// Run a command between two checkpoints
    Run(run::Arguments),
    /// Show one checkpoint
    Show(show::Arguments),
    /// Show where this worktree stands among its checkpoints
    Status(status::Arguments),
    /// Show what changed since a checkpoint, or between two
    Diff(diff::Arguments),
    /// Record what a tool has just written, as evidence of whose change it is
    Wrote(wrote::Arguments),
    /// Bring the working tree back to a checkpoint
    Undo(undo::Arguments),
    /// Take the last undo back
    Redo(redo::Arguments),
    /// Prove that checkpoints are complete, and tell how they differ from the disk
    Fsck(fsck::Arguments),
    /// Delete checkpoints
    Drop(drop::Arguments),
    /// Delete old checkpoints
    Prune(prune::Arguments),
    /// Write a checkpoint into one file, a git bundle
    Export(export::Arguments),
    /// Take the checkpoints of such a file into this lane
    Import(import::Arguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main(std::env::args_os(), run)
}

fn run(arguments: Program, ui: &mut Ui) -> Result<Exit> {
    let repo = Repo::discover()?;
    ui.set_colour(repo.config_text("color.ui").as_deref());
    let restores = matches!(arguments.command, Some(Command::Undo(_) | Command::Redo(_)));
    if !restores && let Some(journal) = Journal::load(&repo)? {
        ui.warn(format_args!(
            "unfinished: a restore of {} was cut short; 'git checkpoint undo' finishes it, 'redo' takes it back",
            journal.target
        ));
    }
    if !restores {
        Stage::sweep(&repo)?;
    }
    match arguments.command {
        None => save::run(&repo, arguments.save, ui),
        Some(Command::Save(arguments)) => save::run(&repo, arguments, ui),
        Some(Command::List(arguments)) => list::run(&repo, arguments, ui),
        Some(Command::Run(arguments)) => run::run(&repo, arguments, ui),
        Some(Command::Show(arguments)) => show::run(&repo, arguments, ui),
        Some(Command::Status(arguments)) => status::run(&repo, arguments, ui),
        Some(Command::Diff(arguments)) => diff::run(&repo, arguments, ui),
        Some(Command::Wrote(arguments)) => wrote::run(&repo, arguments, ui),
        Some(Command::Undo(arguments)) => undo::run(&repo, arguments, ui),
        Some(Command::Redo(arguments)) => redo::run(&repo, arguments, ui),
        Some(Command::Fsck(arguments)) => fsck::run(&repo, arguments, ui),
        Some(Command::Drop(arguments)) => drop::run(&repo, arguments, ui),
        Some(Command::Prune(arguments)) => prune::run(&repo, arguments, ui),
        Some(Command::Export(arguments)) => export::run(&repo, arguments, ui),
        Some(Command::Import(arguments)) => import::run(&repo, arguments, ui),
    }
}
