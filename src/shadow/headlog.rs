//! The log of HEAD in a removed shadow: kept beside its snapshot, with the
//! commits that nothing but this log can reach, and given back by a restore.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::record::IDENTITY;
use crate::snapshot::sink::Sink;
use crate::state::file;

/// Where git keeps it, in the git folder of the worktree.
const LOG: &str = "logs/HEAD";

/// Writes a commit that holds the log and has its otherwise lost commits as parents;
/// `None` without a log in a file of its own.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn keep(shadow: &Repo, sink: &Sink, head: Option<ObjectId>) -> Result<Option<ObjectId>> {
    let Some(log) = file::read(&shadow.git_dir().join(LOG))?.filter(|log| !log.is_empty()) else {
        return Ok(None);
    };
    let blob = sink.put(shadow.gix(), Kind::Blob, log.clone())?;
    let mut tree = b"100644 HEAD\0".to_vec();
    tree.extend_from_slice(blob.as_slice());
    let tree = sink.put(shadow.gix(), Kind::Tree, tree)?;
    let mut commit = format!("tree {tree}\n");
    for parent in lost(shadow, &log, head)? {
        commit.push_str(&format!("parent {parent}\n"));
    }
    commit.push_str(&format!(
        "author {IDENTITY} 1 +0000\ncommitter {IDENTITY} 1 +0000\n\nlog of HEAD\n"
    ));
    sink.put(shadow.gix(), Kind::Commit, commit.into_bytes())
        .map(Some)
}

/// The commits in `log` to which neither `head` nor a ref leads.
fn lost(shadow: &Repo, log: &[u8], head: Option<ObjectId>) -> Result<BTreeSet<ObjectId>> {
    let mut named: BTreeSet<ObjectId> = log
        .lines()
        .flat_map(|line| line.splitn(3, |b| *b == b' ').take(2))
        .filter_map(|hex| ObjectId::from_hex(hex).ok())
        .filter(|id| Some(*id) != head && shadow.has_object(*id))
        .collect();
    if named.is_empty() {
        return Ok(named);
    }
    let mut asked: String = named.iter().map(|id| format!("{id}\n")).collect();
    if let Some(head) = head {
        asked.push_str(&format!("^{head}\n"));
    }
    let listed = shadow
        .git(["rev-list", "--stdin"])
        .args(["--not", "--exclude=refs/harness/*", "--glob=refs/*"])
        .input(asked.into_bytes())
        .stdout()?;
    let listed: BTreeSet<ObjectId> = listed
        .lines()
        .filter_map(|hex| ObjectId::from_hex(hex).ok())
        .collect();
    named.retain(|id| listed.contains(id));
    Ok(named)
}

/// Gives the log in the commit `kept` back to the worktree, in place of the line
/// that making it anew has written.
///
/// # Errors
/// When it cannot be read or written.
pub(super) fn give_back(shadow: &Repo, kept: &str) -> Result<()> {
    let commit = ObjectId::from_hex(kept.as_bytes()).context("a record has no log")?;
    let tree = shadow.object(shadow.tree_of(commit)?, Kind::Tree)?;
    let tree = gix::objs::TreeRef::from_bytes(&tree, shadow.gix().object_hash())?;
    let blob = tree.entries.first().context("a record has no log")?.oid;
    let log = shadow.object(blob.to_owned(), Kind::Blob)?;
    let path = shadow.git_dir().join(LOG);
    if !path.exists() {
        // Logs are switched off, or kept elsewhere (reftable).
        return Ok(());
    }
    crate::state::crash::point();
    file::replace(&path, &log, shadow.sharing(), false)
}
