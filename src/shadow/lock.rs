//! `git shadow lock` and `unlock`: git's own lock of the worktree.

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::describe::healthy_entry;
use crate::shadow::task::Task;

#[derive(Args)]
pub(super) struct LockArguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// Why, for those who meet the lock
    #[arg(long, value_name = "text")]
    reason: Option<String>,
}

#[derive(Args)]
pub(super) struct UnlockArguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
}

pub(super) fn lock(repo: &Repo, arguments: &LockArguments) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    healthy_entry(repo, &task).with_context(|| format!("cannot lock '{}'", task.task))?;
    let mut child = repo.git_unhooked(["worktree", "lock"]);
    if let Some(reason) = &arguments.reason {
        child = child.arg("--reason").arg(reason);
    }
    child.arg("--").arg(&task.path).stdout()?;
    Ok(Exit::Done)
}

pub(super) fn unlock(repo: &Repo, arguments: &UnlockArguments) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    let child = repo.git_unhooked(["worktree", "unlock", "--"]);
    child.arg(&task.path).stdout()?;
    Ok(Exit::Done)
}
