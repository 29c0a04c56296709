//! What is stored of a shadow: one JSON file each in the common git folder,
//! written before anything it names exists.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::git::quote::{json_path, path_of_json};
use crate::shadow::process::Process;
use crate::state::file;
use crate::state::lock::{self, Lock, PATIENCE};

const VERSION: u32 = 1;

/// How far a shadow has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phase {
    /// `add` is at work, or was killed.
    Adding,
    /// It can be used.
    Ready,
    /// `remove` is at work, or was killed.
    Removing,
    /// `finish` has removed the folder; the branch waits for its merge.
    Finished,
}

/// One shadow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) v: u32,
    /// Its name.
    pub(super) task: String,
    /// Its name as a folder, file and ref component.
    pub(super) slug: String,
    pub(super) phase: Phase,
    /// The full name of its branch; `None` when HEAD is detached.
    pub(super) branch: Option<String>,
    /// Whether `add` made that branch.
    pub(super) made_branch: bool,
    /// The commit it began at, in hexadecimal; never read again from a name.
    pub(super) base: String,
    /// The name that was given for it.
    pub(super) base_name: String,
    /// The branch that was checked out at `add`: what `merge` merges into.
    pub(super) into: Option<String>,
    #[serde(with = "stored_path")]
    pub(super) path: PathBuf,
    /// The worktree of the developer that it was made from, for copies and links.
    #[serde(with = "stored_path")]
    pub(super) source: PathBuf,
    /// The inode of the folder above `path`.
    #[serde(default)]
    pub(super) above: Option<u64>,
    /// The name of git's own entry in `worktrees/`.
    pub(super) entry: Option<String>,
    /// Seconds since the epoch.
    pub(super) created: i64,
    /// The first port of its block.
    pub(super) port: Option<u16>,
    #[serde(default)]
    pub(super) ports: BTreeMap<String, u16>,
    /// Every path that we made in it.
    #[serde(default)]
    pub(super) manifest: Vec<Made>,
    /// Lines of `info/exclude` that keep its links out of `git add -A`.
    #[serde(default)]
    pub(super) excluded: Vec<String>,
    /// Dependencies that are not in it, and why.
    #[serde(default)]
    pub(super) left_out: Vec<LeftOut>,
    #[serde(default)]
    pub(super) setup: Vec<Setup>,
    /// Who is at work on it (`add`, `remove`).
    pub(super) owner: Option<Process>,
    /// While it is being removed: the folder that it goes to.
    #[serde(default)]
    pub(super) trash: Option<Stored>,
    /// While it is being removed: how that is meant.
    #[serde(default)]
    pub(super) leaving: Option<Leaving>,
    /// While it is being restored: what is put back.
    #[serde(default)]
    pub(super) restoring: Option<Restoring>,
}

/// A path inside an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Stored(#[serde(with = "stored_path")] pub(super) PathBuf);

/// How a removal that was begun is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leaving {
    pub(super) branch: BranchFate,
    /// By `finish`: the branch waits for its merge, and the shadow stays known until then.
    pub(super) finished: bool,
    /// By `merge`: its work is in the target.
    pub(super) merged: bool,
}

/// What becomes of the branch of a removed shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BranchFate {
    /// It goes when its work is merged and we made it.
    #[default]
    WhenMerged,
    Keep,
    Delete,
}

/// What a restore puts back, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Restoring {
    /// The tree of the files.
    pub(super) tree: String,
    /// Where the branch was made at, if it was.
    pub(super) tip: String,
    /// Whether this restore makes the branch.
    pub(super) makes_branch: bool,
}

/// A path that we made in a shadow, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    #[serde(with = "stored_path")]
    pub(super) path: PathBuf,
    pub(super) how: How,
    pub(super) size: u64,
    pub(super) mtime: (i64, u32),
    pub(super) ino: u64,
    /// The hash of a copied file, so that removal knows whether its source still has it.
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// How a path came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum How {
    /// A copy-on-write clone of a folder.
    Cloned,
    /// A symbolic link to the developer's folder.
    Linked,
    /// A file of its own.
    Copied,
}

impl How {
    pub(super) fn word(self) -> &'static str {
        match self {
            How::Cloned => "cloned",
            How::Linked => "linked",
            How::Copied => "copied",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftOut {
    #[serde(with = "stored_path")]
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) command: String,
    pub(super) exit: Option<i32>,
}

impl Task {
    /// The folder of all files of this kind.
    pub(super) fn folder(repo: &Repo) -> PathBuf {
        repo.shared_state().join("shadows")
    }

    fn file(repo: &Repo, slug: &str) -> PathBuf {
        Self::folder(repo).join(format!("{slug}.json"))
    }

    /// The lock under which names, branches, entries and ports are given.
    pub(super) fn lock(repo: &Repo) -> Result<Lock> {
        let path = repo.shared_state().join("shadows.lock");
        lock::alone(&path, repo.sharing(), PATIENCE)
    }

    /// All shadows, by name. A file that cannot be read is no shadow.
    pub(super) fn all(repo: &Repo) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        let entries = match fs::read_dir(Self::folder(repo)) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(e) => return Err(file::explain(e, &Self::folder(repo))),
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "json")
                && let Some(bytes) = file::read(&path)?
                && let Some(task) = Self::parse(&bytes)
            {
                found.push(task);
            }
        }
        found.sort_by(|a, b| a.task.cmp(&b.task));
        Ok(found)
    }

    /// The files of this kind that are torn, or of a later version, by their slug.
    ///
    /// # Errors
    /// When one cannot be read at all.
    pub(super) fn unreadable(repo: &Repo) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(Self::folder(repo))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "json")
                && let Some(bytes) = file::read(&path)?
                && Self::parse(&bytes).is_none()
                && let Some(slug) = path.file_stem()
            {
                found.push(slug.to_string_lossy().into_owned());
            }
        }
        found.sort();
        Ok(found)
    }

    /// The shadow called `task`, if there is one.
    pub(super) fn find(repo: &Repo, task: &str) -> Result<Option<Self>> {
        Ok(Self::all(repo)?.into_iter().find(|t| t.task == task))
    }

    /// The shadow called `task`.
    pub(super) fn require(repo: &Repo, task: &str) -> Result<Self> {
        Self::find(repo, task)?.ok_or_else(|| {
            if Self::unreadable(repo).is_ok_and(|torn| torn.iter().any(|slug| slug == task)) {
                return hinted(
                    format!("the record of the shadow '{task}' cannot be read"),
                    format!("it is '{}'", Self::file(repo, task).display()),
                );
            }
            hinted(
                format!("there is no shadow '{task}'"),
                "'git shadow list' shows those there are",
            )
        })
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let task: Self = serde_json::from_slice(bytes).ok()?;
        (task.v == VERSION).then_some(task)
    }

    pub(super) fn version() -> u32 {
        VERSION
    }

    /// Writes it.
    pub(super) fn store(&self, repo: &Repo) -> Result<()> {
        crate::state::crash::point();
        let bytes = serde_json::to_vec_pretty(self).context("cannot write a shadow as JSON")?;
        file::replace(&Self::file(repo, &self.slug), &bytes, repo.sharing(), false)
    }

    /// Forgets it, and its lease.
    pub(super) fn forget(&self, repo: &Repo) -> Result<()> {
        crate::state::crash::point();
        file::remove(&Self::file(repo, &self.slug))?;
        file::remove(&self.lease_path(repo))
    }

    /// The file whose lock says that a command runs in it.
    pub(super) fn lease_path(&self, repo: &Repo) -> PathBuf {
        Self::folder(repo).join(format!("{}.lease", self.slug))
    }

    /// git's folder of this worktree.
    pub(super) fn admin(&self, repo: &Repo) -> Option<PathBuf> {
        let entry = self.entry.as_ref()?;
        Some(repo.common_dir().join("worktrees").join(entry))
    }

    /// The commit it began at.
    pub(super) fn base_commit(&self) -> Result<ObjectId> {
        ObjectId::from_hex(self.base.as_bytes())
            .with_context(|| format!("the shadow '{}' has no base", self.task))
    }

    /// Its branch without `refs/heads/`.
    pub(super) fn short_branch(&self) -> Option<&str> {
        self.branch.as_deref().map(short)
    }

    /// The worktree opened as a repository.
    pub(super) fn open(&self) -> Result<Repo> {
        Repo::at(&self.path)
    }

    /// How it was meant, when its removal was cut short.
    pub(super) fn was_leaving(&self) -> Option<Leaving> {
        let is_cut = self.phase == Phase::Removing && self.is_abandoned();
        self.leaving.filter(|_| is_cut)
    }

    /// Whether the owner of an unfinished `add` or `remove` is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        matches!(self.phase, Phase::Adding | Phase::Removing)
            && self.owner.as_ref().is_none_or(|o| !o.lives())
    }
}

/// A branch's name without `refs/heads/`.
pub(super) fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

/// Paths in JSON, whatever their bytes.
pub(super) mod stored_path {
    use super::{Path, PathBuf, json_path, path_of_json};
    use crate::snapshot::root::bytes_of;
    use gix::bstr::ByteSlice;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::shadow) fn serialize<S: Serializer>(
        path: &Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        json_path(bytes_of(path).as_bstr()).serialize(serializer)
    }

    pub(in crate::shadow) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let path = path_of_json(&value).ok_or_else(|| serde::de::Error::custom("no path"))?;
        Ok(path.to_path_lossy().into_owned())
    }
}

/// A path in what `--json` prints.
pub(super) fn path_json(path: &Path) -> serde_json::Value {
    json_path(crate::snapshot::root::bytes_of(path).as_bstr())
}

/// A path for people.
pub(super) fn shown(path: &Path) -> String {
    crate::git::quote::quoted(crate::snapshot::root::bytes_of(path).as_bstr())
}
