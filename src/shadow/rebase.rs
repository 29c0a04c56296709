//! The rebase of a shadow's branch before a merge: nothing is rewritten before the
//! target would take it, and what was rewritten in vain is put back.

use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use crate::error::{Context, Result};
use crate::git::command::Child;
use crate::shadow::target::Target;
use crate::shadow::task::Task;
use crate::state::crash;

/// How it went.
pub(super) enum Rebased {
    /// The branch is here now.
    At(ObjectId),
    /// These paths were in conflict; the branch is as it was.
    Conflict(Vec<BString>),
    /// git refused in its own words; the branch is as it was.
    Refused,
}

/// Rebases the shadow's branch onto the target.
///
/// # Errors
/// When git cannot end what it has begun.
pub(super) fn rebase(task: &Task, target: &Target) -> Result<Rebased> {
    let git = |arguments: &[&str]| Child::new("git").current_dir(&task.path).args(arguments);
    crash::point();
    let onto = target.tip.to_string();
    // Other branches on the way are not ours to move.
    let rebased = git(&["rebase", "-q", "--no-update-refs", &onto]).status_on_stderr()?;
    let shadow = task.open()?;
    if rebased.success() {
        let tip = shadow.head()?.commit.context("the shadow has no commit")?;
        return Ok(Rebased::At(tip));
    }
    if shadow.operation().is_none() {
        // A hook said no, before anything was begun.
        return Ok(Rebased::Refused);
    }
    let listed = git(&["diff", "--name-only", "--diff-filter=U", "-z"]).stdout()?;
    let paths: Vec<BString> = listed
        .split(|b| *b == 0)
        .filter(|path| !path.is_empty())
        .map(|path| path.as_bstr().to_owned())
        .collect();
    git(&["rebase", "--abort"]).stdout()?;
    Ok(Rebased::Conflict(paths))
}

/// Whether the files in `holder` could become those of `tree` without loss; if not,
/// git has said why.
///
/// # Errors
/// When git cannot be started.
pub(super) fn would_take(holder: &Path, tree: ObjectId) -> Result<bool> {
    let git = |arguments: &[&str]| Child::git().current_dir(holder).args(arguments);
    // A file that was only touched is no change.
    git(&["update-index", "-q", "--refresh"]).output()?;
    let tree = tree.to_string();
    let asked = git(&["read-tree", "-m", "-u", "--dry-run", "HEAD", &tree]);
    Ok(asked.status_on_stderr()?.success())
}

/// Puts the shadow's branch and files, which are clean, back to `old`.
///
/// # Errors
/// When git refuses.
pub(super) fn take_back(task: &Task, old: ObjectId) -> Result<()> {
    task.open()?
        .git_unhooked(["reset", "-q", "--keep"])
        .arg(old.to_string())
        .stdout()
        .map(drop)
}
