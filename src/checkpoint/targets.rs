//! Where a restore may go, best first; a lane of ten thousand is not read for the
//! one that is wanted.

use gix::ObjectId;

use crate::error::Result;
use crate::git::Repo;
use crate::lane::position::Position;
use crate::lane::record::Kind;
use crate::lane::{Checkpoint, Lane, identity};

/// The checkpoints to try, read as they are asked for.
pub(super) struct Targets {
    read: Vec<Checkpoint>,
    /// Not read yet: the next one last.
    older: Vec<(u32, ObjectId)>,
    lane: Option<Lane>,
}

impl Targets {
    /// Only this one.
    pub(super) fn only(target: Checkpoint) -> Self {
        Targets {
            read: vec![target],
            older: Vec::new(),
            lane: None,
        }
    }

    /// Where bare undo may go: newest first, from the position on, and no state that
    /// was only taken on the way or came from elsewhere.
    pub(super) fn back(repo: &Repo, lane: &Lane, position: &Position) -> Result<Self> {
        let mut older = identity::numbers(repo, &lane.name)?;
        older.retain(|(number, _)| position.at.is_none_or(|at| *number < at));
        Ok(Targets {
            read: Vec::new(),
            older,
            lane: Some(lane.clone()),
        })
    }

    /// The one at this place, counted from 0.
    pub(super) fn get(&mut self, repo: &Repo, at: usize) -> Result<Option<Checkpoint>> {
        while self.read.len() <= at {
            let (Some(lane), Some((number, commit))) = (&self.lane, self.older.pop()) else {
                return Ok(None);
            };
            let name = identity::checkpoint_ref(&lane.name, number);
            let Some(found) = Checkpoint::read_if_ours(repo, &name, commit)? else {
                continue;
            };
            let record = &found.record;
            if !matches!(record.kind, Kind::AfterCommand | Kind::BeforeUndo)
                && record.worktree == lane.worktree
                && record.imported.is_none()
            {
                self.read.push(found);
            }
        }
        Ok(self.read.get(at).cloned())
    }
}
