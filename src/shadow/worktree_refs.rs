//! What git keeps for one worktree alone and would let die with it: its own refs
//! (gitglossary(7), "per-worktree ref"), and the commits that an operation holds.

use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Repo;

/// Per-worktree refs, by prefix.
const PREFIXES: [&str; 3] = ["refs/worktree", "refs/bisect", "refs/rewritten"];

/// Files of an operation that hold commits, one a line; those without a slash are
/// refs in a reftable repository.
const HOLDERS: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "BISECT_EXPECTED_REV",
    "rebase-merge/orig-head",
    "rebase-merge/onto",
    "rebase-merge/autostash",
    "rebase-merge/stopped-sha",
    "rebase-merge/amend",
    "rebase-apply/orig-head",
    "rebase-apply/onto",
    "rebase-apply/autostash",
    "sequencer/head",
    "sequencer/abort-safety",
];

/// What was found.
#[derive(Default)]
pub(super) struct Kept {
    /// Names and what they point at, in hexadecimal.
    pub(super) refs: Vec<(String, String)>,
    /// All commits that must not be lost.
    pub(super) commits: Vec<ObjectId>,
}

/// Looks.
///
/// # Errors
/// When git cannot list refs.
pub(super) fn look(shadow: &Repo) -> Result<Kept> {
    let mut kept = Kept::default();
    let folder = shadow.git_dir();
    let is_reftable = folder.join("reftable").exists();
    for holder in HOLDERS {
        let text = fs::read(folder.join(holder)).unwrap_or_default();
        let named = text.lines().filter_map(|line| {
            let id = ObjectId::from_hex(line.trim_ascii()).ok()?;
            is_commit(shadow, id).then_some(id)
        });
        kept.commits.extend(named);
        // MERGE_HEAD is a file everywhere.
        if is_reftable
            && text.is_empty()
            && !holder.contains('/')
            && let Some(line) = shadow
                .git(["rev-parse", "-q", "--verify", holder])
                .answer()?
        {
            kept.add(shadow, holder, line.trim_ascii());
        }
    }
    if is_reftable || has_files(&folder.join("refs")) {
        let format = "--format=%(objectname) %(refname)";
        let listed = shadow
            .git(["for-each-ref", format])
            .args(PREFIXES)
            .stdout()?;
        for line in listed.lines() {
            if let Some((id, name)) = line.split_once_str(b" ") {
                kept.add(shadow, &name.to_str_lossy(), id);
            }
        }
    }
    Ok(kept)
}

impl Kept {
    fn add(&mut self, shadow: &Repo, name: &str, hex: &[u8]) {
        if let Ok(id) = ObjectId::from_hex(hex) {
            self.refs.push((name.to_owned(), id.to_string()));
            if is_commit(shadow, id) {
                self.commits.push(id);
            }
        }
    }
}

fn is_commit(shadow: &Repo, id: ObjectId) -> bool {
    shadow.tree_of(id).is_ok()
}

fn has_files(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        _ => true,
    })
}

/// Gives the worktree its refs back; those whose object is gone are named.
///
/// # Errors
/// When git refuses.
pub(super) fn give_back(
    shadow: &Repo,
    refs: &[(String, String)],
    warnings: &mut Vec<String>,
) -> Result<()> {
    for (name, hex) in refs {
        let id = ObjectId::from_hex(hex.as_bytes());
        if !id.is_ok_and(|id| shadow.has_object(id)) {
            warnings.push(format!("'{name}' is lost: its object {hex} is gone"));
            continue;
        }
        crate::state::crash::point();
        shadow.git_unhooked(["update-ref", name, hex]).stdout()?;
    }
    Ok(())
}
