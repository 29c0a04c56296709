//! What was removed long ago goes for good: its place in the trash folder, and
//! the ref that holds its snapshot.

use std::time::Duration;

use gix::ObjectId;

use crate::error::Result;
use crate::git::Repo;
use crate::shadow::process::now;
use crate::shadow::record::Found;
use crate::shadow::task::Task;
use crate::shadow::{sweep, trash};
use crate::state::crash;

/// A removed shadow whose time has come.
pub(super) struct Expired {
    pub(super) task: String,
    pub(super) time: String,
    /// Its snapshot, which lives until a gc.
    pub(super) commit: ObjectId,
    name: String,
}

/// The removed shadows whose time has come. One that is being removed or put back
/// this moment, or whose removal or restore was cut short, is none.
///
/// # Errors
/// When refs or shadows cannot be read.
pub(super) fn due(repo: &Repo) -> Result<Vec<Expired>> {
    let tasks = Task::all(repo)?;
    let is_needed = |found: &Found| {
        tasks.iter().any(|task| {
            let is_same = task.task == found.removed.task.task;
            is_same && (task.trash.is_some() || task.restoring.is_some())
        })
    };
    let now = now();
    Ok(Found::all(repo)?
        .into_iter()
        .filter(|found| found.removed.expires <= now && !is_needed(found))
        .map(|found| Expired {
            task: found.removed.task.task,
            time: found.removed.time,
            commit: found.commit,
            name: found.name,
        })
        .collect())
}

/// Deletes those refs, each if it is still what was seen; what another one has
/// deleted meanwhile is gone as well.
///
/// # Errors
/// When one has changed or cannot be deleted.
pub(super) fn forget(repo: &Repo, due: &[Expired]) -> Result<()> {
    for gone in due {
        crash::point();
        let deleted = repo.delete_ref(&gone.name, gone.commit);
        if deleted.is_err() && repo.find_ref(gone.name.as_str().into())?.is_some() {
            return deleted;
        }
    }
    Ok(())
}

/// Empties the places in the trash folder again; those whose time has come go.
pub(super) fn places(repo: &Repo, patience: Duration) {
    for place in trash::places(repo) {
        let _ = sweep::sweep(&place, patience);
    }
}
