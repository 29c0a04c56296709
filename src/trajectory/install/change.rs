//! One file that is about to change: shown, backed up, written.

use std::path::{Path, PathBuf};

use crate::error::{Context, Result, hinted};
use crate::git::command::Child;
use crate::state::file::{self, Sharing};

/// A file before and after; `None` where there is none.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// Somebody else has something in it.
    pub(super) has_others: bool,
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

    /// Writes the change; what was there is kept beside, unless it was only ours.
    ///
    /// # Errors
    /// When it cannot be written, or the file has changed since it was read.
    pub(super) fn apply(&self) -> Result<()> {
        let target = followed(&self.path);
        let now = file::read(&target)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if now != self.before {
            return Err(hinted(
                format!("'{}' has changed meanwhile", self.path.display()),
                "nothing was changed in it; run this again",
            ));
        }
        if let (Some(before), Some(_), true) = (&self.before, &self.after, self.has_others) {
            write_like(&target, &backup_of(&self.path), before)?;
        }
        match &self.after {
            Some(after) => write_like(&target, &target, after),
            None => file::remove(&target),
        }
    }
}

/// Where the file as it was is kept.
pub(super) fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-git-trajectory");
    name.into()
}

/// The file that `path` means: people keep their settings elsewhere and link to them.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..20 {
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new(".")).join(target);
    }
    path
}

/// Writes `text` to `path` with the permissions of `like`.
fn write_like(like: &Path, path: &Path, text: &str) -> Result<()> {
    let permissions = like.metadata().ok().map(|found| found.permissions());
    file::replace(path, text.as_bytes(), Sharing::default(), false)?;
    if let Some(permissions) = permissions {
        std::fs::set_permissions(path, permissions)
            .with_context(|| format!("cannot protect '{}'", path.display()))?;
    }
    Ok(())
}
