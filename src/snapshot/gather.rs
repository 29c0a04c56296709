//! What became of the candidates: how each changes the index, and what the next
//! snapshot may use of it.

use gix::bstr::BString;
use gix::index::State;

use crate::snapshot::cache::{Files, Known};
use crate::snapshot::capture::Capture;
use crate::snapshot::prove;
use crate::snapshot::scan::{Candidate, Skipped};
use crate::snapshot::tree::Change;

/// What is gathered so far, in no order.
pub(super) struct Gathered<'g> {
    /// The user's index.
    pub(super) index: &'g State,
    /// Files that are candidates only for their conversion, sorted.
    pub(super) doubtful: &'g [BString],
    /// The file system's clock before the walk.
    pub(super) clock: Option<(i64, u32)>,
    /// What the paths are instead of what the index says.
    pub(super) changes: Vec<Change>,
    /// Paths stored as they are although a conversion applies.
    pub(super) raw: Vec<BString>,
    /// What could not be captured.
    pub(super) skipped: Vec<Skipped>,
    /// What is known of files.
    pub(super) files: Files,
    /// Entries whose blob is known to be right.
    pub(super) proven: Vec<u64>,
}

impl Gathered<'_> {
    /// A file that was known; whether it must be remembered as such.
    pub(super) fn recalled(&mut self, candidate: &Candidate, known: &Known) -> bool {
        let path = &candidate.path;
        if known.raw {
            self.raw.push(path.clone());
        }
        let value = (known.mode, known.id);
        self.changes.push((path.clone(), Some(value)));
        let key = self.settled(candidate, known);
        self.proven.extend(key);
        key.is_none()
    }

    /// A file that was looked at.
    pub(super) fn captured(&mut self, candidate: Candidate, capture: Capture) {
        if let Some(known) = remember(&capture, self.clock) {
            match self.settled(&candidate, &known) {
                Some(key) => self.proven.push(key),
                None => self.files.push((candidate.path.clone(), known)),
            }
        }
        let path = candidate.path;
        match capture {
            Capture::Blob { mode, id, raw, .. } => {
                if raw {
                    self.raw.push(path.clone());
                }
                self.changes.push((path, Some((mode, id))));
            }
            Capture::Gone => self.changes.push((path, None)),
            Capture::Skipped(reason) => self.skipped.push(Skipped { path, reason }),
        }
    }

    /// The key of a file that was only doubtful for its conversion and whose blob in the
    /// index turned out to be the right one: a hash is enough to know that next time.
    fn settled(&self, candidate: &Candidate, known: &Known) -> Option<u64> {
        let entry = &self.index.entries()[candidate.entry?];
        let is_right = !known.raw && known.id == entry.id && known.mode == entry.mode;
        let is_doubtful = || self.doubtful.binary_search(&candidate.path).is_ok();
        (is_right && is_doubtful()).then(|| prove::key(entry, self.index))
    }
}

/// What may be remembered of a capture: nothing of a file that changed, or that
/// is so young that a change could hide.
fn remember(capture: &Capture, clock: Option<(i64, u32)>) -> Option<Known> {
    match capture {
        Capture::Blob {
            mode,
            id,
            raw,
            stat: Some(stat),
        } if clock.is_some_and(|now| !stat.is_racy(now)) => Some(Known {
            stat: *stat,
            mode: *mode,
            id: *id,
            raw: *raw,
        }),
        _ => None,
    }
}
