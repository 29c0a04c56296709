//! Commits that only this shadow's HEAD, or a branch that is about to go, can reach.

use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Repo;
use crate::git::head::Head;
use crate::shadow::guards::{Finding, Weight};
use crate::shadow::task::Task;
use crate::shadow::worktree_refs;

/// All refs. Not `--all`, which adds the HEAD of every worktree: this one's, too.
const EVERY_REF: &str = "--glob=refs/*";

/// How many are named.
const SHOWN: &str = "100";

/// What `git rev-list` prints of the commits that `tip` reaches and no ref does but
/// `branch` (in full) and our own snapshots.
///
/// # Errors
/// When git cannot walk.
pub(in crate::shadow) fn only_here(
    repo: &Repo,
    tip: gix::ObjectId,
    branch: Option<&str>,
    options: &[&str],
) -> Result<Vec<u8>> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut child = repo.git(["rev-list"]).args(options).arg(tip.to_string());
        child = child.args(["--not", "--exclude=refs/harness/*"]);
        // Those of the worktree that we run in, which may be this very one.
        for own in ["bisect", "rewritten", "worktree"] {
            child = child.arg(format!("--exclude=refs/{own}/*"));
        }
        if let Some(branch) = branch {
            child = child.arg(format!("--exclude={branch}"));
        }
        match child.arg(EVERY_REF).stdout() {
            // A branch that is deleted in this very moment is listed, and then not found.
            Err(_) if tries < 4 => {}
            listed => return listed,
        }
    }
}

/// The same for a shadow of which only the branch is left.
///
/// # Errors
/// When git cannot walk.
pub(in crate::shadow) fn unreachable_branch(
    repo: &Repo,
    task: &Task,
    tip: gix::ObjectId,
) -> Result<Option<Finding>> {
    let head = Head {
        branch: task.branch.as_deref().map(Into::into),
        commit: Some(tip),
    };
    unreachable(repo, &head, true)
}

/// The commits that no ref but our own snapshots would reach.
///
/// # Errors
/// When git cannot walk.
pub(super) fn unreachable(
    repo: &Repo,
    head: &Head,
    deletes_branch: bool,
) -> Result<Option<Finding>> {
    let Some(commit) = head.commit else {
        return Ok(None);
    };
    if head.branch.is_some() && !deletes_branch {
        return Ok(None);
    }
    let branch = head.branch.as_ref().map(ToString::to_string);
    let options = ["--no-commit-header", "--format=%h %s", "-n", SHOWN];
    let listed = only_here(repo, commit, branch.as_deref(), &options)?;
    let items: Vec<String> = listed
        .lines()
        .map(|line| line.as_bstr().to_string())
        .collect();
    let what = match head.branch {
        Some(_) => "commits are on no other branch",
        None => "commits are on no branch (HEAD is detached)",
    };
    Ok((!items.is_empty()).then(|| Finding {
        weight: Weight::Ask,
        kind: "commits",
        what: what.to_owned(),
        items,
        maker: None,
    }))
}

/// The commits that only refs of this worktree alone (`refs/worktree/`) reach.
///
/// # Errors
/// When git cannot list or walk.
pub(super) fn of_own_refs(repo: &Repo, shadow: &Repo) -> Result<Option<Finding>> {
    let mut items = Vec::new();
    for (name, hex) in worktree_refs::look(shadow)?.refs {
        let Ok(tip) = gix::ObjectId::from_hex(hex.as_bytes()) else {
            continue;
        };
        if !name.starts_with("refs/worktree/") || shadow.tree_of(tip).is_err() {
            continue;
        }
        let options = ["--no-commit-header", "--format=%h %s", "-n", SHOWN];
        let listed = only_here(repo, tip, None, &options)?;
        items.extend(
            listed
                .lines()
                .map(|line| format!("{} ({name})", line.as_bstr())),
        );
    }
    Ok((!items.is_empty()).then(|| Finding {
        weight: Weight::Ask,
        kind: "commits",
        what: "commits are on refs of this worktree alone".to_owned(),
        items,
        maker: None,
    }))
}
