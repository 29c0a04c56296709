//! From index entries and changes to trees. git has this inside; gix does not.
//! A folder without a change whose tree the index already names costs nothing.

use std::ops::Range;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::{Flags, Mode};
use gix::index::extension::Tree as Cached;
use gix::objs::tree::{Entry as TreeEntry, EntryKind, EntryMode};
use gix::objs::{Kind, WriteTo};

use crate::error::{Context, Result};
use crate::snapshot::sink::Sink;

/// What a path is instead of what the index says; `None` is "not there".
pub type Change = (BString, Option<(Mode, ObjectId)>);

/// Builds trees over one index.
pub struct Builder<'b> {
    /// The index whose entries hold where no change says otherwise.
    pub index: &'b gix::index::State,
    /// Which stage of the entries is meant: 0 but for the halves of a conflict.
    pub stage: u32,
    /// Where new trees go.
    pub sink: &'b Sink,
    /// The handle for look-ups.
    pub repo: &'b gix::Repository,
}

impl Builder<'_> {
    /// The root tree, with `changes` (sorted by path, each path once) applied.
    ///
    /// # Errors
    /// When a tree cannot be written.
    pub fn build(&self, changes: &[Change]) -> Result<ObjectId> {
        let all = 0..self.index.entries().len();
        let cached = (self.stage == 0).then(|| self.index.tree()).flatten();
        match self.folder(0, all, changes, cached)? {
            Some(id) => Ok(id),
            None => self.sink.put(self.repo, Kind::Tree, Vec::new()),
        }
    }

    /// The tree of one folder, whose path is the first `prefix` bytes of every
    /// path in `range` and `changes`; `None` when nothing is in it.
    fn folder(
        &self,
        prefix: usize,
        range: Range<usize>,
        changes: &[Change],
        cached: Option<&Cached>,
    ) -> Result<Option<ObjectId>> {
        let entries = self.index.entries();
        if changes.is_empty()
            && let Some(tree) = cached
            && tree
                .num_entries
                .is_some_and(|n| n as usize == range.len() && n > 0)
        {
            return Ok(Some(tree.id));
        }
        let mut children: Vec<TreeEntry> = Vec::new();
        let (mut at, mut changed) = (range.start, 0);
        loop {
            let entry = (at < range.end).then(|| entries[at].path(self.index));
            let change = changes.get(changed).map(|(path, _)| path.as_bstr());
            let Some(path) = [entry, change].into_iter().flatten().min() else {
                break;
            };
            let rest = &path[prefix..];
            match rest.find_byte(b'/') {
                Some(slash) if slash + 1 < rest.len() => {
                    let folder = &path[..prefix + slash + 1];
                    let name = rest[..slash].as_bstr();
                    let end = at
                        + entries[at..range.end]
                            .partition_point(|e| e.path(self.index).starts_with(folder));
                    let changed_end = changed
                        + changes[changed..].partition_point(|(p, _)| p.starts_with(folder));
                    let below = cached.and_then(|tree| {
                        tree.children
                            .iter()
                            .find(|child| child.name.as_slice() == name.as_bytes())
                    });
                    let tree =
                        self.folder(folder.len(), at..end, &changes[changed..changed_end], below)?;
                    if let Some(oid) = tree {
                        children.push(child(name, EntryKind::Tree.into(), oid));
                    }
                    (at, changed) = (end, changed_end);
                }
                _ => {
                    let name = rest.strip_suffix(b"/").unwrap_or(rest).as_bstr();
                    let changed_here = change == Some(path);
                    let mut found = None;
                    while at < range.end && entries[at].path(self.index) == path {
                        let entry = &entries[at];
                        if entry.flags.stage_raw() == self.stage
                            && !entry.flags.contains(Flags::INTENT_TO_ADD)
                        {
                            found = Some((entry.mode, entry.id));
                        }
                        at += 1;
                    }
                    if changed_here {
                        found = changes[changed].1;
                        changed += 1;
                    }
                    if let Some((mode, oid)) = found {
                        let mode = mode.to_tree_entry_mode().with_context(|| {
                            format!("'{path}' has a mode that no tree can hold")
                        })?;
                        children.push(child(name, mode, oid));
                    }
                }
            }
        }
        if children.is_empty() {
            return Ok(None);
        }
        // Paths sort folders by their name with a slash, and so do trees, but a
        // file and a folder that begins with its name part ways here.
        children.sort();
        let mut bytes = Vec::new();
        gix::objs::Tree { entries: children }
            .write_to(&mut bytes)
            .context("cannot write a tree")?;
        self.sink.put(self.repo, Kind::Tree, bytes).map(Some)
    }
}

fn child(name: &gix::bstr::BStr, mode: EntryMode, oid: ObjectId) -> TreeEntry {
    TreeEntry {
        mode,
        filename: name.to_owned(),
        oid,
    }
}
