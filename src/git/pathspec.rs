//! Which paths a user means by pathspecs (gitglossary(7)), relative to where they are.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::worktree::stack::state::attributes::Source;

use crate::error::{Context, Result};
use crate::git::Repo;

/// A choice of paths.
pub enum Scope<'r> {
    /// Every path.
    All,
    /// Those that pathspecs match.
    Matching(Box<gix::Pathspec<'r>>),
    /// Those that were chosen before.
    Only(BTreeSet<BString>),
}

impl<'r> Scope<'r> {
    /// What `specs` match; everything when there are none.
    ///
    /// # Errors
    /// When one of them cannot be understood.
    pub fn of_pathspecs(repo: &'r Repo, specs: &[OsString]) -> Result<Self> {
        if specs.is_empty() {
            return Ok(Scope::All);
        }
        let empty = gix::index::State::new(repo.gix().object_hash());
        let search = repo
            .gix()
            .pathspec(
                false,
                specs.iter().map(|spec| spec.as_bytes().as_bstr()),
                true,
                &empty,
                Source::WorktreeThenIdMapping,
            )
            .context("cannot understand the pathspec")?;
        Ok(Scope::Matching(Box::new(search)))
    }

    /// Whether `path`, a file from the worktree's root, is meant.
    pub fn includes(&mut self, path: &BStr) -> bool {
        match self {
            Scope::All => true,
            Scope::Matching(search) => search.is_included(path, Some(false)),
            Scope::Only(paths) => paths.contains(path.as_bytes().as_bstr()),
        }
    }

    /// Whether every path is meant.
    pub fn is_all(&self) -> bool {
        matches!(self, Scope::All)
    }
}
