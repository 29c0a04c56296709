//! The program `git-shadow`: one file per subcommand, and the rooms they share.

mod absence;
mod add;
mod base;
mod checkout;
mod checkup;
mod clone;
mod deps;
mod describe;
mod diff;
mod doctor;
mod dress;
mod entry;
mod env;
mod environment;
mod exclude;
mod expire;
mod finish;
mod guards;
mod headlog;
mod hook;
mod ignored;
mod include;
mod lease;
mod left;
mod list;
mod lock;
mod logbook;
mod make;
mod merge;
mod merged;
mod modules;
mod name;
mod overlap;
mod path;
mod place;
mod ports;
mod process;
mod program;
mod proof;
mod prune;
mod putback;
mod rebase;
mod record;
mod relocate;
mod remains;
mod removal;
mod remove;
mod restore;
mod run;
mod show;
mod sparse;
mod sweep;
mod target;
mod task;
mod trash;
mod treeless;
mod unmake;
mod worktree_refs;

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    crate::cli::main(std::env::args_os(), program::run)
}
