//! What a replay or a recording reads of a partial clone, fetched before it is
//! read: all at once instead of one by one.

use std::collections::HashSet;

use gix::ObjectId;

use crate::error::Result;
use crate::git::Kind;
use crate::replay::batch::Touched;
use crate::replay::journal::Commit;
use crate::replay::patch::parse;
use crate::replay::store::Store;
use crate::replay::tree::{Objects, Tree};

const GITLINK: &[u8] = b"160000";

/// What the patches of `commits` say that they change.
pub(super) fn by_patches(store: &mut Store, commits: &[Commit]) -> Result<()> {
    if store.promisor().is_none() {
        return Ok(());
    }
    let (mut made, mut wanted) = (HashSet::new(), Vec::new());
    for change in commits
        .iter()
        .filter_map(|c| parse(&c.patch).ok())
        .flatten()
    {
        let Some((old, new)) = change.ids else {
            continue;
        };
        let is_link = change.old_mode == Some(0o160_000);
        if !old.is_null() && !is_link && !made.contains(&old) {
            wanted.push(old);
        }
        made.insert(new);
    }
    store.fetch(wanted)
}

/// What git needs to apply patches that touch these paths to the tree `base`;
/// without paths, all that is in it.
pub(super) fn for_git(store: &mut Store, base: ObjectId, touched: &[Touched]) -> Result<()> {
    if store.promisor().is_none() {
        return Ok(());
    }
    // Git writes an index of all paths, for which it reads all trees.
    let mut blobs = Vec::new();
    walk(store, base, &mut blobs)?;
    if touched.is_empty() {
        return store.fetch(blobs);
    }
    let mut tree = Tree::at(base);
    let mut wanted = Vec::new();
    for path in touched.iter().flat_map(|touched| touched.keys()) {
        wanted.extend(tree.leaf(path, store)?.map(|leaf| leaf.id));
    }
    let blobs: HashSet<ObjectId> = blobs.into_iter().collect();
    wanted.retain(|id| blobs.contains(id));
    store.fetch(wanted)
}

/// The blobs below the tree `id`.
fn walk(store: &Store, id: ObjectId, blobs: &mut Vec<ObjectId>) -> Result<()> {
    let content = store.content(id, Kind::Tree)?;
    for entry in gix::objs::TreeRefIter::from_bytes(&content, store.hash()) {
        let entry = entry?;
        match entry.mode.kind() {
            gix::objs::tree::EntryKind::Tree => walk(store, entry.oid.to_owned(), blobs)?,
            gix::objs::tree::EntryKind::Commit => {}
            _ => blobs.push(entry.oid.to_owned()),
        }
    }
    Ok(())
}

/// What git reads to tell the trees of each pair apart.
pub(super) fn by_pairs(store: &mut Store, pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
    let Some(promisor) = store.promisor() else {
        return Ok(());
    };
    let lines: String = pairs
        .iter()
        .map(|(old, new)| format!("{old} {new}\n"))
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    // In the repository itself, where git gets the trees that it misses.
    let raw = promisor
        .git()
        .args(["diff-tree", "--stdin", "--raw", "-r", "-z", "--no-renames"])
        .args(["--no-abbrev", "--ignore-submodules=none"])
        .input(lines.into_bytes())
        .stdout()?;
    let mut wanted = Vec::new();
    for field in raw.split(|byte| matches!(byte, 0 | b'\n')) {
        // `:<mode> <mode> <id> <id> <letter>`; of a path that looks like it, nobody has the ids.
        let mut words = field
            .strip_prefix(b":")
            .unwrap_or_default()
            .split(|b| *b == b' ');
        let modes = [words.next(), words.next()];
        for (mode, id) in modes.into_iter().zip([words.next(), words.next()]) {
            let id = id.and_then(|id| ObjectId::from_hex(id).ok());
            wanted.extend(id.filter(|id| mode != Some(GITLINK) && !id.is_null()));
        }
    }
    store.fetch(wanted)
}
