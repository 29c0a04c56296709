//! Whether a shadow's folder is gone for good, or only its disk is not mounted: an
//! empty or another folder in its place proves nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::shadow::entry::{Entry, pointer};
use crate::shadow::task::{Task, shown};

/// The number of the folder above `path`: another one there is no folder that we know.
pub(super) fn above(path: &Path) -> Option<u64> {
    Some(fs::metadata(path.parent()?).ok()?.ino())
}

/// Why the folder of `task` may be there and only out of sight; `None` when it is
/// there, or when git itself has forgotten it.
pub(super) fn of(repo: &Repo, task: &Task) -> Option<String> {
    let entry = task.admin(repo).and_then(|admin| Entry::read(&admin))?;
    if entry.path.as_deref() != Some(&task.path) {
        return None;
    }
    let had_files = entry.admin.join("index").exists();
    match task.path.symlink_metadata() {
        Ok(found) => {
            let is_bare = found.is_dir() && had_files && pointer(&task.path).is_none();
            let is_empty = || fs::read_dir(&task.path).is_ok_and(|mut all| all.next().is_none());
            (is_bare && is_empty()).then(|| format!("'{}' is empty", shown(&task.path)))
        }
        Err(_) => {
            let parent = task.path.parent()?;
            let now = above(&task.path);
            let is_known = now.is_some() && (task.above.is_none() || now == task.above);
            (!is_known).then(|| match now {
                Some(_) => format!("{} is another folder now", shown(parent)),
                None => format!("{} is not there", shown(parent)),
            })
        }
    }
}

/// # Errors
/// When the folder may only be out of sight.
pub(super) fn require_present(repo: &Repo, task: &Task) -> Result<()> {
    match of(repo, task) {
        None => Ok(()),
        Some(why) => Err(hinted(
            format!("the shadow '{}' is absent: {why}", task.task),
            HINT,
        )),
    }
}

/// What can be done.
pub(super) const HINT: &str = "if its disk is not mounted, mount it; if it is gone for good, \
                               'git worktree prune' first";
