//! Which checkpoints an undo that can be taken back, or one that was cut short,
//! still stands on, in whatever worktree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::state::file;

/// `(lane, number)` of each.
pub type Needed = BTreeSet<(String, u32)>;

/// Reads the position and the journal of every worktree.
///
/// # Errors
/// When one is there and cannot be read.
pub fn needed(repo: &Repo) -> Result<Needed> {
    let mut needed = Needed::new();
    for folder in state_folders(repo) {
        of_worktree(&folder, &mut needed)
            .with_context(|| format!("cannot read the state in '{}'", folder.display()))?;
    }
    Ok(needed)
}

fn state_folders(repo: &Repo) -> Vec<PathBuf> {
    let linked = std::fs::read_dir(repo.common_dir().join("worktrees"));
    let linked = linked.into_iter().flatten().flatten();
    let mut folders = vec![repo.shared_state()];
    folders.extend(linked.map(|entry| entry.path().join("harness")));
    folders
}

fn of_worktree(folder: &Path, needed: &mut Needed) -> Result<()> {
    let Some(id) = file::read(&folder.join("id"))? else {
        return Ok(());
    };
    let id = String::from_utf8_lossy(&id).into_owned();
    let Some(lane) = id.split_whitespace().nth(2) else {
        return Ok(());
    };
    let mut add = |number: &Value| {
        if let Some(number) = number.as_u64().and_then(|n| u32::try_from(n).ok()) {
            needed.insert((lane.to_owned(), number));
        }
    };
    if let Some(position) = json(&folder.join("position"))? {
        add(&position["at"]);
        for undone in position["undone"].as_array().into_iter().flatten() {
            add(&undone["safety"]);
            add(&undone["from"]);
        }
    }
    if let Some(journal) = json(&folder.join("restore"))? {
        add(&journal["safety"]);
        add(&journal["from"]);
        let target = journal["target"].as_str().unwrap_or_default();
        if let Some((lane, number)) = target.split_once('/')
            && let Ok(number) = number.parse()
        {
            needed.insert((lane.to_owned(), number));
        }
    }
    Ok(())
}

fn json(path: &Path) -> Result<Option<Value>> {
    let Some(bytes) = file::read(path)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .with_context(|| format!("'{}' is broken", path.display()))
}
