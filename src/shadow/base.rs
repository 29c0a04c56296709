//! The commit that a shadow begins at, and how old it is.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::git::head::Head;
use crate::shadow::process::now;
use crate::shadow::task::short;

/// A base, resolved once.
pub(super) struct Base {
    pub(super) commit: ObjectId,
    pub(super) name: String,
    /// Its upstream, and by how many commits that is ahead.
    pub(super) upstream: Option<(String, String)>,
}

impl Base {
    /// The commit that `spec` names: else `shadow.base`, else HEAD.
    ///
    /// # Errors
    /// When it names no commit, or there is none yet.
    pub(super) fn resolve(repo: &Repo, spec: Option<&str>, head: &Head) -> Result<Self> {
        let configured = repo.config_text("shadow.base");
        let spec = spec.or(configured.as_deref());
        let (commit, name, branch) = match spec {
            Some(spec) => {
                let branch = format!("refs/heads/{spec}");
                (named(repo, spec)?, spec.to_owned(), Some(branch))
            }
            None => {
                let commit = head.commit.ok_or_else(|| unborn(head))?;
                let branch = head.branch.as_ref().map(ToString::to_string);
                let name = branch.as_deref().map_or("HEAD", short).to_owned();
                (commit, name, branch)
            }
        };
        let upstream = match branch {
            Some(branch) => upstream(repo, &branch)?,
            None => None,
        };
        Ok(Base {
            commit,
            name,
            upstream,
        })
    }

    /// `main (3f2a9c1b04, 2 days old, 14 behind origin/main)`.
    pub(super) fn describe(&self, repo: &Repo) -> String {
        let short_id = self.commit.to_hex_with_len(10);
        let mut text = format!("{} ({short_id}, {}", self.name, self.age(repo));
        if let Some((upstream, track)) = &self.upstream
            && !track.is_empty()
        {
            text.push_str(&format!(", {track} of {upstream}").replace("behind", "behind by"));
        }
        text.push(')');
        text
    }

    fn age(&self, repo: &Repo) -> String {
        match commit_time(repo, self.commit) {
            Ok(time) => format!("{} old", span(now() - time)),
            Err(_) => "of unknown age".to_owned(),
        }
    }
}

/// The committer's time of `commit`, in seconds since the epoch.
///
/// # Errors
/// When it cannot be read.
pub(super) fn commit_time(repo: &Repo, commit: ObjectId) -> Result<i64> {
    let bytes = repo.object(commit, Kind::Commit)?;
    let parsed = gix::objs::CommitRef::from_bytes(&bytes, repo.gix().object_hash())?;
    Ok(parsed.committer()?.seconds())
}

/// `45 s`, `12 min`, `3 h`, `5 days`.
pub(super) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..172_800 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    }
}

/// A local branch is found without a child, where no other ref has its name.
fn local_branch(repo: &Repo, spec: &str) -> Option<ObjectId> {
    // What is no name of a ref is nothing here; git says the rest.
    let found = |name: &str| repo.find_ref(name.into()).ok().flatten();
    let is_other = repo.common_dir().join(spec).exists()
        || found(&format!("refs/{spec}")).is_some()
        || found(&format!("refs/tags/{spec}")).is_some();
    found(&format!("refs/heads/{spec}")).filter(|_| !is_other)
}

fn named(repo: &Repo, spec: &str) -> Result<ObjectId> {
    let is_plain = spec
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b));
    if is_plain
        && !spec.contains("..")
        && let Some(commit) = local_branch(repo, spec)
    {
        return Ok(commit);
    }
    let line = repo
        .git(["rev-parse", "--verify", "-q", "--end-of-options"])
        .arg(format!("{spec}^{{commit}}"))
        .output()?;
    let hex = line.stdout.trim_ascii();
    match ObjectId::from_hex(hex) {
        Ok(id) if line.status.success() => Ok(id),
        _ => Err(hinted(
            format!("'{spec}' is no commit"),
            "name a branch, a tag or a commit; '--fetch' fetches before looking",
        )),
    }
}

fn unborn(head: &Head) -> crate::error::Error {
    let branch = head.branch.as_ref().map(|b| b.to_string());
    let branch = branch.as_deref().map_or("HEAD", short).to_owned();
    hinted(
        format!("the branch '{branch}' has no commit yet, so that nothing can begin at it"),
        "make a first commit, or name a base: 'git shadow add <task> <base>'",
    )
}

/// The upstream of a local branch and git's words for how they differ.
fn upstream(repo: &Repo, branch: &str) -> Result<Option<(String, String)>> {
    let key = format!("branch.{}.merge", short(branch));
    if repo.config(&key).is_none() {
        return Ok(None);
    }
    let format = "--format=%(upstream:short)%00%(upstream:track,nobracket)";
    let line = repo.git(["for-each-ref", format, branch]).stdout()?;
    let (name, track) = line
        .trim_ascii_end()
        .split_once_str(b"\0")
        .unwrap_or((b"", b""));
    let text = |bytes: &[u8]| bytes.as_bstr().to_string();
    Ok((!name.is_empty()).then(|| (text(name), text(track))))
}

/// Fetches what `spec` comes from: its own remote, its upstream's, or `origin`.
///
/// # Errors
/// When the fetch fails, in git's words.
pub(super) fn fetch(repo: &Repo, spec: Option<&str>, head: &Head) -> Result<()> {
    let known = |name: &str| repo.config(&format!("remote.{name}.url")).is_some();
    let own = spec
        .and_then(|s| s.split_once('/'))
        .map(|(remote, _)| remote.to_owned());
    let branch = spec.map(str::to_owned).or_else(|| {
        head.branch
            .as_ref()
            .map(|b| short(&b.to_string()).to_owned())
    });
    let tracked = branch.and_then(|b| repo.config_text(&format!("branch.{b}.remote")));
    let remote = own
        .filter(|name| known(name))
        .or(tracked)
        .or_else(|| known("origin").then(|| "origin".to_owned()))
        .context("there is no remote to fetch from")?;
    repo.git(["fetch", "-q", "--end-of-options"])
        .arg(remote)
        .stdout()?;
    Ok(())
}
