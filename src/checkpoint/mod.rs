//! The program `git-checkpoint`: one file per subcommand.

mod list;
mod save;
mod show_json;
mod time;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cli::{self, Exit};
use crate::error::Result;
use crate::git::Repo;
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
}

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main(std::env::args_os(), run)
}

fn run(arguments: Program, ui: &mut Ui) -> Result<Exit> {
    let repo = Repo::discover()?;
    ui.set_colour(repo.config_text("color.ui").as_deref());
    match arguments.command {
        None => save::run(&repo, arguments.save, ui),
        Some(Command::Save(arguments)) => save::run(&repo, arguments, ui),
        Some(Command::List(arguments)) => list::run(&repo, arguments, ui),
    }
}
