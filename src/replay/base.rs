//! The commit on which a replay begins.

use gix::ObjectId;

use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::replay::journal::{Journal, Workspace};
use crate::replay::quarantine;
use crate::replay::store::Store;

/// `--from`, else the recorded baseline, else the tag `<journal>-base`; `None`
/// for a history that begins with a root commit.
pub(super) fn find(
    repo: &Repo,
    store: &Store,
    journal: &Journal,
    workspace: &Workspace,
    from: Option<ObjectId>,
) -> Result<Option<ObjectId>> {
    let Some(baseline) = workspace.baseline else {
        if from.is_some() {
            return Err(hinted(
                "the recorded history begins with a root commit, so it stands on no commit",
                "leave --from out",
            ));
        }
        return Ok(None);
    };
    if from.is_some() {
        return Ok(from);
    }
    if store.commit(baseline.commit)?.is_some() {
        return Ok(Some(baseline.commit));
    }
    let tag = format!("{}-base", journal.name);
    if let Some(id) = commit_of(repo, &format!("refs/tags/{tag}"))? {
        return Ok(Some(id));
    }
    let is_shallow = repo.common_dir().join("shallow").exists();
    let hint = if is_shallow {
        "this clone is shallow; run 'git fetch --unshallow', or name another commit with --from"
    } else {
        "fetch it, name a commit with the same tree by --from, or tag one"
    };
    Err(hinted(
        format!(
            "the baseline commit {} is not in this repository, and there is no tag '{tag}'",
            baseline.commit
        ),
        hint,
    ))
}

/// The commit that `revision` stands for, if it stands for one.
pub(super) fn commit_of(repo: &Repo, revision: &str) -> Result<Option<ObjectId>> {
    let git = repo.git(["rev-parse", "--verify", "-q", "--end-of-options"]);
    let line = quarantine::seeing(repo, git)
        .arg(format!("{revision}^{{commit}}"))
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .answer()?;
    Ok(line
        .map(|line| ObjectId::from_hex(line.trim_ascii()))
        .transpose()?)
}

/// The commit that `revision` stands for.
pub(super) fn require_commit(repo: &Repo, revision: &str) -> Result<ObjectId> {
    match commit_of(repo, revision) {
        Ok(Some(id)) => Ok(id),
        _ => Err(crate::error::anyhow!(
            "'{revision}' is no commit of this repository"
        )),
    }
}
