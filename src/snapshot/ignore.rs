//! Which untracked paths are ignored, asked from many threads at once.

use gix::ThreadSafeRepository;
use gix::bstr::BStr;
use gix::index::entry::Mode;
use gix::worktree::Stack;
use gix::worktree::stack::state::ignore::Source;

use crate::error::{Context, Result};

/// The ignore rules of a worktree: `.gitignore` files, `info/exclude`, `core.excludesFile`.
pub struct Ignore<'i> {
    shared: &'i ThreadSafeRepository,
    index: &'i gix::index::State,
    source: Source,
}

/// One thread's reader of the rules; it keeps those of the folders it was last in.
pub struct Ruler {
    repo: gix::Repository,
    stack: Stack,
}

impl<'i> Ignore<'i> {
    /// The rules as they stand on disk now; `index` gives those of folders that
    /// sparse checkout left out.
    pub fn on_disk(shared: &'i ThreadSafeRepository, index: &'i gix::index::State) -> Self {
        Ignore {
            shared,
            index,
            source: Source::WorktreeThenIdMappingIfNotSkipped,
        }
    }

    /// The rules as the tree has them of which `index` is made: what was ignored then.
    pub fn in_tree(shared: &'i ThreadSafeRepository, index: &'i gix::index::State) -> Self {
        Ignore {
            shared,
            index,
            source: Source::IdMapping,
        }
    }

    /// A reader for one thread.
    ///
    /// # Errors
    /// When the user's own ignore file cannot be read.
    pub fn ruler(&self) -> Result<Ruler> {
        let repo = self.shared.to_thread_local();
        let stack = repo
            .excludes(self.index, None, self.source)
            .context("cannot read the ignore rules")?
            .detach();
        Ok(Ruler { repo, stack })
    }
}

impl Ruler {
    /// Whether `path` (a folder or not) is ignored. Rules that cannot be read
    /// ignore nothing: capturing too much loses nothing.
    pub fn is_ignored(&mut self, path: &BStr, is_folder: bool) -> bool {
        let mode = if is_folder { Mode::DIR } else { Mode::FILE };
        self.stack
            .at_entry(path, Some(mode), &self.repo.objects)
            .map(|platform| platform.is_excluded())
            .unwrap_or(false)
    }
}
