//! When it is time, and in which process.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::command::Child;
use crate::lane::upkeep::day;
use crate::state::file;

/// How often old checkpoints expire.
const DAY: Duration = Duration::from_secs(86_400);

/// Besides once a day, after every so many checkpoints of a lane. git's own limit
/// is 50 packs (`gc.autoPackLimit`), and a save makes one at most.
const EVERY: u32 = 16;

/// The file whose time is that of the last daily work.
pub(super) fn stamp(repo: &Repo) -> PathBuf {
    repo.shared_state().join("upkeep")
}

/// Whether a day has passed since the last time; the first day begins now.
pub(super) fn is_daily_due(repo: &Repo) -> Result<bool> {
    match fs::metadata(stamp(repo)).and_then(|found| found.modified()) {
        Ok(last) => Ok(last.elapsed().is_ok_and(|age| age > DAY)),
        Err(_) => {
            file::replace(&stamp(repo), b"1\n", repo.sharing(), false)?;
            Ok(false)
        }
    }
}

/// Starts the work that is due after checkpoint `number`, in a process of its own
/// unless `gc.autoDetach` says that the user wants to wait for such things.
///
/// # Errors
/// When it cannot be started.
pub fn after_save(repo: &Repo, number: u32) -> Result<()> {
    if !is_daily_due(repo)? && !number.is_multiple_of(EVERY) {
        return Ok(());
    }
    if !repo.config_bool("gc.autoDetach", true)? {
        return day::run(repo);
    }
    let program = std::env::current_exe().context("cannot find our own program")?;
    let mut child = Child::new(program)
        .args(["prune", "--auto"])
        .env("GIT_DIR", repo.git_dir());
    if let Some(root) = repo.worktree() {
        child = child.env("GIT_WORK_TREE", root).current_dir(root);
    }
    child.detach()
}
