//! Whose the work in a shadow is, as far as its checkpoints prove it.

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::lane::evidence::{Evidence, Owner};
use crate::lane::{Lane, find, wrote};
use crate::snapshot::difference::Trees;

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shadow) enum Maker {
    Agent,
    /// A person, or nobody knows.
    Somebody,
}

impl Maker {
    /// For scripts.
    pub(in crate::shadow) fn word(self) -> &'static str {
        match self {
            Maker::Agent => "agent",
            Maker::Somebody => "somebody",
        }
    }

    /// For people, behind what was found.
    pub(super) fn said(self) -> &'static str {
        match self {
            Maker::Agent => ", made by an agent",
            Maker::Somebody => ", made by no known agent",
        }
    }
}

/// Paths of one maker, each with what else is known of it.
type Parted<T> = (Option<Maker>, Vec<(BString, T)>);

/// What the checkpoints of a shadow tell.
#[derive(Default)]
pub(super) struct Whose(Option<Evidence>);

impl Whose {
    /// Asks the lane of `shadow`, whose files are the tree `now`. Where no agent was
    /// ever announced, nothing is told.
    pub(super) fn of(shadow: &Repo, trees: &Trees<'_>, now: ObjectId) -> Result<Self> {
        let Some(lane) = Lane::find(shadow)? else {
            return Ok(Whose(None));
        };
        let mut lane = find::from_number(shadow, &lane.name, 1)?;
        // What was imported is no step of this worktree.
        lane.retain(|checkpoint| checkpoint.record.imported.is_none());
        let pending = wrote::pending(shadow)?;
        let evidence = Evidence::gather(shadow, trees, &lane, &pending, now)?;
        Ok(Whose(Some(evidence).filter(|evidence| evidence.any)))
    }

    /// `paths` by their makers; all under `None` where nothing is known.
    pub(super) fn parted<T>(&self, paths: Vec<(BString, T)>) -> Vec<Parted<T>> {
        let Some(evidence) = &self.0 else {
            return vec![(None, paths)];
        };
        let maker = |path: &BStr| match evidence.owner(path) {
            Owner::Agent { .. } | Owner::Undo => Maker::Agent,
            Owner::Somebody(_) => Maker::Somebody,
        };
        let (agents, others) = paths
            .into_iter()
            .partition(|(path, _)| maker(path.as_bstr()) == Maker::Agent);
        vec![
            (Some(Maker::Agent), agents),
            (Some(Maker::Somebody), others),
        ]
    }
}
