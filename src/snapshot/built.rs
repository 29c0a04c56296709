//! The tree of the last snapshot, and what it was built from: the same changes to the
//! same index give it again, with thousands of files modified as well.

use gix::ObjectId;
use sha2::{Digest, Sha256};

use crate::snapshot::stat::Stat;
use crate::snapshot::tree::Change;

/// Fewer changes build their trees in less time than it takes to write this down anew
/// whenever git has refreshed the index.
const WORTHWHILE: usize = 100;

/// A tree, and what it was built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The file of the index.
    pub index: Stat,
    /// SHA-256 of the changes.
    pub changes: [u8; 32],
    /// What they give.
    pub tree: ObjectId,
}

/// What a tree is about to be built from.
pub(super) struct Basis {
    index: Stat,
    changes: [u8; 32],
}

impl Basis {
    /// The `changes` to the file of an index; `None` where there is none, or where it is
    /// quicker to build.
    pub(super) fn of(index: Option<Stat>, changes: &[Change]) -> Option<Self> {
        if changes.len() < WORTHWHILE {
            return None;
        }
        let mut digest = Sha256::new();
        for (path, value) in changes {
            digest.update((path.len() as u64).to_le_bytes());
            digest.update(path);
            match value {
                Some((mode, id)) => {
                    digest.update(mode.bits().to_le_bytes());
                    digest.update(id.as_slice());
                }
                // No mode is 0.
                None => digest.update(0_u32.to_le_bytes()),
            }
        }
        Some(Basis {
            index: index?,
            changes: digest.finalize().into(),
        })
    }

    /// The tree, if `built` is from the same.
    pub(super) fn tree(&self, built: Option<&Built>) -> Option<ObjectId> {
        let built = built?;
        (built.index == self.index && built.changes == self.changes).then_some(built.tree)
    }

    /// To be remembered: `tree` is what came of it at `moment` of the file system's
    /// clock. Not for an index so young that a change of it could hide.
    pub(super) fn built(self, tree: ObjectId, moment: Option<(i64, u32)>) -> Option<Built> {
        let is_settled = moment.is_some_and(|now| !self.index.is_racy(now));
        is_settled.then_some(Built {
            index: self.index,
            changes: self.changes,
            tree,
        })
    }
}
