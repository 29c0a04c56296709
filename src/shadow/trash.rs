//! The folder beside the shadows where a removed one waits until its files are
//! proven to be in the snapshot; `git-shadow sweep` empties it in the background.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix::bstr::BString;
use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::command::Child;
use crate::shadow::place::containing_checkout;
use crate::shadow::process::now;
use crate::shadow::task::{Task, path_json, stored_path};
use crate::state::crash;
use crate::state::file::{self, Sharing};

/// Beside the shadows.
const FOLDER: &str = ".shadow-trash";

/// What the sweep must know of one removed shadow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) v: u32,
    #[serde(with = "stored_path")]
    pub(super) repository: PathBuf,
    pub(super) task: String,
    pub(super) name: String,
    /// The tree that has the files.
    pub(super) tree: String,
    /// When the snapshot began, by the clock of this disk: a file whose inode has
    /// not changed since is as the snapshot has it.
    pub(super) clock: (i64, i64),
    /// Paths that go without being in it.
    pub(super) disposable: Vec<serde_json::Value>,
    /// Paths that stay: folders with a repository of their own, and what could not be
    /// captured, of which the tree may have an older state.
    pub(super) stays: Vec<serde_json::Value>,
    /// Whether git's entry waits for a restore, too.
    pub(super) keep_entry: bool,
    pub(super) expires: i64,
}

/// The place of one removed shadow.
pub(super) struct Place {
    pub(super) folder: PathBuf,
}

impl Place {
    /// The name of the moment, free in the trash of `task`.
    pub(super) fn new(repo: &Repo, task: &Task) -> Result<(Self, String)> {
        Self::below(repo, task, &root_of(repo, &task.path))
    }

    /// The same in the repository itself, for what has no folder any more.
    pub(super) fn in_repository(repo: &Repo, task: &Task) -> Result<(Self, String)> {
        let base = repo.shared_state().join("trash");
        file::make_folder(&base, repo.sharing())?;
        Self::below(repo, task, &base)
    }

    fn below(repo: &Repo, task: &Task, base: &Path) -> Result<(Self, String)> {
        let moment = jiff::Timestamp::now()
            .strftime("%Y%m%dT%H%M%SZ")
            .to_string();
        for number in 0.. {
            let time = match number {
                0 => moment.clone(),
                n => format!("{moment}-{n}"),
            };
            let folder = base.join(format!("{}-{time}", task.slug));
            let name = format!("{}{}/{time}", crate::shadow::record::TRASH, task.slug);
            if !folder.exists() && repo.find_ref(name.as_str().into())?.is_none() {
                return Ok((Place { folder }, time));
            }
        }
        crate::error::bail!("no name is free in '{}'", base.display())
    }

    pub(super) fn at(folder: &Path) -> Self {
        Place {
            folder: folder.to_owned(),
        }
    }

    /// The files of the shadow.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// git's entry of it.
    pub(super) fn entry(&self) -> PathBuf {
        self.folder.join("entry")
    }

    /// Its temporary folder, if a repository was in it.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("temporary")
    }

    fn record(&self) -> PathBuf {
        self.folder.join("record.json")
    }

    /// Whether it was made so long ago that no removal can still be at its beginning.
    pub(super) fn is_old(&self) -> bool {
        const HOUR: i64 = 3600;
        fs::metadata(self.record()).is_ok_and(|found| found.mtime() < now() - HOUR)
    }

    /// Makes the folder; gives this disk's "now".
    pub(super) fn begin(&self) -> Result<(i64, i64)> {
        crash::point();
        file::make_folder(&self.folder, Sharing::default())?;
        file::replace(&self.record(), b"{}\n", Sharing::default(), false)?;
        let found = fs::metadata(self.record()).context("cannot look at the trash folder")?;
        Ok((found.mtime(), found.mtime_nsec()))
    }

    pub(super) fn store(&self, waiting: &Waiting) -> Result<()> {
        crash::point();
        let bytes = serde_json::to_vec_pretty(waiting).context("cannot write JSON")?;
        file::replace(&self.record(), &bytes, Sharing::default(), true)
    }

    pub(super) fn read(&self) -> Option<Waiting> {
        serde_json::from_slice(&file::read(&self.record()).ok()??).ok()
    }

    /// Takes an empty place away again.
    pub(super) fn abandon(&self) {
        let _ = fs::remove_file(self.record());
        let _ = fs::remove_dir(&self.folder);
        let _ = self.folder.parent().map(fs::remove_dir);
    }
}

/// The trash of a shadow at `path`: beside it, unless that is in a checkout.
fn root_of(repo: &Repo, path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if containing_checkout(repo, path).is_none() => parent.join(FOLDER),
        _ => repo.shared_state().join("trash"),
    }
}

/// The places in the trash folders that the shadows of `repo` would use now.
pub(super) fn places(repo: &Repo) -> Vec<Place> {
    let mut roots = vec![repo.shared_state().join("trash")];
    if let Ok(path) = crate::shadow::place::default(repo, "x", "x") {
        roots.push(root_of(repo, &path));
    }
    for task in Task::all(repo).unwrap_or_default() {
        roots.push(root_of(repo, &task.path));
    }
    roots.sort();
    roots.dedup();
    roots
        .iter()
        .flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten())
        .map(|entry| Place::at(&entry.path()))
        .filter(|place| {
            let waiting = place.read();
            waiting.is_some_and(|w| w.repository == repo.common_dir())
        })
        .collect()
}

/// Paths as they are stored.
pub(super) fn stored(paths: &[BString]) -> Vec<serde_json::Value> {
    use gix::bstr::ByteSlice;
    paths
        .iter()
        .map(|p| path_json(&p.to_path_lossy()))
        .collect()
}

/// When what is removed now may go for good.
///
/// # Errors
/// When `shadow.trashExpire` is no age.
pub(super) fn expiry(repo: &Repo) -> Result<i64> {
    let text = repo
        .config_text("shadow.trashExpire")
        .unwrap_or("14 days".to_owned());
    if text == "never" {
        return Ok(i64::MAX);
    }
    Ok(now().saturating_add(age(&text).with_context(|| {
        format!("bad value '{text}' for 'shadow.trashExpire': an age is expected, as '14 days'")
    })?))
}

/// Whether what is removed now can be restored afterwards.
///
/// # Errors
/// When `shadow.trashExpire` is no age.
pub(super) fn is_kept(repo: &Repo) -> Result<bool> {
    Ok(expiry(repo)? > now())
}

/// An age (`14d`, `14 days`, `2 weeks`, `36h`, `now`) in seconds.
///
/// # Errors
/// When it is none.
pub(super) fn age(text: &str) -> Result<i64> {
    let text = text.trim().trim_end_matches(".ago").replace('.', " ");
    if text == "now" {
        return Ok(0);
    }
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: i64 = digits.trim().parse().context("no age: 14d, 2 weeks, 36h")?;
    let seconds = match text[digits.len()..].trim() {
        "" | "d" | "day" | "days" => 86_400,
        "w" | "week" | "weeks" => 604_800,
        "h" | "hour" | "hours" => 3600,
        "m" | "min" | "minutes" => 60,
        "s" | "sec" | "seconds" => 1,
        _ => crate::error::bail!("no age: 14d, 2 weeks, 36h"),
    };
    Ok(number.saturating_mul(seconds))
}

/// Starts the sweep of `place`, which outlives us.
pub(super) fn sweep_in_background(place: &Place) {
    // What cannot be started now is done by the next `remove` or `prune`.
    if let Ok(program) = std::env::current_exe() {
        let _ = Child::new(program)
            .current_dir(Path::new("/"))
            .arg("sweep")
            .arg(&place.folder)
            .detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_as_git_writes_them() {
        for (text, seconds) in [
            ("14 days", 14 * 86_400),
            ("2.weeks.ago", 14 * 86_400),
            ("36h", 36 * 3600),
            ("7", 7 * 86_400),
            ("now", 0),
        ] {
            assert_eq!(age(text).ok(), Some(seconds), "{text}");
        }
        assert!(age("soon").is_err() && age("3 moons").is_err());
    }
}
