//! Whether a branch's work is in another one, however it got there.

use gix::ObjectId;

use crate::error::Result;
use crate::git::Repo;
use crate::shadow::guards::commits::only_here;
use crate::shadow::overlap::{Merged, merge_tree};
use crate::shadow::task::Task;

/// In which way the work is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    SameCommit,
    Ancestor,
    EqualTree,
    EmptyMerge,
    EqualPatches,
}

impl Way {
    pub(super) fn words(self) -> &'static str {
        match self {
            Way::SameCommit => "the same commit",
            Way::Ancestor => "an ancestor",
            Way::EqualTree => "the same tree",
            Way::EmptyMerge => "a merge would change nothing",
            Way::EqualPatches => "the same patches",
        }
    }
}

/// Whether the work at `tip` is in the target of `task`, or in that one's upstream.
///
/// # Errors
/// When git cannot tell.
pub(super) fn way(repo: &Repo, task: &Task, tip: ObjectId) -> Result<Option<Way>> {
    if tip == task.base_commit()? && is_anywhere(repo, task, tip)? {
        return Ok(Some(Way::SameCommit));
    }
    for target in targets(repo, task)? {
        if let Some(way) = way_into(repo, target, tip)? {
            return Ok(Some(way));
        }
    }
    Ok(None)
}

/// Whether another ref than the shadow's branch and ours reaches `tip`.
fn is_anywhere(repo: &Repo, task: &Task, tip: ObjectId) -> Result<bool> {
    let listed = only_here(repo, tip, task.branch.as_deref(), &["-n", "1"])?;
    Ok(listed.is_empty())
}

/// Where the work would be: the branch it was made from, and that one's upstream.
fn targets(repo: &Repo, task: &Task) -> Result<Vec<ObjectId>> {
    let mut found = Vec::new();
    let Some(into) = &task.into else {
        return Ok(found);
    };
    found.extend(repo.find_ref(into.as_str().into())?);
    let key = format!("branch.{}", crate::shadow::task::short(into));
    if let (Some(remote), Some(merge)) = (
        repo.config_text(&format!("{key}.remote")),
        repo.config_text(&format!("{key}.merge")),
    ) {
        let name = merge
            .strip_prefix("refs/heads/")
            .unwrap_or(&merge)
            .to_owned();
        let upstream = format!("refs/remotes/{remote}/{name}");
        found.extend(repo.find_ref(upstream.as_str().into())?);
    }
    Ok(found)
}

/// The cheapest proof first.
fn way_into(repo: &Repo, target: ObjectId, tip: ObjectId) -> Result<Option<Way>> {
    if target == tip {
        return Ok(Some(Way::SameCommit));
    }
    let ancestor = repo
        .git(["merge-base", "--is-ancestor"])
        .args([tip.to_string(), target.to_string()])
        .answer()?;
    if ancestor.is_some() {
        return Ok(Some(Way::Ancestor));
    }
    let tree = repo.tree_of(target)?;
    if tree == repo.tree_of(tip)? {
        return Ok(Some(Way::EqualTree));
    }
    if let Ok(Merged::Clean(merged)) = merge_tree(repo, target, tip)
        && merged == tree
    {
        return Ok(Some(Way::EmptyMerge));
    }
    let cherry = repo
        .git(["cherry"])
        .args([target.to_string(), tip.to_string()])
        .stdout()?;
    let all_there = !cherry.is_empty()
        && cherry
            .split(|b| *b == b'\n')
            .filter(|line| !line.is_empty())
            .all(|line| line.starts_with(b"-"));
    Ok(all_there.then_some(Way::EqualPatches))
}
