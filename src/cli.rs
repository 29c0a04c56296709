//! From arguments to exit code, the same way for every program.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::error::{Result, is_broken_pipe, report};
use crate::ui::Ui;

/// What a command answers; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// The answer is no: declined, nothing to undo, paths left alone.
    No,
    /// The code of a program that was run on the user's behalf.
    Code(u8),
}

impl Exit {
    /// Wrong usage that only shows after the arguments were read.
    pub const USAGE: Exit = Exit::Code(USAGE);

    /// The code of a program that was run on the user's behalf; killed by a signal
    /// it is 128 + its number, as shells have it.
    pub fn of(status: std::process::ExitStatus) -> Self {
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0);
        let code = status.code().unwrap_or(128 + signal);
        Exit::Code(u8::try_from(code).unwrap_or(u8::MAX))
    }
}

/// What git itself uses for a fatal error.
const FATAL: u8 = 128;
/// What git itself uses for wrong usage, and for `-h`.
const USAGE: u8 = 129;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => ExitCode::SUCCESS,
            Exit::No => ExitCode::from(1),
            Exit::Code(code) => ExitCode::from(code),
        }
    }
}

/// Parses `arguments` (the program's name first), runs, and turns the outcome
/// into an exit code: 0 done, 1 no, 128 fatal, 129 usage.
pub fn main<A: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
    run: fn(A, &mut Ui) -> Result<Exit>,
) -> ExitCode {
    let arguments = match A::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(usage) => return explain(&usage),
    };
    outside(|ui| run(arguments, ui))
}

/// Runs what has no arguments of its own to read, and turns the outcome into an
/// exit code as [`main`] does.
pub fn outside(run: impl FnOnce(&mut Ui) -> Result<Exit>) -> ExitCode {
    let mut ui = Ui::from_terminal();
    let outcome = run(&mut ui).and_then(|exit| {
        ui.flush()?;
        Ok(exit)
    });
    match outcome {
        Ok(exit) => exit.into(),
        // The reader has what it wanted (`… | head`): not a failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            ui.say(report(&error));
            ExitCode::from(FATAL)
        }
    }
}

fn explain(usage: &clap::Error) -> ExitCode {
    let printed = usage.print();
    match usage.kind() {
        ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        // `--help` asks for the long text; `-h` is git's "usage", with git's code.
        ErrorKind::DisplayHelp if printed.is_ok() && asked_long() => ExitCode::SUCCESS,
        _ => ExitCode::from(USAGE),
    }
}

fn asked_long() -> bool {
    std::env::args_os().any(|argument| argument == "--help" || argument == "help")
}
