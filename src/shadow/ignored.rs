//! The ignore rules of a worktree, asked one path at a time.

use gix::bstr::{BStr, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::ignore::{Ignore, Ruler};
use crate::snapshot::index::Index;

/// A reader of the rules.
pub(super) struct Rules {
    ruler: Ruler,
}

impl Rules {
    /// Those of the worktree of `repo`, as they are on disk.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn of(repo: &Repo) -> Result<Self> {
        let index = Index::load(repo)?;
        let shared = repo.gix().clone().into_sync();
        let ruler = Ignore::on_disk(&shared, index.state()).ruler()?;
        Ok(Rules { ruler })
    }

    /// Whether `path` or a folder above it is ignored.
    pub(super) fn is_ignored(&mut self, path: &BStr, is_folder: bool) -> bool {
        let above = path
            .char_indices()
            .filter(|(_, _, c)| *c == '/')
            .map(|(at, _, _)| path[..at].as_bstr());
        for folder in above {
            if self.ruler.is_ignored(folder, true) {
                return true;
            }
        }
        self.ruler.is_ignored(path, is_folder)
    }
}
