//! Whether what is at a path of the manifest is still what we made: only that may be
//! removed without a word.

use gix::bstr::ByteSlice;

use crate::shadow::dress::{hash, link_target};
use crate::shadow::task::{How, Made};
use crate::snapshot::root::{Root, bytes_of};
use crate::snapshot::stat::FileKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Made {
    /// Whether it is still as we made it, in the shadow at `root` that was made from
    /// `source`. Of a cloned folder only that it is one: what is in it is nobody's work.
    /// Where making it was cut short it has no more than the source has.
    pub(super) fn is_untouched(&self, root: &Root, source: &Path) -> bool {
        let path = bytes_of(&self.path);
        let path = path.as_bstr();
        let Ok(Some(stat)) = root.stat(path) else {
            return false;
        };
        let target = || root.read_link(path).unwrap_or_default();
        let is_same = stat.ino == self.ino && stat.size == self.size && stat.mtime == self.mtime;
        let content = || root.read_file(path, stat.size).ok();
        match (self.how, stat.kind) {
            (How::Cloned, kind) => kind == FileKind::Folder,
            (How::Linked, FileKind::Link) => {
                is_same || target() == link_target(source, &self.path).as_os_str().as_bytes()
            }
            (How::Linked, _) => false,
            (How::Copied, FileKind::Link) => is_same || self.ino == 0,
            // An edit can keep size and time: the content decides.
            (How::Copied, FileKind::File { .. }) if self.ino != 0 => {
                let hashed = || content().and_then(|bytes| hash(&bytes).ok());
                is_same
                    && self
                        .id
                        .as_ref()
                        .is_none_or(|id| hashed().as_ref() == Some(id))
            }
            (How::Copied, FileKind::File { .. }) => {
                let whole = std::fs::read(source.join(&self.path)).unwrap_or_default();
                content().is_some_and(|part| whole.starts_with(&part))
            }
            (How::Copied, _) => false,
        }
    }
}
