//! What a restore that was cut short was about: enough to finish it or to go
//! back to where it began.

use std::path::PathBuf;

use gix::bstr::{BString, ByteSlice};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::git::quote::{json_path, path_of_json};
use crate::state::file;

/// A restore under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    v: u32,
    /// The checkpoint that is being restored, `<lane>/<N>`.
    pub target: String,
    /// The checkpoint of the state before the first try.
    pub safety: u32,
    /// Where the position was before the first try.
    pub from: Option<u32>,
    /// Whether this steps forward (redo) rather than back.
    pub redo: bool,
    /// Whether the index is restored too.
    #[serde(default)]
    pub index: bool,
    /// Whether HEAD is moved too.
    #[serde(default)]
    pub head: bool,
    /// The paths that are restored; nothing else is touched.
    paths: Vec<Value>,
}

fn path(repo: &Repo) -> PathBuf {
    repo.own_state().join("restore")
}

impl Journal {
    /// A journal of a restore of `paths`.
    pub fn new(target: String, safety: u32, from: Option<u32>, paths: &[BString]) -> Self {
        Journal {
            v: 1,
            target,
            safety,
            from,
            redo: false,
            index: false,
            head: false,
            paths: paths.iter().map(|p| json_path(p.as_bstr())).collect(),
        }
    }

    /// The paths that are restored.
    pub fn paths(&self) -> Vec<BString> {
        self.paths.iter().filter_map(path_of_json).collect()
    }

    /// The journal of a restore that was cut short in this worktree.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    pub fn load(repo: &Repo) -> Result<Option<Self>> {
        let Some(bytes) = file::read(&path(repo))? else {
            return Ok(None);
        };
        let read: Option<Journal> = serde_json::from_slice(&bytes).ok();
        match read.filter(|journal| journal.v == 1) {
            Some(journal) => Ok(Some(journal)),
            None => Err(hinted(
                format!("cannot read the restore journal '{}'", path(repo).display()),
                "'git checkpoint list' shows the checkpoint taken before the restore; \
                 remove the file, then restore that",
            )),
        }
    }

    /// Writes the journal, durably: from here on the restore is under way.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn store(&self, repo: &Repo) -> Result<()> {
        let bytes = serde_json::to_vec(self).context("cannot write the restore journal")?;
        file::replace(&path(repo), &bytes, repo.sharing(), true)
    }

    /// The restore is complete.
    ///
    /// # Errors
    /// When the file stays.
    pub fn remove(repo: &Repo) -> Result<()> {
        file::remove(&path(repo))
    }
}
