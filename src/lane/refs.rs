//! The refs of one checkpoint: that of its index state, if it has one, and the one
//! that makes it real. Prepared before its objects are written, so that both are
//! synced side by side, and named after them.

use gix::ObjectId;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::new_ref::NewRef;
use crate::lane::durability::Durability;
use crate::lane::identity::Lane;
use crate::snapshot::sink::{Sink, Written};
use crate::snapshot::workers;
use crate::state::crash;

/// Both refs, prepared under the lane's lock.
pub(super) struct Refs {
    index: Option<NewRef>,
    own: NewRef,
    durability: Durability,
}

impl Refs {
    /// Prepares them; the caller holds the lane's lock.
    ///
    /// # Errors
    /// When one exists or cannot be written.
    pub(super) fn prepare(
        repo: &Repo,
        lane: &Lane,
        number: u32,
        commit: ObjectId,
        index: Option<ObjectId>,
        durability: Durability,
    ) -> Result<Self> {
        let prepare = |name: &str, target| {
            repo.clear_unfinished_ref(name);
            repo.new_ref(name, target)
        };
        Ok(Refs {
            index: index
                .map(|index| prepare(&lane.index_ref(number), index))
                .transpose()?,
            own: prepare(&lane.checkpoint_ref(number), commit)?,
            durability,
        })
    }

    /// Writes the objects of `sink`, and syncs them and the refs in one wait.
    ///
    /// # Errors
    /// When something cannot be written or synced.
    pub(super) fn write(&self, sink: Sink) -> Result<Written> {
        if self.durability == Durability::None {
            return sink.finish();
        }
        let (synced, written) = workers::both(|| self.sync(), || sink.finish());
        synced?;
        written
    }

    fn sync(&self) -> Result<()> {
        if let Some(index) = &self.index {
            index.sync()?;
        }
        self.own.sync()
    }

    /// Makes the checkpoint real.
    ///
    /// # Errors
    /// When a ref exists by now or cannot be written.
    pub(super) fn publish(self, repo: &Repo) -> Result<()> {
        let durable = self.durability == Durability::Full;
        if let Some(index) = self.index {
            index.publish(repo, false)?;
            crash::point();
        }
        self.own
            .publish(repo, durable)
            .context("cannot publish the checkpoint")
    }
}
