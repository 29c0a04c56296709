//! Paths below the worktree's root, reached without ever following a link: a
//! parent that was swapped for a link must not lead us out of the tree.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Context, Result};
use crate::snapshot::stat::{FileKind, Stat};

/// The open root of a worktree.
pub struct Root {
    folder: OwnedFd,
    path: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Root {
    /// Opens the folder `path`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = rustix::fs::open(path, FOLDER, Mode::empty())
            .with_context(|| format!("cannot open '{}'", path.display()))?;
        Ok(Root {
            folder,
            path: path.to_owned(),
        })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its open folder.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// The folder that holds `path`, and the last name of it.
    ///
    /// # Errors
    /// When a parent is missing (`NOENT`), no folder (`NOTDIR`) or a link (`LOOP`).
    pub fn parent<'p>(&self, path: &'p BStr) -> Result<(OwnedFd, &'p BStr), Errno> {
        let (folders, name) = match path.rfind_byte(b'/') {
            Some(slash) => (path[..slash].as_bstr(), path[slash + 1..].as_bstr()),
            None => (b"".as_bstr(), path),
        };
        let mut folder = rustix::io::fcntl_dupfd_cloexec(&self.folder, 0)?;
        for component in folders.split(|b| *b == b'/').filter(|c| !c.is_empty()) {
            folder = open_folder(folder.as_fd(), component)?;
        }
        Ok((folder, name))
    }

    /// What is at `path`; `None` when there is nothing that can be reached
    /// without a link.
    ///
    /// # Errors
    /// On anything but absence.
    pub fn stat(&self, path: &BStr) -> Result<Option<Stat>, Errno> {
        let found = self
            .parent(path)
            .and_then(|(folder, name)| stat_at(folder.as_fd(), name));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(e) if is_absent(e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Opens the regular file at `path` for reading.
    ///
    /// # Errors
    /// When it is missing, unreadable, or a link.
    pub fn open_file(&self, path: &BStr) -> Result<File, Errno> {
        let (folder, name) = self.parent(path)?;
        let opened = rustix::fs::openat(
            folder,
            name.as_bytes(),
            // NONBLOCK: a FIFO that took the file's place must not hang us.
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(File::from(opened))
    }

    /// The whole content of the regular file at `path`.
    ///
    /// # Errors
    /// As [`Root::open_file`], or when reading fails.
    pub fn read_file(&self, path: &BStr, size_hint: u64) -> io::Result<Vec<u8>> {
        let mut file = self.open_file(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size_hint).unwrap_or(0) + 1);
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The target of the link at `path`.
    ///
    /// # Errors
    /// When there is no link.
    pub fn read_link(&self, path: &BStr) -> Result<BString, Errno> {
        let (folder, name) = self.parent(path)?;
        let target = rustix::fs::readlinkat(folder, name.as_bytes(), Vec::new())?;
        Ok(BString::from(target.into_bytes()))
    }

    /// The folder that is to hold `path`, made where it is missing, and the last name.
    ///
    /// # Errors
    /// When a parent is no folder (`NOTDIR`) or a link (`NOTDIR` or `LOOP`).
    pub fn make_parent<'p>(&self, path: &'p BStr) -> Result<(OwnedFd, &'p BStr), Errno> {
        let (folders, name) = match path.rfind_byte(b'/') {
            Some(slash) => (path[..slash].as_bstr(), path[slash + 1..].as_bstr()),
            None => (b"".as_bstr(), path),
        };
        let mut folder = rustix::io::fcntl_dupfd_cloexec(&self.folder, 0)?;
        for component in folders.split(|b| *b == b'/').filter(|c| !c.is_empty()) {
            match rustix::fs::mkdirat(&folder, component, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e),
            }
            folder = open_folder(folder.as_fd(), component)?;
        }
        Ok((folder, name))
    }

    /// Removes what is at `path`: a file, a link (never what it leads to), or a
    /// folder with all in it. What cannot be reached without a link is not there.
    ///
    /// # Errors
    /// When it is there and stays.
    pub fn remove(&self, path: &BStr) -> Result<(), Errno> {
        let removed = self
            .parent(path)
            .and_then(|(folder, name)| remove_at(folder.as_fd(), name));
        match removed {
            Err(e) if is_absent(e) => Ok(()),
            outcome => outcome,
        }
    }

    /// Removes the folder at `path` if nothing is in it.
    pub fn remove_empty(&self, path: &BStr) {
        if let Ok((folder, name)) = self.parent(path) {
            let _ = rustix::fs::unlinkat(folder, name.as_bytes(), AtFlags::REMOVEDIR);
        }
    }

    /// The names in the folder at `path` (empty: the root), sorted; none where there is
    /// no folder that can be reached without a link.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn names(&self, path: &BStr) -> Result<Vec<BString>, Errno> {
        let opened = match path.is_empty() {
            true => rustix::io::fcntl_dupfd_cloexec(&self.folder, 0),
            false => self
                .parent(path)
                .and_then(|(folder, name)| open_folder(folder.as_fd(), name)),
        };
        match opened {
            Ok(folder) => names_in(folder.as_fd()),
            Err(e) if is_absent(e) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// `path` as the file system takes it, absolute.
    pub fn join(&self, path: &BStr) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }
}

/// Opens the folder `name` in `folder`, unless it is a link.
pub(super) fn open_folder(folder: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, FOLDER, Mode::empty())
}

fn names_in(folder: BorrowedFd<'_>) -> Result<Vec<BString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = BString::from(entry?.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn remove_at(folder: BorrowedFd<'_>, name: &BStr) -> Result<(), Errno> {
    if stat_at(folder, name)?.kind != FileKind::Folder {
        return rustix::fs::unlinkat(folder, name.as_bytes(), AtFlags::empty());
    }
    let inner = open_folder(folder, name)?;
    for child in names_in(inner.as_fd())? {
        match remove_at(inner.as_fd(), child.as_bstr()) {
            Err(Errno::NOENT) => {}
            outcome => outcome?,
        }
    }
    rustix::fs::unlinkat(folder, name.as_bytes(), AtFlags::REMOVEDIR)
}

/// What `name` in `folder` is, itself and not what it points at.
pub(super) fn stat_at(folder: BorrowedFd<'_>, name: &BStr) -> Result<Stat, Errno> {
    rustix::fs::statat(folder, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).map(|raw| Stat::of(&raw))
}

/// Whether an error means that a path is not there: it, or a folder on the way,
/// is missing, is no folder, or is a link.
pub fn is_absent(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// A path from the operating system as git's bytes.
pub fn bytes_of(path: impl Into<PathBuf>) -> BString {
    BString::from(path.into().into_os_string().into_vec())
}
