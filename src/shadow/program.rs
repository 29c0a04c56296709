//! The subcommands of `git shadow` and where each begins.

use clap::{Parser, Subcommand};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::{
    add, diff, doctor, env, finish, list, lock, merge, path, place, prune, relocate, remove,
    restore, run, show, sweep,
};
use crate::ui::Ui;

/// A worktree of its own for each agent task, from creation to merge or removal
#[derive(Parser)]
#[command(
    name = "git-shadow",
    bin_name = "git shadow",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(super) struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a shadow: folder, branch, port, dependencies
    Add(Box<add::Arguments>),
    /// List the shadows of this repository
    List(list::Arguments),
    /// Show one shadow
    Show(show::Arguments),
    /// Print the folder of a shadow
    Path(path::Arguments),
    /// Print the environment of a shadow
    Env(env::Arguments),
    /// Run a command inside a shadow
    Run(run::Arguments),
    /// Show what a shadow changed
    Diff(diff::Arguments),
    /// Commit all work in a shadow as one commit, and remove its folder
    Finish(finish::Arguments),
    /// Merge a shadow's branch into the branch it came from
    Merge(Box<merge::Arguments>),
    /// Remove shadows, when nothing in them would be lost
    Remove(remove::Arguments),
    /// Bring a removed shadow back
    Restore(restore::Arguments),
    /// Remove shadows that are gone, half-made, merged or old
    Prune(prune::Arguments),
    /// Move a shadow to another folder
    Move(relocate::Arguments),
    /// Keep a shadow from being removed or moved
    Lock(lock::LockArguments),
    /// Take that back
    Unlock(lock::UnlockArguments),
    /// Say what is wrong around shadows, and mend it
    Doctor(doctor::Arguments),
    /// Empty the trash folder of a removed shadow (`remove` starts this itself)
    #[command(hide = true)]
    Sweep(sweep::Arguments),
}

/// Runs what was asked for.
///
/// # Errors
/// As the subcommand says.
pub(super) fn run(arguments: Program, ui: &mut Ui) -> Result<Exit> {
    if let Command::Sweep(arguments) = &arguments.command {
        return sweep::run(arguments);
    }
    let repo = Repo::discover()?;
    place::here();
    ui.set_colour(repo.config_text("color.ui").as_deref());
    match arguments.command {
        Command::Add(arguments) => add::run(&repo, *arguments, ui),
        Command::List(arguments) => list::run(&repo, arguments, ui),
        Command::Show(arguments) => show::run(&repo, arguments, ui),
        Command::Path(arguments) => path::run(&repo, arguments, ui),
        Command::Env(arguments) => env::run(&repo, arguments, ui),
        Command::Run(arguments) => run::run(&repo, arguments, ui),
        Command::Diff(arguments) => diff::run(&repo, arguments, ui),
        Command::Finish(arguments) => finish::run(&place::home(repo)?, &arguments, ui),
        Command::Merge(arguments) => merge::run(&place::home(repo)?, &arguments, ui),
        Command::Remove(arguments) => remove::run(&place::home(repo)?, &arguments, ui),
        Command::Restore(arguments) => restore::run(&place::home(repo)?, &arguments, ui),
        Command::Prune(arguments) => prune::run(&place::home(repo)?, &arguments, ui),
        Command::Move(arguments) => relocate::run(&place::home(repo)?, &arguments, ui),
        Command::Lock(arguments) => lock::lock(&repo, &arguments),
        Command::Unlock(arguments) => lock::unlock(&repo, &arguments),
        Command::Doctor(arguments) => doctor::run(&repo, &arguments, ui),
        Command::Sweep(arguments) => sweep::run(&arguments),
    }
}
