//! What the index has in one folder.

use std::ops::Range;

use gix::bstr::ByteSlice;
use gix::index::State;

use crate::snapshot::listed::Hashing;

/// What the index has under one name in a folder.
pub(super) enum Held {
    /// A file, link or submodule: the position of its first entry.
    File(usize),
    /// The entries below it.
    Folder(Range<usize>),
    /// A folder that a sparse index keeps as one entry and that is not on disk.
    Collapsed,
}

impl Held {
    /// Whether there is something below it.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Held::Folder(_))
    }
}

/// What `index` has in the folder `prefix` (empty, or with a slash at its end), of which
/// `range` are all entries below: in the order of the index, and a hash of path and names.
pub(super) fn indexed<'i>(
    index: &'i State,
    prefix: &[u8],
    range: Range<usize>,
) -> (Vec<(&'i [u8], Held)>, u64) {
    let entries = index.entries();
    let mut indexed: Vec<(&[u8], Held)> = Vec::with_capacity(range.len().min(64));
    let mut hash = Hashing::of(prefix);
    let mut at = range.start;
    while at < range.end {
        let path = entries[at].path(index);
        let rest = &path[prefix.len()..];
        let start = at;
        let (name, held): (&[u8], Held) = match rest.find_byte(b'/') {
            Some(slash) if slash + 1 < rest.len() => {
                let folder = &path[..prefix.len() + slash + 1];
                at += entries[at..range.end].partition_point(|e| e.path(index).starts_with(folder));
                (&rest[..slash], Held::Folder(start..at))
            }
            Some(slash) => {
                at += 1;
                (&rest[..slash], Held::Collapsed)
            }
            None => {
                // The stages of a conflict share one path.
                at += 1;
                let is_conflicted = entries[start].stage_raw() != 0;
                while is_conflicted && at < range.end && entries[at].path(index) == path {
                    at += 1;
                }
                (rest, Held::File(start))
            }
        };
        hash.add(name, held.is_folder());
        indexed.push((name, held));
    }
    (indexed, hash.finish())
}
