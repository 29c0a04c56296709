//! Whether anything in a worktree is not committed: one walk, and nothing more
//! where stat data prove that nothing is.

use gix::bstr::BString;

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::cache::Cache;
use crate::snapshot::ignore::Ignore;
use crate::snapshot::index::Index;
use crate::snapshot::listed::Folders;
use crate::snapshot::root::Root;
use crate::snapshot::scan::Walk;
use crate::snapshot::sink::{Sink, Writing};
use crate::snapshot::take::{self, own_folders, take, trust};
use crate::snapshot::tree::Builder;

/// What a glance at a worktree tells.
#[derive(Debug, Default)]
pub struct Glance {
    /// Paths that are not what the index says, sorted.
    pub changed: Vec<BString>,
    /// Whether the index is not HEAD's tree.
    pub staged: bool,
    /// Whether the index has a conflict.
    pub conflicted: bool,
    /// The latest time of change of those paths, in seconds since the epoch.
    pub newest: Option<i64>,
}

impl Glance {
    /// Whether everything is committed.
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && !self.staged
    }
}

/// Looks at the worktree of `repo`. Ignored files do not count.
///
/// # Errors
/// When the worktree or its index cannot be read.
pub fn glance(repo: &Repo) -> Result<Glance> {
    let root = Root::open(repo.require_worktree()?)?;
    let mut index = Index::load(repo)?;
    index.expand_present_folders(repo, &root)?;
    let shared = repo.gix().clone().into_sync();
    let cache = Cache::load(repo);
    let ignore = Ignore::on_disk(&shared, index.state());
    let scan = Walk {
        root: &root,
        index: index.state(),
        index_written: index.written(),
        ignore: &ignore,
        trust: trust(repo)?,
        ignore_case: repo.config_bool("core.ignoreCase", false)?,
        replaced: repo.replaced_objects()?,
        own_folders: own_folders(repo, &root),
        folders: &Folders::of(&root, &cache.listed),
    }
    .run()?;
    let newest = scan.candidates.iter().map(|c| c.stat.mtime.0).max();
    let mut changed = Vec::new();
    if !scan.candidates.is_empty() {
        // Touched, or as young as the index: only the content tells.
        let snapshot = take(repo, &take::Request::default())?;
        changed.extend(snapshot.changes.into_iter().map(|(path, _)| path));
    } else {
        changed.extend(scan.gone);
        changed.extend(scan.commits.into_iter().map(|(path, _)| path));
        changed.sort();
    }
    Ok(Glance {
        staged: is_staged(repo, &index)?,
        conflicted: index
            .state()
            .entries()
            .iter()
            .any(|entry| entry.flags.stage_raw() != 0),
        newest: newest.filter(|_| !changed.is_empty()),
        changed,
    })
}

fn is_staged(repo: &Repo, index: &Index) -> Result<bool> {
    let Some(head) = repo.head()?.commit else {
        return Ok(!index.state().entries().is_empty());
    };
    let sink = Sink::new(repo, Writing::Nothing);
    let staged = Builder {
        index: index.state(),
        stage: 0,
        sink: &sink,
        repo: repo.gix(),
    }
    .build(&[])?;
    Ok(staged != repo.tree_of(head)?)
}
