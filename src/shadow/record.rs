//! What a removed shadow leaves: a commit under `refs/harness/trash/` whose tree is
//! everything that was in the folder, whose parents are HEAD and the index, and
//! whose message says how to put it back.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::{CommitRef, Kind};
use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::lane::Record as Checkpoint;
use crate::lane::durability::writing;
use crate::lane::index_state;
use crate::lane::trailer::{Reader, Writer};
use crate::shadow::guards::Survey;
use crate::shadow::process::now;
use crate::shadow::sparse::{self, Sparse};
use crate::shadow::task::{Task, path_json, stored_path};
use crate::shadow::treeless::Treeless;
use crate::shadow::{headlog, trash, worktree_refs};
use crate::snapshot::root::Root;
use crate::snapshot::scan::Skipped;
use crate::snapshot::sink::Sink;

/// Where removed shadows are; below it `<slug>/<time>`.
pub(super) const TRASH: &str = "refs/harness/trash/";

pub(super) const IDENTITY: &str = "git-harness <git-harness@localhost>";

/// A removed shadow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Removed {
    pub(super) v: u32,
    pub(super) task: Task,
    /// When, as in the ref's name.
    pub(super) time: String,
    /// HEAD: the branch in full, and the commit in hexadecimal.
    pub(super) branch: Option<String>,
    pub(super) head: Option<String>,
    /// The commit that holds the index.
    pub(super) index: Option<String>,
    /// The commit that holds the log of HEAD.
    #[serde(default)]
    pub(super) log: Option<String>,
    /// When it may go for good; seconds since the epoch.
    #[serde(default = "never")]
    pub(super) expires: i64,
    /// The operation that was under way; its files wait in the trash folder.
    pub(super) operation: Option<String>,
    /// The refs of this worktree alone: names, and what they point at.
    #[serde(default)]
    pub(super) refs: Vec<(String, String)>,
    #[serde(default)]
    pub(super) sparse: Option<Sparse>,
    #[serde(flatten)]
    pub(super) treeless: Treeless,
    /// Paths that the tree has as they were on disk, although a conversion applies.
    pub(super) raw: Vec<serde_json::Value>,
    /// What is not in the tree, and why.
    pub(super) skipped: Vec<(serde_json::Value, String)>,
    /// The folder that may still hold what no snapshot could.
    #[serde(with = "stored_path")]
    pub(super) folder: PathBuf,
}

fn never() -> i64 {
    i64::MAX
}

/// A removed shadow that was found.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) commit: ObjectId,
    pub(super) tree: ObjectId,
    pub(super) removed: Removed,
}

/// Writes the commit and its ref; gives both. `shadow` is the worktree as it was looked at.
///
/// # Errors
/// When something cannot be written; then there is no ref.
pub(super) fn put(
    repo: &Repo,
    shadow: &Repo,
    task: &Task,
    survey: Survey,
    time: &str,
    folder: &Path,
) -> Result<Found> {
    let root = Root::open(shadow.require_worktree()?)?;
    let snapshot = survey.snapshot;
    let checkpoint = Checkpoint {
        skipped: snapshot.skipped.clone(),
        raw: snapshot.raw.clone(),
        ..Checkpoint::default()
    };
    let index = index_state::put(shadow, &snapshot, &checkpoint, None)?;
    let kept = worktree_refs::look(shadow)?;
    let log = headlog::keep(shadow, &snapshot.sink, survey.head.commit)?;
    let entries = snapshot.index.state();
    let paths: Vec<&BStr> = entries
        .entries()
        .iter()
        .map(|entry| entry.path(entries))
        .chain(snapshot.changes.iter().map(|(path, _)| path.as_bstr()))
        .collect();
    let json = |path: &BString| path_json(&path.to_path_lossy());
    let removed = Removed {
        v: 1,
        task: task.clone(),
        time: time.to_owned(),
        branch: survey.head.branch.as_ref().map(ToString::to_string),
        head: survey.head.commit.map(|id| id.to_string()),
        index: index.map(|id| id.to_string()),
        log: log.map(|id| id.to_string()),
        expires: trash::expiry(repo)?,
        operation: survey.operation.map(str::to_owned),
        treeless: Treeless::of(&root, paths, &survey.empty),
        refs: kept.refs,
        sparse: sparse::kept(shadow)?,
        raw: snapshot.raw.iter().map(json).collect(),
        skipped: snapshot
            .skipped
            .iter()
            .map(|Skipped { path, reason }| (json(path), reason.clone()))
            .collect(),
        folder: folder.to_owned(),
    };
    let mut parents = Vec::new();
    parents.extend(survey.head.commit);
    parents.extend(index);
    parents.extend(log);
    parents.extend(kept.commits);
    parents.extend(own_branch(repo, task));
    store(repo, removed, snapshot.tree, &parents, snapshot.sink)
}

/// The same for a shadow of which only the branch is left, which is at `tip`.
///
/// # Errors
/// When something cannot be written; then there is no ref.
pub(super) fn put_branch(repo: &Repo, task: &Task, branch: &str, tip: ObjectId) -> Result<Found> {
    let (place, time) = trash::Place::new(repo, task)?;
    let removed = Removed {
        v: 1,
        task: task.clone(),
        time,
        branch: Some(branch.to_owned()),
        head: Some(tip.to_string()),
        index: None,
        log: None,
        expires: trash::expiry(repo)?,
        operation: None,
        refs: Vec::new(),
        sparse: None,
        treeless: Treeless::default(),
        raw: Vec::new(),
        skipped: Vec::new(),
        folder: place.folder,
    };
    let sink = Sink::new(repo, writing(repo)?);
    store(repo, removed, repo.tree_of(tip)?, &[tip], sink)
}

/// The commit, and its ref.
fn store(
    repo: &Repo,
    removed: Removed,
    tree: ObjectId,
    parents: &[ObjectId],
    sink: Sink,
) -> Result<Found> {
    let task = &removed.task;
    let mut message = Writer::new(&format!("removed shadow {}", task.task));
    let text = serde_json::to_string(&removed).context("cannot write a shadow as JSON")?;
    message.add("Shadow", text);
    let mut bytes = format!("tree {tree}\n");
    for (at, parent) in parents.iter().enumerate() {
        if !parents[..at].contains(parent) {
            bytes.push_str(&format!("parent {parent}\n"));
        }
    }
    bytes.push_str(&format!(
        "author {IDENTITY} {} +0000\ncommitter {IDENTITY} 1 +0000\n\n{}",
        now(),
        message.finish()
    ));
    let commit = sink.put(repo.gix(), Kind::Commit, bytes.into_bytes())?;
    let _written = sink.finish()?;
    crate::state::crash::point();
    let name = format!("{TRASH}{}/{}", task.slug, removed.time);
    repo.create_ref(&name, commit, true)?;
    Ok(Found {
        name,
        commit,
        tree,
        removed,
    })
}

/// The branch, where HEAD is detached or on another one.
fn own_branch(repo: &Repo, task: &Task) -> Option<ObjectId> {
    let branch = task.branch.as_ref()?;
    repo.find_ref(branch.as_str().into()).ok().flatten()
}

impl Found {
    /// All removed shadows, the oldest first. A ref that is none of ours is passed over.
    ///
    /// # Errors
    /// When refs cannot be read.
    pub(super) fn all(repo: &Repo) -> Result<Vec<Self>> {
        let mut found: Vec<Self> = repo
            .refs_below(TRASH)?
            .into_iter()
            .filter_map(|(name, commit)| Self::read(repo, &name.to_string(), commit))
            .collect();
        found.sort_by(|a, b| a.removed.time.cmp(&b.removed.time));
        Ok(found)
    }

    fn read(repo: &Repo, name: &str, commit: ObjectId) -> Option<Self> {
        let bytes = repo.object(commit, Kind::Commit).ok()?;
        let parsed = CommitRef::from_bytes(&bytes, repo.gix().object_hash()).ok()?;
        let text = Reader::new(parsed.message).text("Shadow")?;
        let removed: Removed = serde_json::from_str(&text).ok()?;
        (removed.v == 1).then(|| Found {
            name: name.to_owned(),
            commit,
            tree: parsed.tree(),
            removed,
        })
    }

    /// The commit that HEAD was at.
    pub(super) fn head(&self) -> Option<ObjectId> {
        let hex = self.removed.head.as_ref()?;
        ObjectId::from_hex(hex.as_bytes()).ok()
    }
}
