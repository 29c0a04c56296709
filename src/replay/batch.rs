//! Many patches applied by one `git apply`. It keeps the index in memory from
//! one patch to the next and says only at the end how it looks, so that after
//! each patch comes one of ours: it copies what was touched to a place aside,
//! where each stage is found afterwards.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gix::ObjectId;
use gix::index::File;

use crate::error::{Context, Result};
use crate::git::quote::quoted;
use crate::git::{BString, ByteSlice, Kind};
use crate::replay::patch::touched;
use crate::replay::store::Store;
use crate::replay::tree::{Leaf, Objects, Tree};

/// The paths that a patch touches, each with whether it is there afterwards.
pub(super) type Touched = BTreeMap<BString, bool>;

/// How many of the first of `patches` say what they touch, and that.
pub(super) fn readable<'a>(patches: impl Iterator<Item = &'a str>) -> Vec<Touched> {
    patches.map_while(touched).collect()
}

/// The trees that `patches` give, one after the other, from `base` on; `None`
/// when git refuses one of them, or anything is not as they say.
pub(super) fn trees(
    store: &mut Store,
    base: ObjectId,
    patches: &[(&str, &Touched)],
) -> Result<Option<Vec<ObjectId>>> {
    store.show_git()?;
    let aside = store.room()?.name();
    let room = store.room()?;
    room.git(&["read-tree", &base.to_string()]).stdout()?;
    let mut apply = room.git(&["apply", "--cached", "--binary", "--whitespace=nowarn"]);
    for (number, (patch, touched)) in patches.iter().enumerate() {
        let copies = copies(&aside, number, touched);
        for (name, content) in [("patch", *patch), ("copies", copies.as_str())] {
            // Git takes a patch without any change for a mistake.
            if !content.is_empty() {
                let name = format!("{name}-{number}");
                room.write(&name, content.as_bytes())?;
                apply = apply.arg(&name);
            }
        }
    }
    if !apply.output()?.status.success() {
        return Ok(None);
    }
    store.see_git()?;
    let index = store.room()?.index(base.kind())?;
    let Some(trees) = stages(store, base, patches, &index, &aside)? else {
        store.discard();
        return Ok(None);
    };
    let last = whole(&index, &aside, base)?;
    if last != trees.last().copied() {
        store.discard();
        return Ok(None);
    }
    store.settle()?;
    Ok(Some(trees))
}

/// A patch that copies what stays of `touched`.
fn copies(aside: &str, number: usize, touched: &Touched) -> String {
    let mut patch = String::new();
    for path in touched
        .iter()
        .filter_map(|(path, stays)| stays.then_some(path))
    {
        let _ = write!(
            patch,
            "diff --git a/- b/-\nsimilarity index 100%\ncopy from {}\ncopy to {}\n",
            quoted(path.as_bstr()),
            quoted(copy_of(aside, number, path).as_bstr()),
        );
    }
    patch
}

fn copy_of(aside: &str, number: usize, path: &BString) -> BString {
    [format!("{aside}/{number}/").as_bytes(), path]
        .concat()
        .into()
}

fn stages(
    store: &mut Store,
    base: ObjectId,
    patches: &[(&str, &Touched)],
    index: &File,
    aside: &str,
) -> Result<Option<Vec<ObjectId>>> {
    let mut tree = Tree::at(base);
    let mut trees = Vec::with_capacity(patches.len());
    for (number, (_, touched)) in patches.iter().enumerate() {
        for path in touched
            .iter()
            .filter_map(|(path, stays)| (!stays).then_some(path))
        {
            tree.remove(path, store)?;
        }
        for path in touched
            .iter()
            .filter_map(|(path, stays)| stays.then_some(path))
        {
            let Some(entry) = index.entry_by_path(copy_of(aside, number, path).as_bstr()) else {
                return Ok(None);
            };
            let leaf = Leaf {
                mode: entry.mode.bits(),
                id: entry.id,
            };
            if tree.put(path, leaf, store)?.is_err() {
                return Ok(None);
            }
        }
        trees.push(tree.write(store)?);
    }
    Ok(Some(trees))
}

/// The tree that the whole index stands for, without what is aside; `None` when
/// it is no tree.
fn whole(index: &File, aside: &str, base: ObjectId) -> Result<Option<ObjectId>> {
    let mut ids = Ids(base.kind());
    let mut tree = Tree::at(ObjectId::empty_tree(base.kind()));
    for entry in index.entries() {
        let path = entry.path(index);
        let below = path.strip_prefix(aside.as_bytes());
        if below.is_some_and(|rest| rest.starts_with(b"/")) {
            continue;
        }
        let leaf = Leaf {
            mode: entry.mode.bits(),
            id: entry.id,
        };
        if tree.put(path, leaf, &ids)?.is_err() {
            return Ok(None);
        }
    }
    tree.write(&mut ids).map(Some)
}

/// Says the id of a tree and keeps nothing.
struct Ids(gix::hash::Kind);

impl Objects for Ids {
    fn content(&self, id: ObjectId, _: Kind) -> Result<Vec<u8>> {
        id.is_empty_tree()
            .then(Vec::new)
            .context("no tree but the empty one is read")
    }

    fn keep(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId> {
        Ok(gix::objs::compute_hash(self.0, kind, &content)?)
    }
}
