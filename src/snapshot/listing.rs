//! The names in a folder.

use std::os::fd::BorrowedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

/// Room for the names of a folder, used again for the next.
#[derive(Default)]
pub(super) struct Listing {
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "the system has its own")
    )]
    buffer: Vec<u8>,
}

/// What Linux fills at once: more than most folders have.
const BUFFER: usize = 32 << 10;

impl Listing {
    /// Gives each name in `folder`, but for `.` and `..`, to `each`.
    ///
    /// # Errors
    /// When the folder cannot be read to its end.
    #[cfg(target_os = "linux")]
    pub(super) fn read(
        &mut self,
        folder: BorrowedFd<'_>,
        mut each: impl FnMut(&[u8], FileType),
    ) -> Result<(), Errno> {
        self.buffer.reserve(BUFFER);
        let mut names = rustix::fs::RawDir::new(folder, self.buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let entry = entry?;
            give(entry.file_name().to_bytes(), entry.file_type(), &mut each);
        }
        Ok(())
    }

    /// Gives each name in `folder`, but for `.` and `..`, to `each`.
    ///
    /// # Errors
    /// When the folder cannot be read to its end.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read(
        &mut self,
        folder: BorrowedFd<'_>,
        mut each: impl FnMut(&[u8], FileType),
    ) -> Result<(), Errno> {
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            give(entry.file_name().to_bytes(), entry.file_type(), &mut each);
        }
        Ok(())
    }
}

fn give(name: &[u8], kind: FileType, each: &mut impl FnMut(&[u8], FileType)) {
    if name != b"." && name != b".." {
        each(name, kind);
    }
}

/// The names of one folder, in one piece of memory, without `.git`.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    ends: Vec<(usize, FileType)>,
    /// Whether `.git` is among them.
    pub(super) is_repository: bool,
    /// Whether these are all.
    pub(super) is_complete: bool,
}

impl Names {
    /// Those in `folder`, and whether all could be read. `.git` counts in any case of
    /// its letters where `ignore_case`.
    pub(super) fn of(
        listing: &mut Listing,
        folder: BorrowedFd<'_>,
        ignore_case: bool,
    ) -> (Self, Result<(), Errno>) {
        let mut names = Names::default();
        let read = listing.read(folder, |name, kind| {
            if name == b".git" || (ignore_case && name.eq_ignore_ascii_case(b".git")) {
                names.is_repository = true;
            } else {
                names.bytes.extend_from_slice(name);
                names.ends.push((names.bytes.len(), kind));
            }
        });
        names.is_complete = read.is_ok();
        (names, read)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Each, and what it is.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = &self.bytes[start..*end];
            start = *end;
            (name, *kind)
        })
    }
}
