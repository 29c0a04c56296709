//! Brings into a new shadow what git does not: named ignored files, dependencies.
//! Each path is in the manifest before it is on disk.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};
use gix::objs::Kind;
use rustix::fs::{Mode, OFlags, openat, symlinkat};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::clone::Clone;
use crate::shadow::deps::{self, Fate};
use crate::shadow::ignored::Rules;
use crate::shadow::task::{How, LeftOut, Made, Task, shown};
use crate::shadow::{exclude, include};
use crate::snapshot::root::{Root, bytes_of, is_absent};

/// What is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) deps: bool,
    pub(super) copies: bool,
}

/// Brings everything; what an `add` that was killed has half made is made anew.
///
/// # Errors
/// When something cannot be copied, cloned or linked.
pub(super) fn dress(repo: &Repo, task: &mut Task, wanted: Wanted) -> Result<()> {
    let source = task.source.clone();
    if !source.is_dir() || repo.worktree().is_none() {
        return Ok(());
    }
    let root = Root::open(&task.path)?;
    for half in task.manifest.extract_if(.., |made| made.ino == 0) {
        if half.is_untouched(&root, &source) {
            remove(&root, &half.path)?;
        }
    }
    if wanted.copies {
        let known = |path: &PathBuf| task.manifest.iter().any(|m| m.path == *path);
        let files: Vec<PathBuf> = include::files(repo, &source)?
            .into_iter()
            .filter(|path| !known(path))
            .collect();
        for path in files {
            copy(repo, task, path)?;
        }
    }
    if wanted.deps {
        let shadow = task.path.clone();
        for (path, fate) in deps::plan(repo, &source, &shadow)? {
            match fate {
                Fate::LeftOut(reason) => {
                    let left = LeftOut { path, reason };
                    if !task.left_out.contains(&left) {
                        task.left_out.push(left);
                    }
                }
                Fate::Comes(How::Linked) => link(repo, task, &root, path)?,
                Fate::Comes(how) => {
                    if !can_reach(&root, task, &path)? {
                        continue;
                    }
                    let (from, to) = (source.join(&path), shadow.join(&path));
                    announce(repo, task, path, how)?;
                    let cloner = Clone {
                        source: &source,
                        shadow: &shadow,
                    };
                    cloner.folder(&from, &to)?;
                    made(repo, task, None)?;
                }
            }
        }
    }
    Ok(())
}

/// Copies one file, with its mode and time; a link stays a link. A file that the
/// branch has itself is left as it is.
///
/// # Errors
/// When it cannot be read or written.
pub(super) fn copy(repo: &Repo, task: &mut Task, path: PathBuf) -> Result<()> {
    let from = task.source.join(&path);
    let root = Root::open(&task.path)?;
    let Ok(found) = from.symlink_metadata() else {
        return Ok(());
    };
    let is_there = root.stat(bytes_of(&path).as_bstr())?.is_some();
    let is_known = task.left_out.iter().any(|left| left.path == path);
    if is_there || is_known || !(found.is_file() || found.is_symlink()) {
        return Ok(());
    }
    if !can_reach(&root, task, &path)? {
        return Ok(());
    }
    announce(repo, task, path.clone(), How::Copied)?;
    let id = put_copy(&from, &root, bytes_of(&path).as_bstr(), &task.source)?;
    made(repo, task, id)
}

/// Makes the folders above `path` in the shadow. Where the branch has a link or a
/// file there, the path is left out: nothing is ever written through a link.
fn can_reach(root: &Root, task: &mut Task, path: &Path) -> Result<bool> {
    match root.make_parent(bytes_of(path).as_bstr()) {
        Ok(_) => Ok(true),
        Err(e) if is_absent(e) => {
            let left = LeftOut {
                path: path.to_owned(),
                reason: "a link or a file of the branch is where its folder would be".to_owned(),
            };
            if !task.left_out.contains(&left) {
                task.left_out.push(left);
            }
            Ok(false)
        }
        Err(e) => Err(e).with_context(|| format!("cannot make the folder of '{}'", shown(path))),
    }
}

/// Copies `from` to `path`; gives the hash of the content, which is hashed as a blob.
fn put_copy(from: &Path, root: &Root, path: &BStr, source: &Path) -> Result<Option<String>> {
    let context = || format!("cannot copy '{}'", from.display());
    let (folder, name) = root.make_parent(path).with_context(context)?;
    if from.symlink_metadata().with_context(context)?.is_symlink() {
        let target = fs::read_link(from).with_context(context)?;
        let target = match target.strip_prefix(source) {
            Ok(below) => root.path().join(below),
            Err(_) => target,
        };
        symlinkat(&target, &folder, name.as_bytes()).with_context(context)?;
        return Ok(None);
    }
    let mut from = File::open(from).with_context(context)?;
    let found = from.metadata().with_context(context)?;
    // Never wider than the source, not even for a moment.
    let mode = Mode::from_bits_truncate(found.mode() & 0o700);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&folder, name.as_bytes(), flags, mode).with_context(context)?;
    let mut target = File::from(opened);
    std::io::copy(&mut from, &mut target).with_context(context)?;
    target
        .set_permissions(found.permissions())
        .with_context(context)?;
    let times = FileTimes::new().set_modified(found.modified().with_context(context)?);
    target.set_times(times).with_context(context)?;
    let bytes = root.read_file(path, found.len()).with_context(context)?;
    hash(&bytes).map(Some)
}

/// The hash of a file's content.
///
/// # Errors
/// When it cannot be read.
pub(super) fn hash_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read '{}'", path.display()))?;
    hash(&bytes)
}

/// The hash of `bytes` as a blob.
///
/// # Errors
/// None for what fits into memory.
pub(super) fn hash(bytes: &[u8]) -> Result<String> {
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, bytes)?;
    Ok(id.to_string())
}

fn link(repo: &Repo, task: &mut Task, root: &Root, path: PathBuf) -> Result<()> {
    if !can_reach(root, task, &path)? {
        return Ok(());
    }
    let target = link_target(&task.source, &path);
    let shadow = task.open()?;
    let bytes = bytes_of(&path);
    // `node_modules/` in .gitignore means a folder and not our link.
    let shown = !Rules::of(&shadow)?.is_ignored(bytes.as_bstr(), false);
    {
        let _lock = Task::lock(repo)?;
        let line = exclude::line(bytes.as_bstr());
        // Hidden by another shadow's line, it needs that line itself when that one goes.
        let others = Task::all(repo)?;
        let needed = |line: &String| shown || others.iter().any(|t| t.excluded.contains(line));
        task.excluded.extend(line.filter(needed));
        announce(repo, task, path, How::Linked)?;
        exclude::sync(repo, None)?;
    }
    let context = || {
        format!(
            "cannot make the link '{}'",
            root.join(bytes.as_bstr()).display()
        )
    };
    let (folder, name) = root.make_parent(bytes.as_bstr()).with_context(context)?;
    symlinkat(&target, &folder, name.as_bytes()).with_context(context)?;
    made(repo, task, None)
}

/// Where the link at `path` leads: the developer's own folder.
pub(super) fn link_target(source: &Path, path: &Path) -> PathBuf {
    let target = source.join(path);
    target.canonicalize().unwrap_or(target)
}

/// Writes down what is about to be made.
fn announce(repo: &Repo, task: &mut Task, path: PathBuf, how: How) -> Result<()> {
    task.manifest.push(Made {
        path,
        how,
        size: 0,
        mtime: (0, 0),
        ino: 0,
        id: None,
    });
    task.store(repo)?;
    crate::state::crash::point();
    Ok(())
}

/// Writes down what it has become.
fn made(repo: &Repo, task: &mut Task, id: Option<String>) -> Result<()> {
    let root = Root::open(&task.path)?;
    if let Some(made) = task.manifest.last_mut() {
        let stat = root
            .stat(bytes_of(&made.path).as_bstr())?
            .with_context(|| format!("'{}' was taken away", shown(&made.path)))?;
        made.size = stat.size;
        made.mtime = stat.mtime;
        made.ino = stat.ino;
        made.id = id;
    }
    task.store(repo)
}

/// Removes a file, a link (never what it leads to) or a folder that we made.
///
/// # Errors
/// When it is there and stays.
pub(super) fn remove(root: &Root, path: &Path) -> Result<()> {
    root.remove(bytes_of(path).as_bstr())
        .with_context(|| format!("cannot remove '{}'", root.path().join(path).display()))
}
