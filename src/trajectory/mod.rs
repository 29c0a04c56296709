//! The program `git-trajectory`: one file per subcommand.

mod agent;
mod doctor;
mod expire;
mod finish;
mod fresh;
mod hook;
mod import;
mod import_command;
mod ingest;
mod install;
mod last;
mod list;
mod log;
mod mirror;
mod phase;
mod prune;
mod record;
mod replay;
mod runs;
mod scan;
mod show;
mod sql;
mod start;
mod summary;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cli::{self, Exit};
use crate::error::Result;
use crate::git::Repo;
use crate::ui::Ui;

/// What an agent did in this repository, one line an event, secrets masked
#[derive(Parser)]
#[command(
    name = "git-trajectory",
    bin_name = "git trajectory",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Put the hook into an agent's settings, or take it out
    Install(install::Arguments),
    /// Record what an agent reports; what agents call
    Hook(hook::Arguments),
    /// Write one event to a session's log
    Log(log::Arguments),
    /// List the sessions
    List(list::Arguments),
    /// Show the events of a session
    Show(show::Arguments),
    /// Show the last run, or the newest session
    Last(last::Arguments),
    /// Bring the SQLite mirror up to date
    Ingest(ingest::Arguments),
    /// Read the transcripts that agents wrote themselves
    Import(import_command::Arguments),
    /// Begin a run of several phases
    Start(start::Arguments),
    /// Run one phase of a run
    Phase(phase::Arguments),
    /// End a run
    Finish(finish::Arguments),
    /// Delete old sessions
    Prune(prune::Arguments),
    /// Look for secrets in files
    Scan(scan::Arguments),
    /// Say why there is no record
    Doctor(doctor::Arguments),
    /// Run git-replay, under a name that git's builtin cannot take
    Replay(replay::Arguments),
    /// Ask the mirror a question in SQL
    Sql(sql::Arguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    // An agent waits for its hook at each event, and reading arguments with all that
    // this program knows of them takes a tenth of the time.
    if let Some(hook) = hook::Arguments::plain(std::env::args_os()) {
        let answered = hook::run(&hook, &mut Ui::from_terminal());
        return answered.unwrap_or(Exit::Done).into();
    }
    cli::main(std::env::args_os(), run)
}

fn run(arguments: Program, ui: &mut Ui) -> Result<Exit> {
    if let Command::Hook(arguments) = &arguments.command {
        return hook::run(arguments, ui);
    }
    if let Command::Install(arguments) = &arguments.command {
        return install::run(arguments, ui);
    }
    if let Command::Replay(arguments) = &arguments.command {
        return replay::run(arguments, ui);
    }
    let repo = Repo::discover()?;
    ui.set_colour(repo.config_text("color.ui").as_deref());
    mirror::explained(match arguments.command {
        Command::Hook(arguments) => hook::run(&arguments, ui),
        Command::Install(arguments) => install::run(&arguments, ui),
        Command::Log(arguments) => log::run(&repo, arguments, ui),
        Command::List(arguments) => list::run(&repo, arguments, ui),
        Command::Show(arguments) => show::run(&repo, arguments, ui),
        Command::Last(arguments) => last::run(&repo, &arguments, ui),
        Command::Ingest(arguments) => ingest::run(&repo, arguments, ui),
        Command::Import(arguments) => import_command::run(&repo, arguments, ui),
        Command::Start(arguments) => start::run(&repo, &arguments, ui),
        Command::Phase(arguments) => phase::run(&repo, arguments, ui),
        Command::Finish(arguments) => finish::run(&repo, arguments, ui),
        Command::Prune(arguments) => prune::run(&repo, &arguments, ui),
        Command::Scan(arguments) => scan::run(&repo, arguments, ui),
        Command::Doctor(arguments) => doctor::run(&repo, &arguments, ui),
        Command::Replay(arguments) => replay::run(&arguments, ui),
        Command::Sql(arguments) => sql::run(&repo, &arguments, ui),
    })
}
