//! Folders that need not be read again: each held what the index has in it and
//! nothing else, and no name has come or gone since. A file system that keeps its
//! promises changes a folder's times with every name in it (POSIX, `rename`,
//! `unlink`, `open`), and nobody can set its ctime; Mercurial's dirstate and git's
//! untracked cache rest on the same.

use std::hash::{DefaultHasher, Hasher};
use std::os::fd::{AsFd, BorrowedFd};

use crate::snapshot::root::Root;
use crate::snapshot::stat::Stat;

/// A folder with nothing but tracked names, as it was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Inode number, on the device of the worktree's root.
    pub ino: u64,
    /// When its names last changed: seconds and nanoseconds since the epoch.
    pub mtime: (i64, u32),
    /// When anything of it last changed, likewise.
    pub ctime: (i64, u32),
    /// A hash of its path and names.
    pub names: u64,
}

impl Listed {
    /// Whether every later change of its names will show in its times, when it was
    /// read after `moment` of the file system's clock.
    pub(super) fn is_settled(&self, moment: (i64, u32)) -> bool {
        [self.mtime, self.ctime].into_iter().all(|time| match time {
            // It may be one that knows whole seconds only.
            (seconds, 0) => seconds < moment.0,
            time => time < moment,
        })
    }
}

/// The hash of a folder's path and of the names that the index has in it, in its order.
pub(super) struct Hashing(DefaultHasher);

impl Hashing {
    /// Of no names yet in the folder `path`: overlayfs may give an inode number to another
    /// folder when it is mounted anew.
    pub(super) fn of(path: &[u8]) -> Self {
        let mut hashing = Hashing(DefaultHasher::new());
        hashing.add(path, true);
        hashing
    }

    /// Adds the name of a folder, or of anything else.
    pub(super) fn add(&mut self, name: &[u8], is_folder: bool) {
        self.0.write(name);
        // What no name has in it.
        self.0.write_u8(if is_folder { b'/' } else { 0 });
    }

    /// The hash of all.
    pub(super) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// What is known of the folders of one worktree.
pub struct Folders<'f> {
    device: Option<u64>,
    known: &'f [Listed],
}

impl<'f> Folders<'f> {
    /// `known` (sorted) is of an earlier walk below `root`.
    pub fn of(root: &Root, known: &'f [Listed]) -> Self {
        Folders {
            device: trusted_device(root),
            known,
        }
    }

    /// The open `folder` with this hash of its `names`, as it is now. `None` where the file system
    /// is not known to keep the times of its folders.
    pub(super) fn look(&self, folder: BorrowedFd<'_>, names: u64) -> Option<Listed> {
        let device = self.device?;
        let raw = rustix::fs::fstat(folder).ok()?;
        let stat = Stat::of(&raw);
        (raw.st_dev as u64 == device).then_some(Listed {
            ino: stat.ino,
            mtime: stat.mtime,
            ctime: stat.ctime,
            names,
        })
    }

    /// Whether this is a folder as it was when it was read.
    pub(super) fn is_known(&self, folder: &Listed) -> bool {
        self.known.binary_search(folder).is_ok()
    }
}

/// The device of `root`, if its file system is one of Linux's own; one across a
/// network or from another system may keep the times of folders late or not at all.
#[cfg(target_os = "linux")]
fn trusted_device(root: &Root) -> Option<u64> {
    /// From linux/magic.h: ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, overlayfs.
    const TRUSTED: [u32; 6] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0xf2f5_2010,
        0x794c_7630,
    ];
    let system = rustix::fs::fstatfs(root.fd()).ok()?;
    let device = rustix::fs::fstat(root.fd().as_fd()).ok()?.st_dev;
    TRUSTED
        .contains(&(system.f_type as u32))
        .then_some(device as u64)
}

/// Elsewhere every folder is read every time.
#[cfg(not(target_os = "linux"))]
fn trusted_device(_root: &Root) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mtime: (i64, u32), ctime: (i64, u32)) -> Listed {
        Listed {
            ino: 1,
            mtime,
            ctime,
            names: 2,
        }
    }

    #[test]
    fn a_folder_of_the_same_tick_is_not_settled() {
        assert!(at((5, 7), (5, 7)).is_settled((5, 8)));
        assert!(!at((5, 7), (5, 8)).is_settled((5, 8)));
        assert!(!at((6, 1), (5, 7)).is_settled((5, 8)));
    }

    #[test]
    fn nor_one_of_the_same_second_where_there_are_only_seconds() {
        assert!(!at((5, 0), (5, 0)).is_settled((5, 8)));
        assert!(at((5, 0), (5, 0)).is_settled((6, 0)));
    }

    #[test]
    fn names_do_not_run_together() {
        let hash = |names: &[(&[u8], bool)]| {
            let mut all = Hashing::of(b"dir/");
            for (name, is_folder) in names {
                all.add(name, *is_folder);
            }
            all.finish()
        };
        let one = hash(&[(b"ab", false), (b"c", false)]);
        assert_ne!(one, hash(&[(b"a", false), (b"bc", false)]));
        assert_ne!(one, hash(&[(b"ab", false), (b"c", true)]));
        assert_eq!(one, hash(&[(b"ab", false), (b"c", false)]));
    }
}
