//! It is a shadow: not the main worktree, not the default branch's, and its folder
//! and git's entry name each other. No option answers these.

use crate::error::{Context, Result, bail, hinted};
use crate::git::Repo;
use crate::git::head::Head;
use crate::shadow::describe::healthy_entry;
use crate::shadow::entry::{Entry, is_same, main_worktree};
use crate::shadow::guards::{Finding, Weight};
use crate::shadow::task::{Phase, Task, short};

/// git's entry of the shadow.
///
/// # Errors
/// When it is the main worktree, or not ours beyond doubt.
pub(super) fn require_ours(repo: &Repo, task: &Task) -> Result<Entry> {
    let main = main_worktree(repo);
    if main.is_some_and(|main| is_same(&main, &task.path)) || is_same(repo.common_dir(), &task.path)
    {
        bail!("'{}' is the main worktree", task.path.display());
    }
    if repo.common_dir().starts_with(&task.path) {
        bail!("the repository itself lies in '{}'", task.path.display());
    }
    healthy_entry(repo, task)
        .with_context(|| format!("cannot remove the shadow '{}'", task.task))
        .map_err(|error| {
            hinted(
                format!("{error:#}"),
                "'git shadow doctor' says what can be mended",
            )
        })
}

/// # Errors
/// When the default branch is checked out in it.
pub(super) fn require_other_than_default(repo: &Repo, task: &Task, head: &Head) -> Result<()> {
    let default = default_branch(repo)?;
    let checked_out = head.branch.as_ref().map(ToString::to_string);
    if checked_out.is_some() && checked_out == default {
        let branch = checked_out.unwrap_or_default();
        return Err(hinted(
            format!(
                "cannot remove the shadow '{}': it has the default branch '{}'",
                task.task,
                short(&branch)
            ),
            "check out another branch in it first",
        ));
    }
    Ok(())
}

/// The full name of the default branch: the remote's, else the main worktree's
/// `init.defaultBranch`, `main` or `master`, whichever is there.
///
/// # Errors
/// When refs cannot be read.
pub(in crate::shadow) fn default_branch(repo: &Repo) -> Result<Option<String>> {
    let remote = repo
        .gix()
        .try_find_reference("refs/remotes/origin/HEAD")
        .ok()
        .flatten();
    if let Some(reference) = remote
        && let gix::refs::TargetRef::Symbolic(name) = reference.target()
        && let Some(name) = name.as_bstr().strip_prefix(b"refs/remotes/origin/")
    {
        return Ok(Some(format!(
            "refs/heads/{}",
            String::from_utf8_lossy(name)
        )));
    }
    let configured = repo.config_text("init.defaultBranch");
    for name in configured
        .iter()
        .map(String::as_str)
        .chain(["main", "master"])
    {
        let full = format!("refs/heads/{name}");
        if repo.find_ref(full.as_str().into())?.is_some() {
            return Ok(Some(full));
        }
    }
    Ok(None)
}

/// Somebody's lock. A shadow that is ready is locked by nobody but its user.
pub(super) fn lock(entry: &Entry, task: &Task) -> Option<Finding> {
    let reason = match task.phase {
        Phase::Ready => entry.locked.as_deref()?,
        _ => entry.user_lock()?,
    };
    let reason = match reason.is_empty() {
        true => String::new(),
        false => format!(": {reason}"),
    };
    Some(Finding {
        weight: Weight::Refuse,
        kind: "locked",
        what: format!("it is locked{reason} ('git shadow unlock' first)"),
        items: Vec::new(),
        maker: None,
    })
}
