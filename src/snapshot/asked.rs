//! Files that are named: looked at whatever the ignore rules say.

use std::collections::BTreeSet;

use gix::bstr::{BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::attributes;
use crate::snapshot::capture::{Capture, Capturer};
use crate::snapshot::index::Index;
use crate::snapshot::root::Root;
use crate::snapshot::scan::Candidate;
use crate::snapshot::sink::{Sink, Writing};
use crate::snapshot::stat::Trust;
use crate::snapshot::take::trust;

/// Adds what was asked for by name and is on disk.
pub(super) fn add(
    root: &Root,
    trust: Trust,
    asked: &BTreeSet<BString>,
    index: &Index,
    candidates: &mut Vec<Candidate>,
) {
    for path in asked {
        let known = candidates.binary_search_by(|c| c.path.cmp(path));
        let (Err(at), Ok(Some(stat))) = (known, root.stat(path.as_bstr())) else {
            continue;
        };
        let entry = index.state().entry_index_by_path(path.as_bstr()).ok();
        let indexed = entry.map(|position| index.state().entries()[position].mode);
        if let Some(mode) = stat.mode(indexed, trust) {
            candidates.insert(
                at,
                Candidate {
                    path: path.clone(),
                    entry,
                    stat,
                    mode,
                },
            );
        }
    }
}

/// The blob that a snapshot would store for each of `paths` now, without storing
/// it; `None` for what is not there.
///
/// # Errors
/// When the rules cannot be read.
pub fn ids_of(repo: &Repo, paths: &[BString]) -> Result<Vec<Option<gix::ObjectId>>> {
    let root = Root::open(repo.require_worktree()?)?;
    let index = Index::load(repo)?;
    let trust = trust(repo)?;
    let rules = attributes::survey(repo, &root, index.state(), &Default::default())?;
    let shared = repo.gix().clone().into_sync();
    let sink = Sink::new(repo, Writing::Nothing);
    let capturer = Capturer {
        root: &root,
        shared: &shared,
        index: index.state(),
        convert: rules.convert,
        sink: &sink,
        included: &BTreeSet::new(),
    };
    let mut ids = Vec::with_capacity(paths.len());
    for path in paths {
        let mut candidates = Vec::new();
        let asked = BTreeSet::from([path.clone()]);
        add(&root, trust, &asked, &index, &mut candidates);
        let capture = capturer.all(&candidates)?.pop();
        ids.push(match capture {
            Some(Capture::Blob { id, .. }) => Some(id),
            _ => None,
        });
    }
    Ok(ids)
}
