//! Empties the trash: deletes what the snapshot has, unlinks links and follows
//! none, and leaves the rest until it expires.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::Kind;

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::quote::path_of_json;
use crate::shadow::expire;
use crate::shadow::process::now;
use crate::shadow::task::Task;
use crate::shadow::trash::{Place, Waiting};
use crate::snapshot::fresh::Content;
use crate::state::lock;

/// Started by `remove` itself.
#[derive(Args)]
pub(super) struct Arguments {
    #[arg(value_name = "folder")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit> {
    // Another sweep that is at it does the same.
    let place = Place::at(&arguments.folder);
    let repository = place.read().map(|waiting| waiting.repository);
    sweep(&place, Duration::ZERO)?;
    if let Some(repository) = repository {
        let repo = Repo::at(&repository)?;
        expire::places(&repo, Duration::ZERO);
        expire::forget(&repo, &expire::due(&repo)?)?;
    }
    Ok(Exit::Done)
}

/// Sweeps one place.
///
/// # Errors
/// When its record or the repository cannot be read: then nothing is deleted.
pub(super) fn sweep(place: &Place, patience: Duration) -> Result<()> {
    let lock = place.folder.with_extension("lock");
    let Ok(_held) = lock::alone(&lock, Default::default(), patience) else {
        return Ok(());
    };
    let result = sweep_held(place);
    let _ = fs::remove_file(&lock);
    let _ = place.folder.parent().map(fs::remove_dir);
    result
}

fn sweep_held(place: &Place) -> Result<()> {
    let Some(waiting) = place.read() else {
        return Ok(());
    };
    let has_expired = waiting.expires <= now();
    if has_expired && !waiting.repository.exists() {
        return remove_place(place);
    }
    let repo = Repo::at(&waiting.repository)?;
    if is_being_filled(&repo, place)? {
        return Ok(());
    }
    if has_expired {
        return remove_place(place);
    }
    let tree = ObjectId::from_hex(waiting.tree.as_bytes()).context("the record has no tree")?;
    let files = Content::of(&repo, tree)?
        .lines
        .into_iter()
        .map(|line| (line.path, line.id))
        .collect();
    let paths = |all: &[serde_json::Value]| all.iter().filter_map(path_of_json).collect();
    let sweep = Sweep {
        root: place.tree(),
        files,
        disposable: paths(&waiting.disposable),
        stays: paths(&waiting.stays),
        waiting: &waiting,
        hash: repo.gix().object_hash(),
    };
    let is_empty = sweep.folder(BStr::new(b""), false);
    let modules = place.entry().join("modules").exists();
    let temporary = place.temporary().exists();
    if is_empty && !waiting.keep_entry && !modules && !temporary {
        let _ = fs::remove_dir(place.tree());
        remove_place(place)?;
    }
    Ok(())
}

fn remove_place(place: &Place) -> Result<()> {
    fs::remove_dir_all(&place.folder)
        .with_context(|| format!("cannot remove '{}'", place.folder.display()))
}

/// Whether a removal is at work that puts its shadow here, or was killed before it
/// had: then it is not empty, but not full yet.
fn is_being_filled(repo: &Repo, place: &Place) -> Result<bool> {
    let is_empty = !place.tree().exists() && !place.entry().exists();
    let is_named = Task::all(repo)?
        .iter()
        .any(|task| task.trash.as_ref().is_some_and(|at| at.0 == place.folder));
    Ok(is_named || is_empty && !place.is_old())
}

struct Sweep<'s> {
    root: PathBuf,
    /// What the snapshot has.
    files: HashMap<BString, ObjectId>,
    disposable: Vec<BString>,
    stays: Vec<BString>,
    waiting: &'s Waiting,
    hash: gix::hash::Kind,
}

impl Sweep<'_> {
    /// Empties the folder `path`; true when nothing is left in it.
    fn folder(&self, path: &BStr, is_disposable: bool) -> bool {
        let folder = self.root.join(path.to_path_lossy());
        let Ok(entries) = fs::read_dir(&folder) else {
            return !folder.exists();
        };
        let mut is_empty = true;
        for entry in entries.flatten() {
            let mut child = path.to_owned();
            if !child.is_empty() {
                child.push(b'/');
            }
            child.extend_from_slice(entry.file_name().as_bytes());
            is_empty &= self.one(&entry.path(), child, is_disposable);
        }
        is_empty && (path.is_empty() || fs::remove_dir(&folder).is_ok())
    }

    fn one(&self, on_disk: &Path, path: BString, is_disposable: bool) -> bool {
        if self.stays.contains(&path) {
            return false;
        }
        let is_disposable = is_disposable || self.disposable.contains(&path);
        let Ok(found) = on_disk.symlink_metadata() else {
            return true;
        };
        if found.is_dir() {
            let has_repository = on_disk.join(".git").symlink_metadata().is_ok();
            if has_repository {
                return false;
            }
            return self.folder(path.as_bstr(), is_disposable);
        }
        let is_pointer = path == ".git";
        let is_old = (found.ctime(), found.ctime_nsec()) < self.waiting.clock;
        let is_stored = match self.files.get(&path) {
            None => false,
            Some(_) if is_old => true,
            Some(id) => self.content(on_disk, found.is_symlink()) == Some(*id),
        };
        (is_pointer || is_disposable || is_stored) && fs::remove_file(on_disk).is_ok()
    }

    fn content(&self, path: &Path, is_link: bool) -> Option<ObjectId> {
        let bytes = match is_link {
            true => fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec(),
            false => fs::read(path).ok()?,
        };
        gix::objs::compute_hash(self.hash, Kind::Blob, &bytes).ok()
    }
}

/// What is left in a place: paths from its root, folders with a repository as one.
pub(super) fn left(place: &Place) -> Vec<BString> {
    let mut found = Vec::new();
    let mut open = vec![BString::default()];
    while let Some(folder) = open.pop() {
        let on_disk = place.tree().join(folder.to_path_lossy());
        for entry in fs::read_dir(on_disk).into_iter().flatten().flatten() {
            let mut path = folder.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(entry.file_name().as_bytes());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.path().join(".git").symlink_metadata().is_err() {
                open.push(path);
            } else if path != ".git" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
