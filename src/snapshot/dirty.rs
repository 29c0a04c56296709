//! What a snapshot of the outer repository cannot hold: work inside a nested one.

use gix::bstr::{BString, ByteSlice};
use gix::config::source::Kind;

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::root::Root;
use crate::snapshot::scan::Skipped;
use crate::snapshot::take::{Request, take};

/// Adds a line for each of `nested` whose working tree is not its HEAD.
pub(super) fn note(repo: &Repo, root: &Root, nested: &[BString], skipped: &mut Vec<Skipped>) {
    for path in nested {
        let reason = match is_dirty(repo, root, path) {
            Ok(false) => continue,
            Ok(true) => "changes inside are not captured".to_owned(),
            Err(e) => format!("cannot be looked at: {e:#}"),
        };
        skipped.push(Skipped {
            path: path.clone(),
            reason,
        });
    }
}

fn is_dirty(outer: &Repo, root: &Root, path: &BString) -> Result<bool> {
    let mut inner = Repo::at(&root.join(path.as_bstr()))?;
    if inner.common_dir() == outer.common_dir() {
        // A linked worktree of the same repository has checkpoints of its own.
        return Ok(false);
    }
    let Some(head) = inner.head()?.commit else {
        return Ok(false);
    };
    forget_own_filters(&mut inner)?;
    let snapshot = take(&inner, &Request::default())?;
    Ok(snapshot.tree != inner.tree_of(head)?)
}

/// Its own configuration starts no programs of ours: a filter that it names itself is
/// unknown, as it would be in a fresh clone.
fn forget_own_filters(inner: &mut Repo) -> Result<()> {
    let mut config = inner.gix_mut().config_snapshot_mut();
    let own: Vec<BString> = config
        .sections_by_name("filter")
        .into_iter()
        .flatten()
        .filter(|section| section.meta().source.kind() == Kind::Repository)
        .filter_map(|section| section.header().subsection_name().map(ToOwned::to_owned))
        .collect();
    for name in own {
        while config.remove_section("filter", name.as_bstr()).is_some() {}
    }
    config.commit()?;
    Ok(())
}
