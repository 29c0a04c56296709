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
