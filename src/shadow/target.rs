//! The branch that a shadow is merged into: who holds it, and how it stands to its
//! upstream.

use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::{Result, bail, hinted};
use crate::git::Repo;
use crate::shadow::checkout;
use crate::shadow::task::{Task, short};

/// A target.
pub(super) struct Target {
    /// In full.
    pub(super) branch: String,
    pub(super) tip: ObjectId,
    /// The worktree in which it is checked out.
    pub(super) holder: Option<PathBuf>,
}

/// How it stands to its upstream, in git's words.
pub(super) enum Upstream {
    Level,
    Behind(String),
    Diverged(String),
}

impl Target {
    /// The branch `into`, else the one that was checked out at `add`.
    ///
    /// # Errors
    /// When there is none, or a rebase or bisect has it.
    pub(super) fn of(repo: &Repo, task: &Task, into: Option<&str>) -> Result<Self> {
        let branch = match (into, &task.into) {
            (Some(name), _) => format!("refs/heads/{name}"),
            (None, Some(branch)) => branch.clone(),
            (None, None) => {
                return Err(hinted(
                    format!("no branch was checked out when '{}' was added", task.task),
                    "say which to merge into: '--into <branch>'",
                ));
            }
        };
        let branch = followed(repo, branch)?;
        let Some(tip) = repo.find_ref(branch.as_str().into())? else {
            return Err(hinted(
                format!("there is no branch '{}'", short(&branch)),
                "say which to merge into: '--into <branch>'",
            ));
        };
        if checkout::is_in_operation(repo, &branch) {
            return Err(hinted(
                format!(
                    "'{}' is in the middle of a rebase or bisect",
                    short(&branch)
                ),
                "end that first",
            ));
        }
        Ok(Target {
            holder: holder(repo, task, &branch)?,
            branch,
            tip,
        })
    }

    /// Its name without `refs/heads/`.
    pub(super) fn name(&self) -> &str {
        short(&self.branch)
    }

    /// # Errors
    /// When git cannot tell.
    pub(super) fn upstream(&self, repo: &Repo) -> Result<Upstream> {
        let format = "--format=%(upstream:short)%00%(upstream:track,nobracket)";
        let line = repo.git(["for-each-ref", format, &self.branch]).stdout()?;
        let (name, track) = line
            .trim_ascii_end()
            .split_once_str(b"\0")
            .unwrap_or((b"", b""));
        let text = format!("{}: {}", name.as_bstr(), track.as_bstr());
        let has = |word: &str| track.contains_str(word);
        Ok(match (has("ahead"), has("behind")) {
            (true, true) => Upstream::Diverged(text),
            (false, true) => Upstream::Behind(text),
            _ => Upstream::Level,
        })
    }
}

/// The branch that `branch` is, where it is a symbolic ref: what git would move.
fn followed(repo: &Repo, branch: String) -> Result<String> {
    let Some(name) = repo.git(["symbolic-ref", "-q", &branch]).answer()? else {
        return Ok(branch);
    };
    let name = name.trim_ascii().to_str_lossy().into_owned();
    if !name.starts_with("refs/heads/") {
        bail!("'{}' leads to '{name}', which is no branch", short(&branch));
    }
    Ok(name)
}

/// The worktree that has `branch`: only `git merge` there may move it, or its files
/// would look like a revert of all that came.
fn holder(repo: &Repo, task: &Task, branch: &str) -> Result<Option<PathBuf>> {
    let held = checkout::all(repo)?;
    let Some(held) = held.iter().find(|held| held.branch == branch) else {
        return Ok(None);
    };
    let folder = held.folder(repo, &task.source).ok_or_else(|| {
        hinted(
            format!(
                "'{}' is checked out in '{}', which is not there",
                short(branch),
                held.path.display()
            ),
            "run this from that worktree, or 'git worktree prune' when it is gone for good",
        )
    })?;
    Ok(Some(folder))
}
