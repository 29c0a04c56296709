//! Private files: 0600 in folders of 0700 (wider only when the repository is
//! shared), always written beside and renamed.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::error::{Context, Error, Result, hinted};

/// Who may use our files besides their owner; git's `core.sharedRepository`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sharing {
    /// Permission bits added to the private ones, for files; folders get the
    /// matching search bits.
    extra: u32,
}

impl Sharing {
    /// Reads a value of `core.sharedRepository` (git-config(1)).
    pub fn parse(value: Option<&str>) -> Self {
        let extra = match value {
            Some("group" | "true" | "1" | "yes" | "on") => 0o060,
            Some("all" | "world" | "everybody" | "2") => 0o064,
            Some(octal) if octal.starts_with('0') => {
                u32::from_str_radix(octal, 8).unwrap_or(0) & 0o066
            }
            _ => 0,
        };
        Sharing { extra }
    }

    /// The permission bits of a file.
    pub fn file_bits(self) -> u32 {
        self.file_mode()
    }

    pub(super) fn file_mode(self) -> u32 {
        0o600 | self.extra
    }

    /// Gives the new file or folder at `path` its bits in a shared repository, where
    /// the umask does not count. A private one has them by its creation.
    pub(super) fn settle(self, path: &Path, mode: u32) -> io::Result<()> {
        if self.extra == 0 {
            return Ok(());
        }
        // The set-group-id bit came from the folder above, and must go on.
        let inherited = path.metadata()?.permissions().mode() & 0o2000;
        fs::set_permissions(path, fs::Permissions::from_mode(mode | inherited))
    }

    fn folder_mode(self) -> u32 {
        0o700 | self.extra | (self.extra & 0o044) >> 2
    }
}

/// Makes `folder` and what leads to it, private.
///
/// # Errors
/// When it cannot be made; names `chown` when it belongs to someone else.
pub fn make_folder(folder: &Path, sharing: Sharing) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_folder(parent, sharing)?;
    }
    let made = DirBuilder::new().mode(sharing.folder_mode()).create(folder);
    match made.and_then(|()| sharing.settle(folder, sharing.folder_mode())) {
        // Another process was quicker.
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made
            .map_err(|e| explain(e, folder))
            .with_context(|| format!("cannot make the folder '{}'", folder.display())),
    }
}

/// The content of `path`, or `None` when there is no such file.
///
/// # Errors
/// When it exists and cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => {
            Err(explain(e, path)).with_context(|| format!("cannot read '{}'", path.display()))
        }
    }
}

/// A file beside `path` that becomes `path` when it is complete.
pub struct Replacement {
    beside: NamedTempFile,
}

impl Replacement {
    /// Opens the file beside `path`, making the folder when it is missing.
    ///
    /// # Errors
    /// When folder or file cannot be made.
    pub fn of(path: &Path, sharing: Sharing) -> Result<Self> {
        let folder = path
            .parent()
            .with_context(|| format!("'{}' has no folder", path.display()))?;
        make_folder(folder, sharing)?;
        let beside = tempfile::Builder::new()
            .prefix(".tmp-")
            .permissions(fs::Permissions::from_mode(sharing.file_mode()))
            .tempfile_in(folder)
            .map_err(|e| explain(e, folder))
            .with_context(|| format!("cannot write in '{}'", folder.display()))?;
        sharing
            .settle(beside.path(), sharing.file_mode())
            .with_context(|| format!("cannot write in '{}'", folder.display()))?;
        Ok(Replacement { beside })
    }

    /// The open file.
    pub fn file(&mut self) -> &mut File {
        self.beside.as_file_mut()
    }

    /// Puts the file in the place of `path`; `synced` makes its bytes durable first.
    ///
    /// # Errors
    /// When it cannot be synced or renamed.
    pub fn publish(self, path: &Path, synced: bool) -> Result<()> {
        if synced {
            self.beside
                .as_file()
                .sync_all()
                .with_context(|| format!("cannot sync '{}'", path.display()))?;
        }
        self.beside
            .persist(path)
            .map_err(|e| e.error)
            .with_context(|| format!("cannot replace '{}'", path.display()))?;
        Ok(())
    }
}

/// Replaces the content of `path`, all or nothing.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, bytes: &[u8], sharing: Sharing, synced: bool) -> Result<()> {
    let mut replacement = Replacement::of(path, sharing)?;
    replacement
        .file()
        .write_all(bytes)
        .with_context(|| format!("cannot write '{}'", path.display()))?;
    replacement.publish(path, synced)
}

/// Whether `path` is what a process has left that died before it was done with it:
/// nobody takes a day for that.
pub fn is_abandoned(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .and_then(|found| found.modified())
        .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > DAY))
}

const DAY: Duration = Duration::from_secs(86_400);

/// Removes `path`; it is fine when it is not there.
///
/// # Errors
/// When it is there and stays.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => {
            Err(explain(e, path)).with_context(|| format!("cannot remove '{}'", path.display()))
        }
    }
}

/// A refusal by permissions names the owner and the remedy (a container that
/// ran as root leaves folders behind that nobody else can write).
pub fn explain(error: io::Error, path: &Path) -> Error {
    if error.kind() != ErrorKind::PermissionDenied {
        return error.into();
    }
    let me = rustix::process::geteuid().as_raw();
    let foreign = path
        .ancestors()
        .find_map(|p| fs::metadata(p).ok().map(|found| (p, found.uid())));
    match foreign {
        Some((folder, owner)) if owner != me => hinted(
            format!("'{}' belongs to user {owner}", folder.display()),
            format!("run 'sudo chown -R {me} {}'", folder.display()),
        ),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_follows_git() {
        assert_eq!(Sharing::parse(None).file_mode(), 0o600);
        assert_eq!(Sharing::parse(Some("group")).file_mode(), 0o660);
        assert_eq!(Sharing::parse(Some("group")).folder_mode(), 0o770);
        assert_eq!(Sharing::parse(Some("all")).folder_mode(), 0o775);
        assert_eq!(Sharing::parse(Some("0640")).file_mode(), 0o640);
        assert_eq!(Sharing::parse(Some("umask")).file_mode(), 0o600);
    }

    #[test]
    fn a_replacement_that_is_dropped_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("f");
        replace(&path, b"old", Sharing::default(), false).expect("written");
        let mut half = Replacement::of(&path, Sharing::default()).expect("opened");
        half.file().write_all(b"ne").expect("written");
        drop(half);
        assert_eq!(read(&path).expect("readable"), Some(b"old".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}
