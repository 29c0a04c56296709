//! Takes back what an `add` has half made: only what we made ourselves, each piece
//! proven. Anything else stays, and is named.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::index::entry::Mode;
use gix::objs::Kind;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::shadow::dress;
use crate::shadow::entry::Entry;
use crate::shadow::task::Task;
use crate::shadow::{exclude, place, ports};
use crate::snapshot::fresh::Content;

/// Unmakes the shadow `task`, which never became ready. The caller holds [`Task::lock`].
///
/// # Errors
/// When something is there that we did not make, or that cannot be removed.
pub(super) fn unmake(repo: &Repo, task: &Task) -> Result<()> {
    let entry = Entry::all(repo)
        .into_iter()
        .find(|e| e.path.as_deref() == Some(&task.path) || Some(&e.name) == task.entry.as_ref());
    if task.path.symlink_metadata().is_ok() {
        empty(repo, task)?;
    }
    if let Some(entry) = &entry
        && entry.path.as_deref() == Some(&task.path)
    {
        crate::state::crash::point();
        fs::remove_dir_all(&entry.admin)
            .with_context(|| format!("cannot remove '{}'", entry.admin.display()))?;
        // As git does with the last one.
        let _ = fs::remove_dir(repo.common_dir().join("worktrees"));
    }
    let (makes_branch, tip) = match &task.restoring {
        Some(restoring) => (restoring.makes_branch, id(&restoring.tip)?),
        None => (task.made_branch, task.base_commit()?),
    };
    if makes_branch
        && let Some(branch) = &task.branch
        && repo.find_ref(branch.as_str().into())? == Some(tip)
    {
        crate::state::crash::point();
        delete_branch(repo, branch, tip)?;
    }
    task.forget(repo)?;
    exclude::sync(repo, None)?;
    ports::release(repo, &task.slug)?;
    place::tidy(&task.path);
    Ok(())
}

fn id(hex: &str) -> Result<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).context("a shadow's record has no object id")
}

/// Deletes `branch` (in full) with its configuration, if it is still at `tip`.
///
/// # Errors
/// When it has moved, or git refuses.
pub(super) fn delete_branch(repo: &Repo, branch: &str, tip: ObjectId) -> Result<()> {
    repo.git_unhooked(["update-ref", "-d", branch])
        .arg(tip.to_string())
        .stdout()?;
    Ok(())
}

/// Removes from the folder what a checkout of the base and the manifest put there,
/// then the folder, if nothing is left in it.
fn empty(repo: &Repo, task: &Task) -> Result<()> {
    let root = &task.path;
    for made in &task.manifest {
        dress::remove(&root.join(&made.path))?;
    }
    let tree = match &task.restoring {
        Some(restoring) => id(&restoring.tree)?,
        None => repo.tree_of(task.base_commit()?)?,
    };
    let content = Content::of(repo, tree)?;
    for line in &content.lines {
        let path = root.join(line.path.to_path_lossy());
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if line.mode == Mode::COMMIT {
            let _ = fs::remove_dir(&path);
            continue;
        }
        let content = match found.is_symlink() {
            true => fs::read_link(&path).map(|target| target.as_os_str().as_bytes().to_vec()),
            false => fs::read(&path),
        };
        let Ok(content) = content else { continue };
        // A checkout that was killed leaves a file cut short: the beginning of a blob.
        let is_ours = if line.mode == Mode::SYMLINK || found.is_file() {
            repo.object(line.id, Kind::Blob)?.starts_with(&content)
        } else {
            false
        };
        if is_ours {
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove '{}'", path.display()))?;
        }
    }
    for folder in content.folders.iter().rev() {
        let _ = fs::remove_dir(root.join(folder.to_path_lossy()));
    }
    let left = foreign_files(root);
    if !left.is_empty() {
        return Err(hinted(
            format!(
                "'{}' has files that 'git shadow add' did not make: {}",
                root.display(),
                left.join(", ")
            ),
            "move them away, then run this again",
        ));
    }
    crate::state::crash::point();
    let _ = fs::remove_file(root.join(".git"));
    fs::remove_dir(root).with_context(|| format!("cannot remove '{}'", root.display()))
}

fn foreign_files(root: &Path) -> Vec<String> {
    fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.file_name() != ".git")
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}
