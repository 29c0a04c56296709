//! One file that is about to change: shown, backed up, written.

use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::git::command::Child;
use crate::state::file::{self, Sharing};

/// A file before and after; `None` where there is none.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Change {
    /// Whether there is anything to do.
    pub(super) fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// The difference as git shows it.
    pub(super) fn diff(&self) -> Result<String> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let write = |name: &str, text: &Option<String>| -> Result<PathBuf> {
            let path = folder.path().join(name);
            file::replace(
                &path,
                text.as_deref().unwrap_or("").as_bytes(),
                Sharing::default(),
                false,
            )?;
            Ok(path)
        };
        let (old, new) = (write("old", &self.before)?, write("new", &self.after)?);
        let output = Child::git()
            .args([
                "--no-pager",
                "diff",
                "--no-index",
                "--no-ext-diff",
                "--no-color",
                "--",
            ])
            .arg(&old)
            .arg(&new)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The names of temporary files say nothing.
        let body = text.split_once("\n@@").map_or("", |(_, body)| body);
        let shown = self.path.display();
        Ok(format!("--- {shown}\n+++ {shown}\n@@{body}"))
    }

    /// Writes the change; what was there is kept beside, once.
    pub(super) fn apply(&self) -> Result<()> {
        if let Some(before) = &self.before {
            let backup = backup_of(&self.path);
            if !backup.exists() && self.after.is_some() {
                write_like(&self.path, &backup, before)?;
            }
        }
        match &self.after {
            Some(after) => write_like(&self.path, &self.path, after),
            None => file::remove(&self.path),
        }
    }
}

/// Where the file as it was is kept.
pub(super) fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-git-trajectory");
    name.into()
}

/// Writes `text` to `path` with the permissions of `like`; a link is followed.
fn write_like(like: &Path, path: &Path, text: &str) -> Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let permissions = like.metadata().ok().map(|found| found.permissions());
    file::replace(&target, text.as_bytes(), Sharing::default(), false)?;
    if let Some(permissions) = permissions {
        std::fs::set_permissions(&target, permissions)
            .with_context(|| format!("cannot protect '{}'", target.display()))?;
    }
    Ok(())
}
