//! Gives a snapshot a number and a ref. Objects first, then the index state's
//! ref, then the one ref that makes the checkpoint real.

use std::time::{Duration, SystemTime};

use gix::ObjectId;
use gix::objs::Kind as ObjectKind;

use crate::error::{Error, Result, hinted};
use crate::git::Repo;
use crate::lane::durability::Durability;
use crate::lane::find::{self, Checkpoint};
use crate::lane::identity::Lane;
use crate::lane::position::Position;
use crate::lane::record::{Kind, Record};
use crate::lane::refs::Refs;
use crate::lane::whole::{self, Published};
use crate::lane::{index_state, upkeep, wrote};
use crate::snapshot::convert;
use crate::snapshot::include;
use crate::snapshot::restore::pause;
use crate::snapshot::sink::Written;
use crate::snapshot::take::{Parts, Snapshot};
use crate::state::crash;

/// What of HEAD and the index a checkpoint keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// What HEAD's tree and the checkpoint before do not keep already.
    WhatIsNew,
    /// Both in any case: HEAD is about to move.
    All,
}

/// The lane as it stands under its lock, and what the next checkpoint needs of it.
pub struct Turn {
    /// The lane.
    pub lane: Lane,
    /// The newest checkpoint, if there is one.
    pub newest: Option<Checkpoint>,
    _lock: crate::state::lock::Lock,
}

impl Turn {
    /// Waits for the lane of this worktree, which is made if need be.
    ///
    /// # Errors
    /// When it is held for longer than `patience`, or cannot be read.
    pub fn wait(repo: &Repo, patience: Duration) -> Result<Self> {
        let lane = Lane::establish(repo, patience)?;
        let lock = lane.lock(repo, patience)?;
        let newest = find::newest(repo, &lane, 1)?.pop();
        Ok(Turn {
            lane,
            newest,
            _lock: lock,
        })
    }

    /// Publishes `snapshot` as the next checkpoint; `record` says everything but
    /// what the snapshot and the lane know.
    ///
    /// # Errors
    /// When something cannot be written; then there is no checkpoint.
    pub fn publish(
        &self,
        repo: &Repo,
        snapshot: Snapshot,
        record: Record,
        keeping: Keeping,
    ) -> Result<Checkpoint> {
        self.try_publish(repo, snapshot, record, keeping)?
            .ok_or_else(taken)
    }

    /// The same; `None` when a gc took objects that only a new snapshot can bring back.
    ///
    /// # Errors
    /// As [`Turn::publish`].
    pub fn try_publish(
        &self,
        repo: &Repo,
        snapshot: Snapshot,
        record: Record,
        keeping: Keeping,
    ) -> Result<Option<Checkpoint>> {
        pause::at("HARNESS_TEST_AFTER_SCAN");
        let number = self.next_number(repo)?;
        let mut record = Record {
            number,
            lane: self.lane.name.clone(),
            worktree: self.lane.worktree.clone(),
            head: snapshot.head.clone(),
            operation: repo.operation().map(ToOwned::to_owned),
            skipped: snapshot.skipped.clone(),
            raw: snapshot.raw.clone(),
            include: snapshot.include.clone(),
            moved: snapshot.moved,
            wrote: wrote::pending(repo)?,
            config: convert::config_of(repo.gix())
                .into_iter()
                .chain(include::unseen(repo).map(|rules| format!("unseen={rules}")))
                .collect(),
            ..record
        };
        let newest = self
            .newest
            .as_ref()
            .filter(|_| keeping == Keeping::WhatIsNew);
        let before = newest.map(|newest| &newest.record.head);
        record.index = index_state::put(repo, &snapshot, &record, before)?;
        let time = now();
        let bytes = commit_bytes(snapshot.tree, None, time, &record.message());
        let commit = snapshot.sink.put_new(ObjectKind::Commit, bytes)?;
        let mut durability = Durability::of(repo)?;
        if record.kind == Kind::BeforeUndo {
            durability = durability.of_safety();
        }
        let refs = Refs::prepare(repo, &self.lane, number, commit, record.index, durability)?;
        crash::point();
        let written = refs.write(snapshot.sink)?;
        pause::at("HARNESS_TEST_AFTER_WRITE");
        crash::point();
        self.lane.count(repo, number, record.kind)?;
        crash::point();
        let written = whole::keep(repo, written);
        refs.publish(repo)?;
        crash::point();
        let name = self.lane.checkpoint_ref(number);
        let parts = Parts {
            tree: snapshot.tree,
            head: &snapshot.head,
            index: &snapshot.index,
            anchor: snapshot.anchor.as_ref(),
        };
        let pack = written.pack_name().map(ToOwned::to_owned);
        let whole = ensure_whole(repo, &parts, &record, written);
        if !matches!(whole, Ok(true)) {
            repo.delete_ref(&name, commit)?;
            if let Some(index) = record.index {
                repo.delete_ref(&self.lane.index_ref(number), index)?;
            }
            return whole.map(|_| None);
        }
        if let Some(pack) = pack {
            upkeep::note(repo, &pack)?;
        }
        snapshot.learnt.store(repo, (name.clone(), commit))?;
        if !record.wrote.is_empty() {
            wrote::clear(repo)?;
        }
        let position = Position::load(repo)?;
        if position.tree.is_some_and(|tree| snapshot.tree != tree) && record.target.is_none() {
            Position::forget(repo)?;
        }
        Ok(Some(Checkpoint {
            name,
            commit,
            tree: snapshot.tree,
            time,
            record,
        }))
    }

    /// The next free number.
    pub(super) fn next_number(&self, repo: &Repo) -> Result<u32> {
        let mut number = self.lane.highest(repo)? + 1;
        while repo
            .find_ref(self.lane.checkpoint_ref(number).as_str().into())?
            .is_some()
        {
            // The counter came back from an older backup.
            number += 1;
        }
        Ok(number)
    }
}

/// That a gc left no checkpoint to publish.
pub(super) fn taken() -> Error {
    hinted(
        "a gc took objects of this checkpoint while it was written",
        "run it again; and let gc keep young objects (no '--prune=now' beside other work)",
    )
}

/// Makes sure that what has just been published is whole.
fn ensure_whole(repo: &Repo, taken: &Parts<'_>, record: &Record, written: Written) -> Result<bool> {
    let stands = taken.stand(repo)?;
    let (mut trees, mut head) = (Vec::new(), None);
    if !stands {
        trees.push(taken.tree);
        if let Some(index) = record.index {
            match whole::stages(repo, index) {
                Ok(stages) => trees.extend(stages),
                Err(_) => return Ok(false),
            }
        }
        head = taken.head.commit.and_then(|id| repo.tree_of(id).ok());
    }
    whole::ensure(
        repo,
        Published {
            written,
            stands,
            trees,
            head,
        },
    )
}

/// A commit by a fixed identity. The author date is `time`; the committer date is
/// one second after the epoch, so that `git fetch` offers these commits last and
/// `git log --all` shows them last.
pub(super) fn commit_bytes(
    tree: ObjectId,
    parent: Option<ObjectId>,
    time: i64,
    message: &str,
) -> Vec<u8> {
    let parent = parent.map_or_else(String::new, |id| format!("parent {id}\n"));
    format!(
        "tree {tree}\n{parent}author {IDENTITY} {time} +0000\ncommitter {IDENTITY} 1 +0000\n\n{message}"
    )
    .into_bytes()
}

const IDENTITY: &str = "git-harness <git-harness@localhost>";

/// Seconds since the epoch.
pub(super) fn now() -> i64 {
    #[cfg(debug_assertions)]
    if let Ok(later) = std::env::var("HARNESS_TEST_LATER") {
        // A test whose checkpoints are younger or older than they are.
        return jiff::Timestamp::now().as_second() + later.parse().unwrap_or(0);
    }
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_secs()).ok())
        .unwrap_or(1)
}
