//! The program `git-checkpoint`: one file per subcommand.

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Exit};

/// A snapshot of the working tree before each write, and an undo that loses nobody's work
#[derive(Parser)]
#[command(name = "git-checkpoint", bin_name = "git checkpoint", version)]
struct Arguments {}

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main::<Arguments>(std::env::args_os(), |_, _| Ok(Exit::Done))
}
