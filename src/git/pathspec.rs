//! Which paths a user means by pathspecs (gitglossary(7)), relative to where they are.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

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
    /// Those for which this holds.
    Where(Box<dyn FnMut(&BStr) -> bool + 'r>),
}

/// Whether `spec` is the worktree's root. gix takes what is left of such a path,
/// nothing, for a path that no file has.
fn is_root(repo: &Repo, spec: &OsStr) -> bool {
    if matches!(spec.as_bytes(), b":/" | b":(top)" | b":") {
        return true;
    }
    if Some(Path::new(spec)) == repo.worktree() {
        return true;
    }
    let mut here: Vec<Component<'_>> = repo.prefix().components().collect();
    for part in Path::new(spec).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if here.pop().is_some() => {}
            Component::Normal(_) => here.push(part),
            _ => return false,
        }
    }
    here.is_empty()
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
        let everything = OsString::from(":/");
        let specs = specs.iter().map(|spec| match is_root(repo, spec) {
            true => &everything,
            false => spec,
        });
        let search = repo
            .gix()
            .pathspec(
                false,
                specs.map(|spec| spec.as_bytes().as_bstr()),
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
            Scope::Where(holds) => holds(path),
            Scope::Only(paths) => paths.contains(path.as_bytes().as_bstr()),
        }
    }

    /// Whether every path is meant.
    pub fn is_all(&self) -> bool {
        matches!(self, Scope::All)
    }
}
