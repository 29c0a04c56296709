//! `git shadow path`.

use std::os::unix::ffi::OsStrExt;

use clap::Args;

use crate::cli::Exit;
use crate::error::{Result, bail};
use crate::git::Repo;
use crate::shadow::task::{Phase, Task};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    if task.phase == Phase::Finished {
        bail!(
            "the shadow '{}' is finished: it has no folder any more",
            task.task
        );
    }
    ui.out.write_all(task.path.as_os_str().as_bytes())?;
    writeln!(ui.out)?;
    Ok(Exit::Done)
}
