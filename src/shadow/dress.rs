//! Brings into a new shadow what git does not: named ignored files, dependencies.
//! Each path is in the manifest before it is on disk.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::objs::Kind;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::clone::Clone;
use crate::shadow::deps::{self, Fate};
use crate::shadow::ignored::Rules;
use crate::shadow::task::{How, LeftOut, Made, Task};
use crate::shadow::{exclude, include};
use crate::snapshot::root::bytes_of;

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
    for half in task.manifest.extract_if(.., |made| made.ino == 0) {
        remove(&task.path.join(&half.path))?;
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
                Fate::Comes(How::Linked) => link(repo, task, &source, path)?,
                Fate::Comes(how) => {
                    let (from, to) = (source.join(&path), shadow.join(&path));
                    announce(repo, task, path, how)?;
                    let cloner = Clone {
                        source: &source,
                        shadow: &shadow,
                    };
                    make_parent(&to)?;
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
    let source = task.source.clone();
    let (from, to) = (source.join(&path), task.path.join(&path));
    let Ok(found) = from.symlink_metadata() else {
        return Ok(());
    };
    if to.symlink_metadata().is_ok() || !(found.is_file() || found.is_symlink()) {
        return Ok(());
    }
    announce(repo, task, path, How::Copied)?;
    let id = put_copy(&from, &to, &source, &task.path)?;
    made(repo, task, id)
}

/// Copies `from` to `to`; gives the hash of the content, which is hashed as a blob.
fn put_copy(from: &Path, to: &Path, source: &Path, shadow: &Path) -> Result<Option<String>> {
    let context = || format!("cannot copy '{}'", from.display());
    make_parent(to)?;
    if from.symlink_metadata().with_context(context)?.is_symlink() {
        let target = fs::read_link(from).with_context(context)?;
        let target = match target.strip_prefix(source) {
            Ok(below) => shadow.join(below),
            Err(_) => target,
        };
        symlink(target, to).with_context(context)?;
        return Ok(None);
    }
    let found = fs::metadata(from).with_context(context)?;
    // Never wider than the source, not even for a moment.
    let mut options = File::options();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, found.mode() & 0o700);
    let mut target = options.open(to).with_context(context)?;
    std::io::copy(&mut File::open(from).with_context(context)?, &mut target)
        .with_context(context)?;
    target
        .set_permissions(found.permissions())
        .with_context(context)?;
    let times = FileTimes::new().set_modified(found.modified().with_context(context)?);
    target.set_times(times).with_context(context)?;
    hash_of(to).map(Some)
}

/// The hash of a file's content.
///
/// # Errors
/// When it cannot be read.
pub(super) fn hash_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read '{}'", path.display()))?;
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, &bytes)?;
    Ok(id.to_string())
}

fn link(repo: &Repo, task: &mut Task, source: &Path, path: PathBuf) -> Result<()> {
    let to = task.path.join(&path);
    let target = source.join(&path);
    let target = target.canonicalize().unwrap_or(target);
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
    make_parent(&to)?;
    symlink(&target, &to).with_context(|| format!("cannot make the link '{}'", to.display()))?;
    made(repo, task, None)
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
    let root = task.path.clone();
    if let Some(made) = task.manifest.last_mut() {
        let path = root.join(&made.path);
        let found = path
            .symlink_metadata()
            .with_context(|| format!("cannot find '{}'", path.display()))?;
        made.size = found.size();
        made.mtime = (
            found.mtime(),
            u32::try_from(found.mtime_nsec()).unwrap_or(0),
        );
        made.ino = found.ino();
        made.id = id;
    }
    task.store(repo)
}

impl Made {
    /// Whether it is still as we made it. Of a cloned folder only that it is there:
    /// what is in it is nobody's work.
    pub(super) fn is_untouched(&self, root: &Path) -> bool {
        let Ok(found) = root.join(&self.path).symlink_metadata() else {
            return false;
        };
        if self.how == How::Cloned {
            return found.is_dir();
        }
        found.ino() == self.ino
            && found.size() == self.size
            && (
                found.mtime(),
                u32::try_from(found.mtime_nsec()).unwrap_or(0),
            ) == self.mtime
    }
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).with_context(|| format!("cannot make '{}'", parent.display()))
}

/// Removes a file, a link (never what it leads to) or a folder that we made.
///
/// # Errors
/// When it is there and stays.
pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = match path.symlink_metadata() {
        Err(_) => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    removed.with_context(|| format!("cannot remove '{}'", path.display()))
}
