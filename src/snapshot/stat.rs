//! What the file system says about a file, and whether git's index says the same.

use gix::index::entry::Mode;
use rustix::fs::FileType;

/// The kinds of things that a snapshot tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, with its executable bit.
    File {
        /// Whether the owner may execute it, git's only permission bit.
        executable: bool,
    },
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// A FIFO, socket or device, which git cannot store.
    Special,
}

/// Stat data in full width, with nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// Last change of the content: seconds and nanoseconds since the epoch.
    pub mtime: (i64, u32),
    /// Last change of content or metadata, likewise.
    pub ctime: (i64, u32),
    /// Inode number.
    pub ino: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stat {
    /// From the operating system's structure.
    pub fn of(raw: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(raw.st_mode as rustix::fs::RawMode) {
            FileType::RegularFile => FileKind::File {
                executable: raw.st_mode & 0o100 != 0,
            },
            FileType::Symlink => FileKind::Link,
            FileType::Directory => FileKind::Folder,
            _ => FileKind::Special,
        };
        Stat {
            kind,
            size: raw.st_size as u64,
            mtime: (raw.st_mtime, raw.st_mtime_nsec as u32),
            ctime: (raw.st_ctime, raw.st_ctime_nsec as u32),
            ino: raw.st_ino,
            uid: raw.st_uid,
            gid: raw.st_gid,
        }
    }

    /// Whether nothing that git compares differs from the `entry` of an index.
    /// Nanoseconds always count and so do ctime and inode, whatever
    /// `core.trustctime` and `core.checkStat` say: a wrong "differs" costs one
    /// read, a wrong "same" loses an edit.
    pub fn matches(&self, entry: &gix::index::entry::Stat) -> bool {
        // The index keeps 32 bits of each field (gitformat-index(5)).
        entry.mtime.secs == self.mtime.0 as u32
            && entry.mtime.nsecs == self.mtime.1
            && entry.ctime.secs == self.ctime.0 as u32
            && entry.ctime.nsecs == self.ctime.1
            && entry.size == self.size as u32
            && entry.ino == self.ino as u32
            && entry.uid == self.uid
            && entry.gid == self.gid
    }

    /// Whether the file may have changed after it was last looked at without
    /// its times showing it, when that look was at `moment` of the file system's
    /// clock: then only its content can tell.
    pub fn is_racy(&self, moment: (i64, u32)) -> bool {
        self.mtime >= moment || self.ctime >= moment
    }

    /// The mode under which git stores it, given the mode it has in the index
    /// and what the file system can express.
    pub fn mode(&self, indexed: Option<Mode>, trust: Trust) -> Option<Mode> {
        match self.kind {
            FileKind::Link => Some(Mode::SYMLINK),
            FileKind::File { .. } if !trust.links && indexed == Some(Mode::SYMLINK) => {
                Some(Mode::SYMLINK)
            }
            FileKind::File { executable } if trust.executable_bit => Some(if executable {
                Mode::FILE_EXECUTABLE
            } else {
                Mode::FILE
            }),
            FileKind::File { .. } => match indexed {
                Some(mode @ (Mode::FILE | Mode::FILE_EXECUTABLE)) => Some(mode),
                _ => Some(Mode::FILE),
            },
            FileKind::Folder | FileKind::Special => None,
        }
    }
}

/// What the file system can be trusted with: `core.fileMode` and `core.symlinks`.
#[derive(Debug, Clone, Copy)]
pub struct Trust {
    /// The executable bit means something.
    pub executable_bit: bool,
    /// Links are links, and not files that hold the target.
    pub links: bool,
}
