//! Copy-on-write clones of folders, where the file system has them (btrfs, XFS,
//! APFS): as quick as a content, and nobody's install spoils the other.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::{Context, Result};

/// From where to where, and the roots that absolute links are moved between.
pub(super) struct Clone<'c> {
    pub(super) source: &'c Path,
    pub(super) shadow: &'c Path,
}

impl Clone<'_> {
    /// Whether files of the folder `from` can be cloned into the shadow.
    pub(super) fn is_possible(&self, from: &Path) -> bool {
        let Some(sample) = first_file(from, 0) else {
            return true;
        };
        let probe = tempfile::Builder::new()
            .prefix(".git-harness-")
            .suffix("~")
            .tempfile_in(self.shadow);
        let (Ok(source), Ok(probe)) = (File::open(sample), probe) else {
            return false;
        };
        clone_into(&source, probe.as_file())
    }

    /// Clones the folder `from` to `to`, which must not exist: modes, times and
    /// links as they are; a repository inside is left out.
    ///
    /// # Errors
    /// When a file cannot be read, cloned or made.
    pub(super) fn folder(&self, from: &Path, to: &Path) -> Result<()> {
        let context = || format!("cannot clone '{}'", from.display());
        fs::create_dir(to).with_context(context)?;
        let entries: Vec<_> = fs::read_dir(from)
            .with_context(context)?
            .collect::<std::io::Result<_>>()
            .with_context(context)?;
        entries.par_iter().try_for_each(|entry| {
            if entry.file_name() == ".git" {
                return Ok(());
            }
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.folder(&from, &to)
            } else if kind.is_symlink() {
                let target = fs::read_link(&from)?;
                symlink(self.moved(&target), &to)
                    .with_context(|| format!("cannot make '{}'", to.display()))
            } else if kind.is_file() {
                clone_file(&from, &to).with_context(|| format!("cannot clone '{}'", from.display()))
            } else {
                Ok(())
            }
        })?;
        let found = fs::metadata(from).with_context(context)?;
        fs::set_permissions(to, found.permissions()).with_context(context)?;
        let times = FileTimes::new().set_modified(found.modified().with_context(context)?);
        File::open(to)
            .and_then(|folder| folder.set_times(times))
            .with_context(context)
    }

    /// An absolute link into the developer's checkout leads into the shadow instead.
    fn moved(&self, target: &Path) -> PathBuf {
        match target.strip_prefix(self.source) {
            Ok(below) => self.shadow.join(below),
            Err(_) => target.to_owned(),
        }
    }
}

fn clone_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let source = File::open(from)?;
    let found = source.metadata()?;
    let target = File::options().write(true).create_new(true).open(to)?;
    if !clone_into(&source, &target) {
        return Err(std::io::Error::other("the file system does not clone it"));
    }
    target.set_permissions(fs::Permissions::from_mode(
        found.permissions().mode() & 0o7777,
    ))?;
    target.set_times(FileTimes::new().set_modified(found.modified()?))
}

#[cfg(target_os = "linux")]
fn clone_into(source: &File, target: &File) -> bool {
    rustix::fs::ioctl_ficlone(target, source).is_ok()
}

/// APFS clones by `fcopyfile` and `clonefile` alone, of which std's copy is the first.
#[cfg(not(target_os = "linux"))]
fn clone_into(_source: &File, _target: &File) -> bool {
    false
}

/// Some file in `folder`, not far down.
fn first_file(folder: &Path, depth: usize) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_file() => return Some(entry.path()),
            Ok(kind) if kind.is_dir() && depth < 8 => folders.push(entry.path()),
            _ => {}
        }
    }
    folders.iter().find_map(|f| first_file(f, depth + 1))
}
