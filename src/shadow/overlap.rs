//! What a shadow changes, and whether that would merge: computed on objects only.

use std::fs;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::quote::quoted;
use crate::shadow::describe::Standing;
use crate::shadow::task::Task;
use crate::snapshot::difference::Trees;
use crate::snapshot::glance::glance;
use crate::snapshot::root::bytes_of;
use crate::state::file::{self, Sharing};

/// The paths by which each shadow differs from its base, committed or not; sorted.
///
/// # Errors
/// When a tree cannot be read.
pub(super) fn touched(
    repo: &Repo,
    tasks: &[Task],
    standings: &[Standing],
) -> Result<Vec<Vec<BString>>> {
    let trees = Trees::new(repo, Default::default());
    let mut all = Vec::with_capacity(tasks.len());
    for (task, standing) in tasks.iter().zip(standings) {
        let mut paths = Vec::new();
        if let Some(head) = standing.head {
            let base = repo.tree_of(task.base_commit()?)?;
            let differences = trees.differences(base, repo.tree_of(head)?)?;
            paths.extend(differences.into_iter().map(|d| d.path));
            if let Ok(shadow) = task.open() {
                paths.extend(glance(&shadow)?.changed);
            }
        }
        paths.sort();
        paths.dedup();
        all.push(paths);
    }
    Ok(all)
}

/// The paths that would conflict in a merge into its target; `None` when there is no
/// target or nothing to merge.
///
/// # Errors
/// When the merge cannot be computed.
pub(super) fn conflicts(
    repo: &Repo,
    task: &Task,
    standing: &Standing,
) -> Result<Option<Vec<BString>>> {
    let (Some(into), Some(head)) = (&task.into, standing.head) else {
        return Ok(None);
    };
    let Some(target) = repo.find_ref(into.as_str().into())? else {
        return Ok(None);
    };
    Ok(match merge_tree(repo, target, head)? {
        Merged::Clean(_) => Some(Vec::new()),
        Merged::Conflict(paths) => Some(paths),
    })
}

/// What a merge would give.
pub(super) enum Merged {
    Clean(ObjectId),
    /// The paths that conflict.
    Conflict(Vec<BString>),
}

/// Merges `theirs` into `ours` without a worktree, and keeps nothing of it.
///
/// # Errors
/// When git cannot: no common history, a missing object.
pub(super) fn merge_tree(repo: &Repo, ours: ObjectId, theirs: ObjectId) -> Result<Merged> {
    let objects = tempfile::tempdir().context("cannot make a temporary folder")?;
    let info = objects.path().join("info");
    fs::create_dir(&info)?;
    let store = quoted(bytes_of(repo.objects_dir()).as_bstr());
    file::replace(
        &info.join("alternates"),
        format!("{store}\n").as_bytes(),
        Sharing::default(),
        false,
    )?;
    merge_with(
        merging(repo).env("GIT_OBJECT_DIRECTORY", objects.path()),
        ours,
        theirs,
    )
}

/// The same for good: the tree, when nothing conflicts, is in the repository.
///
/// # Errors
/// As [`merge_tree`], and when something conflicts after all.
pub(super) fn write_merge(repo: &Repo, ours: ObjectId, theirs: ObjectId) -> Result<ObjectId> {
    match merge_with(merging(repo), ours, theirs)? {
        Merged::Clean(tree) => Ok(tree),
        Merged::Conflict(_) => bail!("cannot merge: it conflicts now"),
    }
}

fn merging(repo: &Repo) -> Child {
    repo.git([
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
    ])
}

fn merge_with(child: Child, ours: ObjectId, theirs: ObjectId) -> Result<Merged> {
    let output = child
        .args([ours.to_string(), theirs.to_string()])
        .output()?;
    let mut fields = output.stdout.split(|b| *b == 0).filter(|f| !f.is_empty());
    let tree = fields
        .next()
        .and_then(|hex| ObjectId::from_hex(hex.trim_ascii()).ok());
    match (output.status.code(), tree) {
        (Some(0), Some(tree)) => Ok(Merged::Clean(tree)),
        (Some(1), Some(_)) => Ok(Merged::Conflict(
            fields.map(|path| path.as_bstr().to_owned()).collect(),
        )),
        _ => bail!("cannot merge: {}", output.stderr.trim_ascii().as_bstr()),
    }
}
