//! Takes refs of checkpoints away. Their objects stay until git's own gc.

use std::collections::BTreeSet;

use gix::ObjectId;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::lane::find::Checkpoint;
use crate::lane::identity::{CHECKPOINTS, INDEXES};

/// Deletes the refs of `checkpoints` and of their index states. A checkpoint's
/// own ref goes first: it is never without its index state.
///
/// # Errors
/// When a ref has moved or cannot be deleted.
pub fn remove(repo: &Repo, checkpoints: &[Checkpoint]) -> Result<()> {
    let own: Vec<(String, ObjectId)> = checkpoints
        .iter()
        .map(|c| (c.name.clone(), c.commit))
        .collect();
    let indexes: Vec<(String, ObjectId)> = index_refs(repo, checkpoints)?;
    repo.delete_refs(&own)?;
    crate::state::crash::point();
    repo.delete_refs(&indexes)
}

/// How many bytes a gc would free once the refs of `checkpoints` are gone: what
/// neither another ref, a reflog nor an index reaches, as it lies on disk.
///
/// # Errors
/// When git cannot count.
pub fn would_free(repo: &Repo, checkpoints: &[Checkpoint]) -> Result<u64> {
    if checkpoints.is_empty() {
        return Ok(0);
    }
    let indexes = index_refs(repo, checkpoints)?;
    let going: BTreeSet<&str> = checkpoints
        .iter()
        .map(|c| c.name.as_str())
        .chain(indexes.iter().map(|(name, _)| name.as_str()))
        .collect();
    let mut revisions = String::new();
    for checkpoint in checkpoints {
        revisions.push_str(&format!("{}\n", checkpoint.commit));
    }
    for (_, index) in &indexes {
        revisions.push_str(&format!("{index}\n"));
    }
    for (name, id) in repo.refs_below("refs/")? {
        if !std::str::from_utf8(&name).is_ok_and(|name| going.contains(name)) {
            revisions.push_str(&format!("^{id}\n"));
        }
    }
    let printed = repo
        .git(["rev-list", "--objects", "--objects-edge-aggressive"])
        .args(["--disk-usage", "--missing=allow-any", "--stdin"])
        .args(["--not", "--reflog", "--indexed-objects"])
        .input(revisions)
        .stdout()?;
    // Edges are printed first, each with a dash.
    let text = String::from_utf8_lossy(&printed);
    text.lines()
        .next_back()
        .and_then(|line| line.trim().parse().ok())
        .context("git did not say how much space the objects take")
}

/// The index states of `checkpoints` that have a ref.
fn index_refs(repo: &Repo, checkpoints: &[Checkpoint]) -> Result<Vec<(String, ObjectId)>> {
    let mut found = Vec::new();
    for checkpoint in checkpoints {
        let Some(rest) = checkpoint.name.strip_prefix(CHECKPOINTS) else {
            continue;
        };
        let name = format!("{INDEXES}{rest}");
        if let Some(id) = repo.find_ref(name.as_str().into())? {
            found.push((name, id));
        }
    }
    Ok(found)
}
