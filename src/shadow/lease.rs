//! A command that runs in a shadow holds a lease: a kernel lock, free when it dies.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::process::Process;
use crate::shadow::task::Task;
use crate::state::file;

/// A held lease; dropped, it is over.
pub(super) struct Lease {
    _file: File,
}

impl Lease {
    /// Takes a lease, together with others that run there.
    ///
    /// # Errors
    /// When a removal is at work, or the file cannot be written.
    pub(super) fn take(repo: &Repo, task: &Task) -> Result<Self> {
        let path = task.lease_path(repo);
        let mut file = open(&path)?;
        file.try_lock_shared().map_err(|_| {
            crate::error::hinted(
                format!("the shadow '{}' is being removed", task.task),
                "'git shadow list' shows those there are",
            )
        })?;
        let text = serde_json::to_vec(&Process::this()).context("cannot write a lease")?;
        file.set_len(0)
            .and_then(|()| file.write_all(&text))
            .with_context(|| format!("cannot write '{}'", path.display()))?;
        Ok(Lease { _file: file })
    }

    /// Keeps every command out, while the shadow goes.
    ///
    /// # Errors
    /// When one runs; then it is given.
    pub(super) fn bar(repo: &Repo, task: &Task) -> Result<std::result::Result<Self, Process>> {
        let file = open(&task.lease_path(repo))?;
        match file.try_lock() {
            Ok(()) => Ok(Ok(Lease { _file: file })),
            Err(_) => Ok(Err(holder(repo, task)?.unwrap_or_else(Process::this))),
        }
    }
}

/// Who runs in the shadow now.
///
/// # Errors
/// When the lease cannot be read.
pub(super) fn running(repo: &Repo, task: &Task) -> Result<Option<Process>> {
    let Ok(file) = File::open(task.lease_path(repo)) else {
        return Ok(None);
    };
    match file.try_lock() {
        Ok(()) => Ok(None),
        Err(_) => holder(repo, task),
    }
}

fn holder(repo: &Repo, task: &Task) -> Result<Option<Process>> {
    Ok(file::read(&task.lease_path(repo))?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| file::explain(e, path))
        .with_context(|| format!("cannot open '{}'", path.display()))
}
