//! The program `git-replay`: one file per subcommand.

pub mod journal;
pub mod object;
pub mod patch;

mod apply;
mod around;
mod base;
mod batch;
mod bisect;
mod cause;
mod compose;
mod convert;
mod diff;
mod diffs;
mod divergence;
mod emit;
mod fsck;
mod leaks;
mod migrate;
mod name;
mod options;
mod output;
mod pack;
mod pairing;
mod patch_id;
mod plain;
mod promised;
mod prompts;
mod proof;
mod publish;
mod quarantine;
mod range;
mod rebuild;
mod record;
mod render;
mod report;
mod room;
mod run;
mod session;
mod show;
mod store;
mod test;
mod trace;
mod tree;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cli::{self, Exit};
use crate::error::Result;
use crate::ui::Ui;

/// What `-h` says first.
const ABOUT: &str = "\
Replay a recorded agent run: rebuild its commits with the same ids, or say where it departs

git 2.44 and newer have a builtin 'replay', which always wins: there, type 'git-replay' (this
program) or 'git trajectory replay' (the same one), not 'git replay'. Options that only the
builtin has are handed over to it.";

#[derive(Parser)]
#[command(
    name = "git-replay",
    bin_name = "git-replay",
    about = ABOUT,
    version,
    disable_help_subcommand = true,
    override_usage = "git-replay [run] <journal> [<options>]\n       git-replay <command> [<options>]"
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rebuild the commits of a journal (what bare `git-replay <journal>` does)
    Run(run::Arguments),
    /// Record commits as a journal, proven to rebuild them with the same ids
    Record(record::Arguments),
    /// Check many journals in parallel, writing nothing; exit 1 if any diverged
    Test(test::Arguments),
    /// Show what a journal holds
    Show(show::Arguments),
    /// Compare two journals: prompts, tools, usage, and commits by what they change
    Diff(diff::Arguments),
    /// Find the first commit or event at which a journal and a branch, or two journals, part
    Bisect(bisect::Arguments),
    /// Write a journal in another form
    Convert(convert::Arguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let program: Vec<OsString> = words.next().into_iter().collect();
    match name::decide(words.collect()) {
        name::Call::Ours(arguments) => cli::main(program.into_iter().chain(arguments), run),
        name::Call::Builtin(arguments) => cli::outside(|ui| name::hand_over(&arguments, ui)),
    }
}

fn run(arguments: Program, ui: &mut Ui) -> Result<Exit> {
    match arguments.command {
        Command::Run(arguments) => run::run(arguments, ui),
        Command::Record(arguments) => record::run(arguments, ui),
        Command::Test(arguments) => test::run(arguments, ui),
        Command::Show(arguments) => show::run(arguments, ui),
        Command::Diff(arguments) => diff::run(arguments, ui),
        Command::Bisect(arguments) => bisect::run(arguments, ui),
        Command::Convert(arguments) => convert::run(arguments, ui),
    }
}
