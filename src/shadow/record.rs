//! What a removed shadow leaves: a commit under `refs/harness/trash/` whose tree is
//! everything that was in the folder, whose parents are HEAD and the index, and
//! whose message says how to put it back.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::{CommitRef, Kind};
use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::lane::Record as Checkpoint;
use crate::lane::index_state;
use crate::lane::trailer::{Reader, Writer};
use crate::shadow::guards::Survey;
use crate::shadow::process::now;
use crate::shadow::task::{Task, path_json, stored_path};
use crate::shadow::{headlog, trash};
use crate::snapshot::root::Root;
use crate::snapshot::scan::Skipped;

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
    /// Permission bits that no tree has.
    pub(super) modes: Vec<(serde_json::Value, u32)>,
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

/// Writes the commit and its ref; gives both.
///
/// # Errors
/// When something cannot be written; then there is no ref.
pub(super) fn put(
    repo: &Repo,
    task: &Task,
    survey: Survey,
    time: &str,
    folder: &Path,
) -> Result<Found> {
    let shadow = task.open()?;
    let root = Root::open(&task.path)?;
    let snapshot = survey.snapshot;
    let checkpoint = Checkpoint {
        skipped: snapshot.skipped.clone(),
        raw: snapshot.raw.clone(),
        ..Checkpoint::default()
    };
    let index = index_state::put(&shadow, &snapshot, &checkpoint, None)?;
    let log = headlog::keep(&shadow, &snapshot.sink, survey.head.commit)?;
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
        modes: snapshot
            .changes
            .iter()
            .filter_map(|(path, _)| Some((json(path), odd_mode(&root, path)?)))
            .collect(),
        raw: snapshot.raw.iter().map(json).collect(),
        skipped: snapshot
            .skipped
            .iter()
            .map(|Skipped { path, reason }| (json(path), reason.clone()))
            .collect(),
        folder: folder.to_owned(),
    };
    let mut message = Writer::new(&format!("removed shadow {}", task.task));
    let text = serde_json::to_string(&removed).context("cannot write a shadow as JSON")?;
    message.add("Shadow", text);
    let mut parents = Vec::new();
    parents.extend(survey.head.commit);
    parents.extend(index);
    parents.extend(log);
    parents.extend(other_heads(repo, &shadow, task));
    let mut bytes = format!("tree {}\n", snapshot.tree);
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
    let tree = snapshot.tree;
    let commit = snapshot
        .sink
        .put(shadow.gix(), Kind::Commit, bytes.into_bytes())?;
    let _written = snapshot.sink.finish()?;
    crate::state::crash::point();
    let name = format!("{TRASH}{}/{time}", task.slug);
    repo.create_ref(&name, commit, true)?;
    Ok(Found {
        name,
        commit,
        tree,
        removed,
    })
}

/// Permission bits other than those that git gives a file by itself.
fn odd_mode(root: &Root, path: &BString) -> Option<u32> {
    let found = root.join(path.as_bstr()).symlink_metadata().ok()?;
    let bits = found.permissions().mode() & 0o7777;
    (found.is_file() && bits != 0o644 && bits != 0o755).then_some(bits)
}

/// What an operation under way points at, and the branch where HEAD is detached.
fn other_heads(repo: &Repo, shadow: &Repo, task: &Task) -> Vec<ObjectId> {
    let files = [
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "ORIG_HEAD",
        "rebase-merge/orig-head",
        "rebase-merge/onto",
        "rebase-apply/orig-head",
        "rebase-apply/onto",
    ];
    let branch = task
        .branch
        .as_ref()
        .and_then(|branch| repo.find_ref(branch.as_str().into()).ok().flatten());
    files
        .iter()
        .filter_map(|file| std::fs::read(shadow.git_dir().join(file)).ok())
        .filter_map(|text| ObjectId::from_hex(text.trim_ascii()).ok())
        .chain(branch)
        .filter(|id| repo.has_object(*id))
        .collect()
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
