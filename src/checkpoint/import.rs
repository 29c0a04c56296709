//! `git checkpoint import`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::publish::Turn;
use crate::lane::transfer;
use crate::state::lock::PATIENCE;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The file that 'export' wrote
    #[arg(value_name = "file")]
    file: PathBuf,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    repo.require_worktree()?;
    let turn = Turn::wait(repo, PATIENCE)?;
    for checkpoint in transfer::import(repo, &turn, &arguments.file)? {
        writeln!(ui.out, "{}", checkpoint.number())?;
    }
    Ok(Exit::Done)
}
