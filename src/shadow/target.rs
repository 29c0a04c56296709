//! The branch that a shadow is merged into: who holds it, and how it stands to its
//! upstream.

use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::shadow::entry::{Entry, main_worktree};
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
        let Some(tip) = repo.find_ref(branch.as_str().into())? else {
            return Err(hinted(
                format!("there is no branch '{}'", short(&branch)),
                "say which to merge into: '--into <branch>'",
            ));
        };
        let folders = std::iter::once(repo.common_dir().to_owned())
            .chain(Entry::all(repo).into_iter().map(|entry| entry.admin));
        for folder in folders {
            for file in [
                "rebase-merge/head-name",
                "rebase-apply/head-name",
                "BISECT_START",
            ] {
                let text = std::fs::read(folder.join(file)).unwrap_or_default();
                let name = text.trim_ascii();
                if name == branch.as_bytes() || name == short(&branch).as_bytes() {
                    return Err(hinted(
                        format!(
                            "'{}' is in the middle of a rebase or bisect",
                            short(&branch)
                        ),
                        "end that first",
                    ));
                }
            }
        }
        Ok(Target {
            holder: holder(repo, &branch),
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

fn holder(repo: &Repo, branch: &str) -> Option<PathBuf> {
    let head = std::fs::read(repo.common_dir().join("HEAD")).unwrap_or_default();
    let in_main = head
        .trim_ascii()
        .strip_prefix(b"ref:")
        .is_some_and(|name| name.trim_ascii() == branch.as_bytes());
    if in_main && let Some(main) = main_worktree(repo) {
        return Some(main);
    }
    Entry::all(repo)
        .into_iter()
        .find(|entry| entry.branch.as_deref() == Some(branch))
        .and_then(|entry| entry.path)
        .filter(|path| path.is_dir())
}
