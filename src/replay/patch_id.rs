//! What a commit changes, whatever it stands on: the readable patch without
//! line numbers and ids (as `git patch-id --verbatim` takes it), binary content
//! by its id.

use crate::error::Result;
use crate::git::{ByteSlice, Kind, Repo};
use crate::replay::journal::Journal;
use crate::replay::patch;
use crate::replay::render;

/// By what commits are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Their patches.
    Patches,
    /// The ids of the contents before and after: the base of one run is not here.
    Contents,
}

impl Basis {
    pub(super) fn word(self) -> &'static str {
        match self {
            Basis::Patches => "patches",
            Basis::Contents => "contents",
        }
    }
}

/// An id for each commit of two journals, and by what they are.
pub(super) struct Ids {
    pub(super) left: Vec<String>,
    pub(super) right: Vec<String>,
    pub(super) basis: Basis,
}

/// An id for each commit of each journal, on one basis.
pub(super) fn of_both(repo: Option<&Repo>, left: &Journal, right: &Journal) -> Result<Ids> {
    if let Some(repo) = repo
        && let (Ok(a), Ok(b)) = (render::rebuilt(repo, left)?, render::rebuilt(repo, right)?)
    {
        let ids = |patches: Vec<Vec<u8>>| patches.iter().map(|p| of_patch(p)).collect();
        let (left, right): (Result<_>, Result<_>) = (ids(a), ids(b));
        return Ok(Ids {
            left: left?,
            right: right?,
            basis: Basis::Patches,
        });
    }
    let ids = |journal: &Journal| {
        render::commits(journal)
            .map(|c| of_contents(&c.patch))
            .collect()
    };
    Ok(Ids {
        left: ids(left),
        right: ids(right),
        basis: Basis::Contents,
    })
}

fn of_patch(patch: &[u8]) -> Result<String> {
    let mut kept = Vec::with_capacity(patch.len());
    for section in patch.split_str("\ndiff --git ") {
        let is_binary = section.contains_str("\nBinary files ");
        for line in section.lines_with_terminator() {
            if line.starts_with(b"@@ ") {
                kept.extend_from_slice(b"@@\n");
            } else if is_binary || !line.starts_with(b"index ") {
                kept.extend_from_slice(line);
            }
        }
        kept.push(0);
    }
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, &kept)?;
    Ok(id.to_string())
}

fn of_contents(text: &str) -> String {
    let Ok(changes) = patch::parse(text) else {
        return text.to_owned();
    };
    changes
        .iter()
        .map(|c| format!("{} {:?} {:?} {:?}\n", c.path, c.old_mode, c.new_mode, c.ids))
        .collect()
}
