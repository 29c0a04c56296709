//! Moving HEAD and its branch back to where a checkpoint has them.

use std::path::PathBuf;

use gix::bstr::ByteSlice;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::lane::find::Checkpoint;

/// Operations that git can forget without touching a file.
const FORGETTABLE: &[&str] = &["merge", "cherry-pick", "revert"];

/// Requires that HEAD can be moved to that of `target`.
///
/// # Errors
/// When another worktree has the branch, or an operation has begun that cannot
/// just be forgotten.
pub fn require_movable(repo: &Repo, target: &Checkpoint) -> Result<()> {
    if let Some(now) = repo.operation()
        && target.record.operation.as_deref() != Some(now)
        && !FORGETTABLE.contains(&now)
    {
        return Err(hinted(
            format!("cannot move HEAD: a {now} is under way"),
            match now {
                "bisect" => "end it first ('git bisect reset')".to_owned(),
                now => format!("end it first ('git {now} --abort')"),
            },
        ));
    }
    let Some(branch) = &target.record.head.branch else {
        return Ok(());
    };
    if let Some(other) = holder(repo, branch.as_bstr())? {
        return Err(hinted(
            format!(
                "cannot move HEAD: '{branch}' is checked out in '{}'",
                other.display()
            ),
            "with '--no-head' the files alone are restored",
        ));
    }
    Ok(())
}

/// Another worktree that has `branch` checked out.
fn holder(repo: &Repo, branch: &gix::bstr::BStr) -> Result<Option<PathBuf>> {
    let listed = repo
        .listed_worktrees()
        .context("cannot list the worktrees")?;
    let mut path = PathBuf::new();
    for line in listed.split(|b| *b == 0) {
        if let Some(found) = line.strip_prefix(b"worktree ") {
            path = found.to_path_lossy().into_owned();
        } else if line.strip_prefix(b"branch ") == Some(branch.as_bytes())
            && path.canonicalize().ok().as_deref() != repo.worktree()
        {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Moves HEAD, and the branch of then, to where `target` has them; the reflog
/// says so.
///
/// # Errors
/// When git refuses.
pub fn restore(repo: &Repo, target: &Checkpoint) -> Result<()> {
    let now = repo.head()?;
    let then = &target.record.head;
    let reason = format!("checkpoint: undo to {}", target.lane_and_number());
    let update = |arguments: &[&str]| -> Result<()> {
        repo.git_unhooked(["update-ref", "-m", reason.as_str()])
            .args(arguments)
            .stdout()
            .map(|_| ())
            .context("cannot move HEAD")
    };
    let commit = then.commit.map(|id| id.to_string());
    match (&then.branch, &commit) {
        (Some(branch), commit) => {
            let name = branch.to_str().context("a branch name must be UTF-8")?;
            match commit {
                Some(commit) => update(&[name, commit])?,
                None if repo.find_ref(branch.as_bstr())?.is_some() => update(&["-d", name])?,
                None => {}
            }
            if now.branch.as_ref() != Some(branch) {
                repo.git_unhooked(["symbolic-ref", "-m", reason.as_str(), "HEAD", name])
                    .stdout()
                    .context("cannot move HEAD")?;
            }
        }
        (None, Some(commit)) => update(&["--no-deref", "HEAD", commit])?,
        (None, None) => {}
    }
    if let Some(operation) = repo.operation()
        && target.record.operation.as_deref() != Some(operation)
    {
        repo.git_unhooked([operation, "--quit"])
            .stdout()
            .with_context(|| format!("cannot forget the {operation}"))?;
    }
    Ok(())
}
