//! Files that are still what an earlier snapshot read: their blobs are known.

use crate::snapshot::cache::{Files, Known};
use crate::snapshot::scan::Candidate;

/// Takes those out of `candidates`, and out of `files` all others; both are sorted by
/// path. `is_usable` has the last word on each; what `keep` refuses, which is told of
/// each, goes from `files` as well.
pub(super) fn recall(
    candidates: &mut Vec<Candidate>,
    files: &mut Files,
    is_usable: impl Fn(&Candidate, &Known) -> bool,
    mut keep: impl FnMut(&Candidate, &Known) -> bool,
) {
    let mut is_known = vec![false; candidates.len()];
    let mut at = 0;
    files.retain(|(path, known)| {
        while candidates.get(at).is_some_and(|c| c.path < *path) {
            at += 1;
        }
        let same = candidates.get(at).filter(|c| {
            c.path == *path && c.stat == known.stat && c.mode == known.mode && is_usable(c, known)
        });
        match same {
            Some(candidate) => {
                is_known[at] = true;
                keep(candidate, known)
            }
            None => false,
        }
    });
    let mut is_known = is_known.into_iter();
    candidates.retain(|_| !is_known.next().unwrap_or(false));
}
