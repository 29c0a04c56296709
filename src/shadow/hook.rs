//! The post-checkout hook that the user's git has, as `git worktree add` would run
//! it, and the user's own `shadow.setup` commands.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use crate::error::Result;
use crate::git::Repo;
use crate::git::command::Child;
use crate::shadow::environment;
use crate::shadow::task::{Setup, Task};

/// The post-checkout hook that is enabled for the worktree `shadow`.
pub(super) fn post_checkout(shadow: &Repo) -> Option<PathBuf> {
    let config = shadow.gix().config_snapshot();
    let folder = match config.trusted_path("core.hooksPath") {
        // A relative one starts where the hook runs: at the new worktree's root.
        Ok(Some(path)) => shadow.worktree()?.join(path),
        _ => shadow.common_dir().join("hooks"),
    };
    let hook = folder.join("post-checkout");
    let found = hook.metadata().ok()?;
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then_some(hook)
}

/// Runs it; gives its exit code.
///
/// # Errors
/// When git cannot be started.
pub(super) fn run_post_checkout(path: &Path, head: ObjectId) -> Result<Option<i32>> {
    let none = ObjectId::null(head.kind()).to_string();
    let status = Child::new("git")
        .current_dir(path)
        .args(["hook", "run", "--ignore-missing", "post-checkout", "--"])
        .args([none.as_str(), &head.to_string(), "1"])
        .status_on_stderr()?;
    Ok(status.code())
}

/// Runs each of `shadow.setup` by the shell, in the new worktree, until one fails.
///
/// # Errors
/// When the shell cannot be started.
pub(super) fn run_setup(repo: &Repo, task: &mut Task) -> Result<()> {
    let commands = repo.config_all("shadow.setup");
    if !commands.is_empty() {
        environment::make_temporary(repo, task)?;
    }
    for command in commands {
        let command = String::from_utf8_lossy(&command).into_owned();
        if command.trim().is_empty() {
            continue;
        }
        let child = environment::variables(repo, task, None)
            .into_iter()
            .fold(Child::new("sh"), |child, (name, value)| {
                child.env(name, value)
            });
        let status = child
            .current_dir(&task.path)
            .args(["-c", &command])
            .status_on_stderr()?;
        let exit = status.code();
        task.setup.push(Setup { command, exit });
        if exit != Some(0) {
            break;
        }
    }
    Ok(())
}
