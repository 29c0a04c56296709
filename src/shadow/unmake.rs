//! Takes back what an `add` has half made: only what we made ourselves, each piece
//! proven. Anything else stays, and is named.

use std::fs;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;
use gix::objs::Kind;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::git::quote::quoted;
use crate::shadow::entry::{Entry, MAKING, is_same, pointer};
use crate::shadow::task::Task;
use crate::shadow::{absence, checkout, exclude, place, ports, remains};
use crate::snapshot::fresh::Content;
use crate::snapshot::root::{Root, bytes_of};
use crate::snapshot::stat::{FileKind, Stat};
use crate::ui::listed;

/// Unmakes the shadow `task`, which never became ready. The caller holds [`Task::lock`].
/// Whatever else stands at its path now stays, and so does a worktree of somebody.
///
/// # Errors
/// When something is in it that we did not make, or its disk may be absent: then
/// nothing is done. When something cannot be removed.
pub(super) fn unmake(repo: &Repo, task: &Task) -> Result<()> {
    absence::require_present(repo, task)?;
    let entry = own_entry(repo, task);
    let is_ours = is_ours(task, entry.as_ref());
    if is_ours {
        empty(repo, task)?;
    }
    if let Some(entry) = &entry {
        crate::state::crash::point();
        // An index says that its files were there: what it and HEAD know is kept.
        if !is_ours && entry.admin.join("index").exists() {
            remains::keep(repo, task, entry)?;
        } else {
            fs::remove_dir_all(&entry.admin)
                .with_context(|| format!("cannot remove '{}'", entry.admin.display()))?;
        }
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
        && !checkout::is_in_use(repo, branch)?
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

/// git's entry that this `add` made: by the name that was noted, or, before that, by
/// our own lock.
fn own_entry(repo: &Repo, task: &Task) -> Option<Entry> {
    let here = |entry: &Entry| entry.path.as_deref() == Some(&task.path);
    let named = |entry: &Entry| match &task.entry {
        Some(name) => *name == entry.name,
        None => entry.locked.as_deref() == Some(MAKING),
    };
    let mut entries = Entry::all(repo).into_iter();
    entries.find(|entry| here(entry) && named(entry))
}

/// Whether the folder at the path is the one that this `add` made, as far as it came:
/// no repository of its own, no other worktree.
fn is_ours(task: &Task, entry: Option<&Entry>) -> bool {
    if !task
        .path
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir())
    {
        return false;
    }
    let Ok(found) = task.path.join(".git").symlink_metadata() else {
        return true;
    };
    let admin = pointer(&task.path).filter(|_| found.is_file());
    admin.is_some_and(|admin| match entry {
        Some(entry) => is_same(&admin, &entry.admin) || !admin.exists(),
        None => !admin.exists(),
    })
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

/// Removes what a checkout of the base and the manifest put into the folder, then the
/// folder: when nothing else is in it.
fn empty(repo: &Repo, task: &Task) -> Result<()> {
    let root = Root::open(&task.path)?;
    let tree = match &task.restoring {
        Some(restoring) => id(&restoring.tree)?,
        None => repo.tree_of(task.base_commit()?)?,
    };
    let mut look = Look {
        repo,
        task,
        root: &root,
        content: Content::of(repo, tree)?,
        files: Vec::new(),
        folders: Vec::new(),
        foreign: Vec::new(),
    };
    look.folder(BStr::new(b""), false)?;
    if !look.foreign.is_empty() {
        return Err(hinted(
            format!(
                "'{}' has what 'git shadow add' did not make:\n{}",
                root.path().display(),
                listed(&look.foreign)
            ),
            "move it away, then run this again",
        ));
    }
    for path in &look.files {
        root.remove(path.as_bstr())
            .with_context(|| format!("cannot remove '{}'", root.join(path.as_bstr()).display()))?;
    }
    for folder in look.folders.iter().rev() {
        root.remove_empty(folder.as_bstr());
    }
    crate::state::crash::point();
    root.remove(BStr::new(b".git"))?;
    fs::remove_dir(root.path())
        .with_context(|| format!("cannot remove '{}'", root.path().display()))
}

/// A look at everything in the folder, which follows no link.
struct Look<'l> {
    repo: &'l Repo,
    task: &'l Task,
    root: &'l Root,
    content: Content,
    /// What is proven to be ours.
    files: Vec<BString>,
    /// Folders, parents first.
    folders: Vec<BString>,
    /// Everything else.
    foreign: Vec<String>,
}

impl Look<'_> {
    /// `is_clone`: it is in a folder that was cloned, whose files are nobody's work.
    fn folder(&mut self, path: &BStr, is_clone: bool) -> Result<()> {
        for name in self.root.names(path)? {
            let mut child = path.to_owned();
            if !child.is_empty() {
                child.push(b'/');
            }
            child.extend_from_slice(&name);
            if child == ".git" {
                continue;
            }
            let Some(stat) = self.root.stat(child.as_bstr())? else {
                continue;
            };
            let made = self
                .task
                .manifest
                .iter()
                .find(|m| bytes_of(&m.path) == child);
            let is_made = made.is_some_and(|m| m.is_untouched(self.root, &self.task.source));
            if stat.kind == FileKind::Folder && name != ".git" {
                self.folders.push(child.clone());
                self.folder(child.as_bstr(), is_clone || is_made)?;
            } else if name != ".git"
                && (is_clone || is_made || is_probe(&child) || self.is_written(&child, stat)?)
            {
                self.files.push(child);
            } else {
                self.foreign.push(quoted(child.as_bstr()));
            }
        }
        Ok(())
    }

    /// Whether the file is of the tree. A checkout that was killed leaves one cut
    /// short: the beginning of a blob.
    fn is_written(&self, path: &BString, stat: Stat) -> Result<bool> {
        let lines = &self.content.lines;
        let Ok(at) = lines.binary_search_by(|line| line.path.cmp(path)) else {
            return Ok(false);
        };
        let line = &lines[at];
        let content = match stat.kind {
            FileKind::Link if line.mode == Mode::SYMLINK => {
                self.root.read_link(path.as_bstr())?.into()
            }
            FileKind::File { .. } if line.mode != Mode::COMMIT => {
                self.root.read_file(path.as_bstr(), stat.size)?
            }
            _ => return Ok(false),
        };
        let blob = self.repo.object(line.id, Kind::Blob)?;
        Ok(blob.starts_with(&content))
    }
}

/// The file with which we try whether the disk clones.
fn is_probe(path: &BString) -> bool {
    path.starts_with(b".git-harness-") && path.ends_with(b"~")
}
