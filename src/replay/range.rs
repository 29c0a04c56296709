//! The commits to record: of a range, of a whole history, or of a shadow.

use gix::ObjectId;

use crate::error::{Context, Result, bail, hinted};
use crate::git::Repo;
use crate::replay::base::{commit_of, require_commit};
use crate::replay::object::RawCommit;
use crate::replay::quarantine;
use crate::replay::store::Store;
use crate::state::file;

/// Commits in an order in which parents come first.
#[derive(Debug, Default)]
pub(super) struct Range {
    /// The commit on which the first one stands; `None` for a root commit.
    pub(super) baseline: Option<ObjectId>,
    pub(super) commits: Vec<(ObjectId, RawCommit)>,
}

impl Range {
    /// The commits that `words` names: `<old>..<new>`, a revision with all that
    /// leads to it, or the name of a shadow.
    pub(super) fn named(repo: &Repo, store: &Store, words: &str) -> Result<Self> {
        if words.contains("...") {
            bail!("'{words}' has two ends; a range like 'main..topic' is expected");
        }
        if let Some((old, new)) = words.split_once("..") {
            let end =
                |name: &str| require_commit(repo, if name.is_empty() { "HEAD" } else { name });
            return Self::between(repo, store, Some(end(old)?), end(new)?);
        }
        if let Some(tip) = commit_of(repo, words).ok().flatten() {
            return Self::between(repo, store, None, tip);
        }
        match shadow(repo, words)? {
            Some((base, tip)) => Self::between(repo, store, Some(base), tip),
            None => Err(hinted(
                format!("'{words}' is neither a range, a commit nor a shadow"),
                "give a range like 'main..topic'",
            )),
        }
    }

    /// The commits that lead to `new` and not to `old`.
    pub(super) fn between(
        repo: &Repo,
        store: &Store,
        old: Option<ObjectId>,
        new: ObjectId,
    ) -> Result<Self> {
        let git = repo.git(["rev-list", "--reverse", "--topo-order"]);
        let mut list = quarantine::seeing(repo, git)
            .arg(new.to_string())
            .env("GIT_NO_REPLACE_OBJECTS", "1");
        if let Some(old) = old {
            list = list.arg(format!("^{old}"));
        }
        let mut commits = Vec::new();
        for line in list
            .stdout()?
            .split(|b| *b == b'\n')
            .filter(|line| !line.is_empty())
        {
            let id = ObjectId::from_hex(line).context("git printed no object id")?;
            let raw = store
                .commit(id)?
                .with_context(|| format!("cannot read the commit {id}"))?;
            commits.push((id, raw));
        }
        let baseline = match commits.first() {
            // A root commit in the middle of a history stands on what was named.
            Some((_, raw)) => raw.parents().first().copied().or(old),
            None => Some(new),
        };
        Ok(Range { baseline, commits })
    }

    /// Why a reader that knows only a straight line of commits must not rebuild
    /// these; `None` when they are one.
    pub(super) fn bend(&self) -> Option<&'static str> {
        let mut previous = self.baseline;
        if previous.is_none() {
            return Some("the history begins with a root commit");
        }
        for (id, raw) in &self.commits {
            if raw.parents() != Vec::from_iter(previous) {
                return Some("the history is not a straight line of commits");
            }
            previous = Some(*id);
        }
        None
    }
}

/// Base and tip of the shadow called `task`, as its metadata has them.
fn shadow(repo: &Repo, task: &str) -> Result<Option<(ObjectId, ObjectId)>> {
    if task.contains('/') || task.starts_with('.') {
        return Ok(None);
    }
    let path = repo
        .shared_state()
        .join("shadows")
        .join(format!("{task}.json"));
    let Some(bytes) = file::read(&path)? else {
        return Ok(None);
    };
    let found: serde_json::Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("cannot read '{}'", path.display()))?;
    let text = |key: &str| found.get(key).and_then(serde_json::Value::as_str);
    let base = text("base").with_context(|| format!("the shadow '{task}' has no base"))?;
    let tip = text("branch")
        .or(text("head"))
        .with_context(|| format!("the shadow '{task}' has no branch"))?;
    Ok(Some((
        require_commit(repo, base)?,
        require_commit(repo, tip)?,
    )))
}
