//! Whether a shadow's folder is gone for good, or only its disk is not mounted: an
//! empty or another folder in its place proves nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::shadow::entry::{Entry, is_same, main_worktree, pointer};
use crate::shadow::place;
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

/// Where the folder of `task` is when somebody moved it by hand: beside the shadows, the
/// checkouts, or where we are. By the `.git` file in it, which still names the entry.
pub(super) fn moved_to(repo: &Repo, task: &Task) -> Option<PathBuf> {
    let entry = task.admin(repo).and_then(|admin| Entry::read(&admin))?;
    let main = main_worktree(repo);
    let mut places: Vec<&Path> = place::here().ancestors().take(2).collect();
    places.extend(repo.worktree());
    for path in [Some(&task.path), main.as_ref(), Some(&task.source)] {
        places.extend(path.and_then(|path| path.parent()));
    }
    places.extend(task.path.parent().and_then(Path::parent));
    let is_it = |path: &PathBuf| {
        *path != task.path && pointer(path).is_some_and(|admin| is_same(&admin, &entry.admin))
    };
    let below = |place: &&Path| fs::read_dir(place).into_iter().flatten().flatten();
    let inside = places.iter().flat_map(below).map(|found| found.path());
    let above = places.iter().map(|place| place.to_path_buf());
    above.chain(inside).find(is_it)
}

/// # Errors
/// When the folder was moved by hand.
pub(super) fn require_unmoved(repo: &Repo, task: &Task) -> Result<()> {
    match moved_to(repo, task) {
        None => Ok(()),
        Some(path) => Err(hinted(
            format!("the shadow '{}' is at {} now", task.task, shown(&path)),
            "'git worktree repair <folder>' makes git follow it, 'git shadow doctor --fix' us",
        )),
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
