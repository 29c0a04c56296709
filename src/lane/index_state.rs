//! The user's index as a commit: its stages as trees, its flags as trailers,
//! HEAD as its parent, so that nothing it names can be pruned.

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::Flags;
use gix::objs::Kind;
use gix::objs::tree::{Entry, EntryKind};
use gix::objs::{Tree, WriteTo};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::head::Head;
use crate::lane::publish::{commit_bytes, now};
use crate::lane::record::{LINES_AT_MOST, Record, skipped_line};
use crate::lane::trailer::Writer;
use crate::snapshot::take::Snapshot;
use crate::snapshot::tree::Builder;

/// Puts the index state of `snapshot` into its sink when it is worth keeping:
/// when the index is not HEAD's tree, HEAD is not `before`, or `record` has lists
/// that are too long for a message. Gives the commit.
///
/// # Errors
/// When an object cannot be read or written.
pub fn put(
    repo: &Repo,
    snapshot: &Snapshot,
    record: &Record,
    before: Option<&Head>,
) -> Result<Option<ObjectId>> {
    let head_tree = match snapshot.head.commit {
        Some(commit) => Some(repo.tree_of(commit)?),
        None => None,
    };
    let stage = |stage| {
        Builder {
            index: snapshot.index.state(),
            stage,
            sink: &snapshot.sink,
            repo: repo.gix(),
        }
        .build(&[])
    };
    let entries = snapshot.index.state().entries();
    let flags = entries
        .iter()
        .fold(Flags::empty(), |all, entry| all | entry.flags);
    let conflicted = flags.intersects(Flags::STAGE_MASK);
    let marked = flags.contains(Flags::INTENT_TO_ADD);
    let staged = stage(0)?;
    let is_head = match head_tree {
        Some(tree) => tree == staged,
        None => entries.is_empty(),
    };
    let long_lists = record.skipped.len() > LINES_AT_MOST || record.raw.len() > LINES_AT_MOST;
    if is_head && !conflicted && !marked && !long_lists && before == Some(&snapshot.head) {
        return Ok(None);
    }
    let mut tree = vec![entry("0", EntryKind::Tree, staged)];
    if conflicted {
        for (number, name) in [(1, "1"), (2, "2"), (3, "3")] {
            tree.push(entry(name, EntryKind::Tree, stage(number)?));
        }
    }
    let mut blob = |name: &str, lines: Vec<String>| -> Result<()> {
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let id = snapshot.sink.put(repo.gix(), Kind::Blob, bytes)?;
        tree.push(entry(name, EntryKind::Blob, id));
        Ok(())
    };
    if record.skipped.len() > LINES_AT_MOST {
        blob("skipped", record.skipped.iter().map(skipped_line).collect())?;
    }
    if record.raw.len() > LINES_AT_MOST {
        let quoted = |path: &gix::bstr::BString| crate::git::quote::quoted(path.as_bstr());
        blob("raw", record.raw.iter().map(quoted).collect())?;
    }
    let mut message = Writer::new("index of a checkpoint");
    message.add("Version", 1);
    message.add("Number", record.number);
    message.add("Lane", &record.lane);
    for (key, flag) in FLAGS {
        let paths = flagged(snapshot.index.state(), flag);
        if paths.len() > LINES_AT_MOST {
            message.add(&format!("{key}-Count"), paths.len());
            blob(
                &key.to_ascii_lowercase(),
                paths.iter().map(|p| crate::git::quote::quoted(p)).collect(),
            )?;
        } else {
            for path in paths {
                message.add_path(key, path);
            }
        }
    }
    tree.sort();
    let mut bytes = Vec::new();
    Tree { entries: tree }
        .write_to(&mut bytes)
        .context("cannot write a tree")?;
    let tree = snapshot.sink.put(repo.gix(), Kind::Tree, bytes)?;
    let commit = commit_bytes(tree, snapshot.head.commit, now(), &message.finish());
    snapshot
        .sink
        .put(repo.gix(), Kind::Commit, commit)
        .map(Some)
}

/// The flags that are not in any tree.
pub const FLAGS: [(&str, Flags); 3] = [
    ("Intent-To-Add", Flags::INTENT_TO_ADD),
    ("Assume-Unchanged", Flags::ASSUME_VALID),
    ("Skip-Worktree", Flags::SKIP_WORKTREE),
];

fn flagged(index: &gix::index::State, flag: Flags) -> Vec<&BStr> {
    index
        .entries()
        .iter()
        .filter(|entry| entry.flags.contains(flag))
        .map(|entry| entry.path(index))
        .collect()
}

fn entry(name: &str, kind: EntryKind, oid: ObjectId) -> Entry {
    Entry {
        mode: kind.into(),
        filename: name.into(),
        oid,
    }
}
