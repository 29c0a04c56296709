//! Where undo and redo stand in a lane.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::state::file;

/// The place in the lane that the working tree was brought back to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    v: u32,
    /// The number last restored; `None` when redo has led back to where it all began.
    pub at: Option<u32>,
    /// The tree that the working tree had after that: while a save finds the same,
    /// the position holds.
    pub tree: Option<String>,
    /// The undos that can be undone, the newest last.
    pub undone: Vec<Undone>,
}

/// One undo, and the way back from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// The safety checkpoint taken before it.
    pub safety: u32,
    /// Where the position was before it.
    pub from: Option<u32>,
    /// Whether it restored the index too.
    #[serde(default)]
    pub index: bool,
    /// Whether it moved HEAD too.
    #[serde(default)]
    pub head: bool,
}

fn path(repo: &Repo) -> PathBuf {
    repo.own_state().join("position")
}

impl Position {
    /// The position of this worktree; the default when there is none.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn load(repo: &Repo) -> Result<Self> {
        let Some(bytes) = file::read(&path(repo))? else {
            return Ok(Position::default());
        };
        // One of another version, or broken, is no position: undo then starts at the newest.
        let read: Option<Position> = serde_json::from_slice(&bytes).ok();
        Ok(read.filter(|p| p.v == 1).unwrap_or_default())
    }

    /// Remembers it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store(&self, repo: &Repo) -> Result<()> {
        if self.at.is_none() && self.undone.is_empty() {
            return Self::forget(repo);
        }
        let bytes = serde_json::to_vec(&Position {
            v: 1,
            ..self.clone()
        })
        .context("cannot write the position")?;
        file::replace(&path(repo), &bytes, repo.sharing(), false)
    }

    /// Forgets it: new work has begun from here.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget(repo: &Repo) -> Result<()> {
        file::remove(&path(repo))
    }
}
