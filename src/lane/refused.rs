//! Takes back the checkpoint of a write that was refused. It is the one case in
//! which a checkpoint goes without anyone asking, so it takes proof: the same
//! tree, the same call, and nothing built on it.

use std::time::Duration;

use crate::error::Result;
use crate::git::Repo;
use crate::lane::Lane;
use crate::lane::find;
use crate::snapshot::take::{self, take};

/// Deletes checkpoint `number` of this worktree's lane if it was taken for
/// `call` alone and the next snapshot (the next checkpoint, or the tree now)
/// has the same tree. Says whether it is gone.
///
/// # Errors
/// When the lane cannot be read, or is held for longer than `patience`.
pub fn take_back(repo: &Repo, number: u32, call: &str, patience: Duration) -> Result<bool> {
    let Some(lane) = Lane::find(repo)? else {
        return Ok(false);
    };
    let Some(checkpoint) = find::by_number(repo, &lane.name, number)? else {
        return Ok(false);
    };
    if checkpoint.record.call.as_deref() != Some(call)
        || checkpoint.record.worktree != lane.worktree
    {
        return Ok(false);
    }
    let later = find::from_number(repo, &lane.name, number + 1)?;
    let next_tree = match later.first() {
        Some(next) => next.tree,
        None => take(repo, &take::Request::default())?.tree,
    };
    let is_built_on = later.iter().any(|other| other.record.after == Some(number));
    if next_tree != checkpoint.tree || is_built_on {
        return Ok(false);
    }
    let _lock = lane.lock(repo, patience)?;
    repo.delete_ref(&checkpoint.name, checkpoint.commit)?;
    let index = lane.index_ref(number);
    if let Some(commit) = repo.find_ref(index.as_str().into())? {
        repo.delete_ref(&index, commit)?;
    }
    Ok(true)
}
