//! `git trajectory replay`: git-replay, under a name that git's builtin of that
//! name cannot take.

use std::ffi::OsString;

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Hint, Result};
use crate::git::command::Child;
use crate::ui::Ui;

#[derive(Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    /// What git-replay takes; see its own page
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "argument"
    )]
    arguments: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.flush()?;
    // The one beside us: under git, its own git-replay comes first on PATH.
    let program = std::env::current_exe()
        .context("cannot find this program")?
        .with_file_name("git-replay");
    let status = Child::as_called(&program)
        .args(&arguments.arguments)
        .status()
        .hint("it is installed beside git-trajectory")?;
    Ok(Exit::of(status))
}
