//! Worktrees of which a checkpoint is hardly meant, unless the user says so.

use std::path::Path;

use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::snapshot::root::Root;

/// A home folder or a whole disk under git: reading all of it is hardly meant.
/// Who has set a limit has thought about it.
pub(super) fn home(repo: &Repo, root: &Root) -> Result<()> {
    let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
    let is_home = home.as_deref() == Some(root.path());
    if (is_home || root.path() == Path::new("/")) && repo.config("checkpoint.maxFiles").is_none() {
        return Err(hinted(
            format!(
                "refusing to take a checkpoint of all of '{}'",
                root.path().display()
            ),
            "if all of it is meant, say up to how many files: \
             'git config checkpoint.maxFiles <number>'",
        ));
    }
    Ok(())
}

pub(super) fn too_many(repo: &Repo, files: usize) -> Result<()> {
    let limit = repo.config_size("checkpoint.maxFiles", 1_000_000)?;
    if files as u64 > limit {
        return Err(hinted(
            format!("{files} files are more than checkpoint.maxFiles ({limit})"),
            "ignore what is not yours, or raise the limit: \
             'git config checkpoint.maxFiles <number>'",
        ));
    }
    Ok(())
}
