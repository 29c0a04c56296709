//! A published checkpoint is whole, also when a `git gc --prune=now` ran beside
//! the save: what such a gc took, or may be about to take, is written again
//! into a pack that it must keep; what cannot be, is no checkpoint.
//!
//! A gc takes what nothing named when it looked. Three things name an object
//! before our ref does: our own sink, the user's index, and the checkpoint that
//! anchors the side cache. The last two are looked at again once the ref stands.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::tree::EntryKind;
use gix::objs::{Kind, TreeRefIter};

use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::lane::durability::writing;
use crate::snapshot::sink::{Sink, Written};

/// What has just been published.
pub(super) struct Published {
    /// What the save wrote, and what it found there that nothing else may name.
    pub(super) written: Written,
    /// Whether all that it took for granted is still named by what named it then.
    pub(super) stands: bool,
    /// The trees of the checkpoint and of the stages of its index.
    pub(super) trees: Vec<ObjectId>,
    /// HEAD's tree, which needs no proof: branch and reflog name it.
    pub(super) head: Option<ObjectId>,
}

/// What is about to be named, `written` again where a gc began or ended meanwhile:
/// not even for a moment shall a ref name what is not there. What cannot be written
/// again is judged by [`ensure`].
pub(super) fn keep(repo: &Repo, written: Written) -> Written {
    if (!repo.gc_runs() || written.is_kept()) && written.all_there() {
        return written;
    }
    let needed = written.objects.iter().copied().collect();
    rewrite(repo, &written, &needed).unwrap_or(written)
}

/// Makes sure of it; the refs stand already. False when an object is gone for
/// good: the caller then takes the refs away again.
///
/// # Errors
/// When what is needed cannot be asked for.
pub(super) fn ensure(repo: &Repo, published: Published) -> Result<bool> {
    let gc_runs = repo.gc_runs();
    let written = published.written;
    if published.stands && written.all_there() && (!gc_runs || written.is_kept()) {
        return Ok(true);
    }
    let mut needed: HashSet<ObjectId> = written.objects.iter().copied().collect();
    if !published.stands {
        let mut seen = HashSet::new();
        for tree in published.trees {
            if collect(repo, tree, published.head, &mut seen).is_err() {
                return Ok(false);
            }
        }
        needed.extend(seen);
    }
    if !gc_runs && Written::are_there(repo, needed.iter().copied()) {
        return Ok(true);
    }
    let kept = rewrite(repo, &written, &needed);
    Ok(kept.is_ok() && Written::are_there(repo, needed.into_iter()))
}

/// Writes the objects again, from memory or from packs that may be gone already but
/// are still open here, into a pack that every gc must keep.
fn rewrite(repo: &Repo, written: &Written, needed: &HashSet<ObjectId>) -> Result<Written> {
    let mut sink = Sink::new(repo, writing(repo)?);
    sink.be_defensive();
    for id in needed {
        let (kind, bytes) = match written.content(*id) {
            Some((kind, bytes)) => (kind, bytes.to_vec()),
            None => {
                let object = repo.gix().find_object(*id)?;
                (object.kind, object.detach().data)
            }
        };
        sink.put(repo.gix(), kind, bytes)?;
    }
    sink.finish()
}

/// All objects of `tree` that are not in the same place of `known`.
fn collect(
    repo: &Repo,
    tree: ObjectId,
    known: Option<ObjectId>,
    seen: &mut HashSet<ObjectId>,
) -> Result<()> {
    if Some(tree) == known || tree == repo.empty_tree() || !seen.insert(tree) {
        return Ok(());
    }
    let old = match known {
        Some(known) => entries(repo, known)?,
        None => Vec::new(),
    };
    for (name, kind, id) in entries(repo, tree)? {
        let same = old.iter().find(|(n, k, _)| *n == name && *k == kind);
        match (kind, same) {
            (_, Some((_, _, before))) if *before == id => {}
            // Another repository's.
            (EntryKind::Commit, _) => {}
            (EntryKind::Tree, same) => collect(repo, id, same.map(|s| s.2), seen)?,
            _ => {
                seen.insert(id);
            }
        }
    }
    Ok(())
}

fn entries(repo: &Repo, tree: ObjectId) -> Result<Vec<(BString, EntryKind, ObjectId)>> {
    let bytes = repo.object(tree, Kind::Tree)?;
    let mut found = Vec::new();
    for entry in TreeRefIter::from_bytes(&bytes, repo.gix().object_hash()) {
        let Ok(entry) = entry else {
            bail!("cannot read the tree {tree}");
        };
        found.push((
            entry.filename.to_owned(),
            entry.mode.kind(),
            entry.oid.to_owned(),
        ));
    }
    Ok(found)
}

/// The trees of the stages that the index state `commit` holds.
pub(super) fn stages(repo: &Repo, commit: ObjectId) -> Result<Vec<ObjectId>> {
    let tree = repo
        .tree_of(commit)
        .context("cannot read the index state")?;
    let folders = entries(repo, tree)?.into_iter();
    Ok(folders
        .filter(|(_, kind, _)| *kind == EntryKind::Tree)
        .map(|(_, _, id)| id)
        .collect())
}
