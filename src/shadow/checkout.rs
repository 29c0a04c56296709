//! Who has which branch: asked of git, since HEAD is no file everywhere (reftable)
//! and may name a branch by way of a symbolic ref.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Repo;
use crate::shadow::entry::{Entry, main_worktree, path_of};
use crate::shadow::task::short;

/// One worktree that has a branch checked out.
pub(super) struct Checkout {
    /// As git lists it; it may not be there.
    pub(super) path: PathBuf,
    /// In full.
    pub(super) branch: String,
    is_main: bool,
}

/// All worktrees that have a branch.
///
/// # Errors
/// When git cannot list them.
pub(super) fn all(repo: &Repo) -> Result<Vec<Checkout>> {
    let listed = repo.listed_worktrees()?;
    let mut found = Vec::new();
    let mut path = None;
    let mut is_main = true;
    for line in listed.split(|b| *b == 0) {
        if line.is_empty() {
            // The main worktree is listed first.
            is_main = false;
        } else if let Some(name) = line.strip_prefix(b"worktree ") {
            path = Some(path_of(name, Path::new("/")));
        } else if let Some(branch) = line.strip_prefix(b"branch ")
            && let Some(path) = path.take()
        {
            let branch = branch.to_str_lossy().into_owned();
            found.push(Checkout {
                path,
                branch,
                is_main,
            });
        }
    }
    Ok(found)
}

impl Checkout {
    /// Its folder, if that is there. git does not know that of a main worktree whose
    /// repository lies elsewhere; `source` may be it.
    pub(super) fn folder(&self, repo: &Repo, source: &Path) -> Option<PathBuf> {
        if !self.is_main {
            return Some(self.path.clone()).filter(|path| path.is_dir());
        }
        let is_it = |path: &PathBuf| {
            Repo::at(path).is_ok_and(|found| {
                !found.is_linked()
                    && found.worktree().is_some()
                    && found.common_dir() == repo.common_dir()
            })
        };
        main_worktree(repo)
            .into_iter()
            .chain([self.path.clone(), source.to_owned()])
            .find(is_it)
    }
}

/// Whether a worktree has `branch` (in full) checked out, or an operation there will
/// come back to it.
///
/// # Errors
/// When git cannot list the worktrees.
pub(super) fn is_in_use(repo: &Repo, branch: &str) -> Result<bool> {
    Ok(all(repo)?.iter().any(|held| held.branch == branch) || is_in_operation(repo, branch))
}

/// Whether a rebase or bisect in any worktree has `branch` (in full).
pub(super) fn is_in_operation(repo: &Repo, branch: &str) -> bool {
    const FILES: &[&str] = &[
        "rebase-merge/head-name",
        "rebase-merge/update-refs",
        "rebase-apply/head-name",
        "BISECT_START",
    ];
    let entries = Entry::all(repo).into_iter().map(|entry| entry.admin);
    std::iter::once(repo.common_dir().to_owned())
        .chain(entries)
        .any(|folder| {
            FILES.iter().any(|file| {
                let text = std::fs::read(folder.join(file)).unwrap_or_default();
                text.lines()
                    .map(<[u8]>::trim_ascii)
                    .any(|line| line == branch.as_bytes() || line == short(branch).as_bytes())
            })
        })
}
