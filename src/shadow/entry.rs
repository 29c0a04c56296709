//! git's own entries of linked worktrees (gitrepository-layout(5), `worktrees/`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::task::Task;

/// One entry, as its files say.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) admin: PathBuf,
    /// Where its worktree is, or was.
    pub(super) path: Option<PathBuf>,
    /// Why it is locked.
    pub(super) locked: Option<String>,
}

/// The reason with which we lock an entry while we make its worktree.
pub(super) const MAKING: &str = "git shadow is at work";

impl Entry {
    /// All entries, by name.
    pub(super) fn all(repo: &Repo) -> Vec<Self> {
        let folder = repo.common_dir().join("worktrees");
        let mut found: Vec<Self> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Self::read(&entry.path()))
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The entry in the folder `admin`.
    pub(super) fn read(admin: &Path) -> Option<Self> {
        if !admin.is_dir() {
            return None;
        }
        let line = |name: &str| {
            let bytes = fs::read(admin.join(name)).ok()?;
            Some(bytes.trim_ascii().to_owned())
        };
        let path = line("gitdir").map(|bytes| path_of(&bytes, admin));
        Some(Entry {
            name: admin.file_name()?.to_string_lossy().into_owned(),
            admin: admin.to_owned(),
            path: path.and_then(|file| file.parent().map(Path::to_owned)),
            locked: line("locked").map(|text| String::from_utf8_lossy(&text).into_owned()),
        })
    }

    /// Whether the worktree at `path` and this entry name each other.
    pub(super) fn points_both_ways(&self, path: &Path) -> bool {
        let there = self.path.as_deref().is_some_and(|own| is_same(own, path));
        there && pointer(path).is_some_and(|admin| is_same(&admin, &self.admin))
    }

    /// Whether somebody other than our own `add` has locked it.
    pub(super) fn user_lock(&self) -> Option<&str> {
        self.locked.as_deref().filter(|why| *why != MAKING)
    }
}

/// Makes a worktree without files at the path of `task`, locked by us, on its branch:
/// made at `start`, or as it is when it is there. Gives git's entry.
///
/// # Errors
/// In git's words, when it makes none.
pub(super) fn make(repo: &Repo, task: &Task, start: &str, makes_branch: bool) -> Result<Entry> {
    let mut tries = 0;
    loop {
        tries += 1;
        let branch = task.short_branch();
        // A try that failed half-way may have made the branch.
        let is_made = tries > 1
            && match &task.branch {
                Some(full) => repo.find_ref(full.as_str().into())?.is_some(),
                None => false,
            };
        let mut child = repo
            .git_unhooked(["worktree", "add", "--no-checkout", "--lock", "--reason"])
            .arg(MAKING);
        child = match branch {
            Some(branch) if makes_branch && !is_made => child.args(["--no-track", "-b", branch]),
            Some(_) => child,
            None => child.arg("--detach"),
        };
        let start = branch.filter(|_| !makes_branch || is_made).unwrap_or(start);
        let made = child.arg("--").arg(&task.path).arg(start).stdout();
        match made {
            // git's prune, and each removal of the last entry, take the empty folder of
            // all entries away, also in the moment before the new one is in it.
            Err(error) if tries < TRIES && lost_the_folder(&error) => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    pointer(&task.path)
        .and_then(|admin| Entry::read(&admin))
        .with_context(|| format!("git made no worktree at '{}'", task.path.display()))
}

/// How often git is asked when others take the folder of all entries away.
const TRIES: u32 = 10;

/// git: "could not create directory of '…/worktrees/t': No such file or directory", or
/// the same of a file in it: a prune takes an entry that has no `gitdir` yet.
fn lost_the_folder(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}");
    text.contains("/worktrees/") && text.contains("No such file or directory")
}

/// The entry that the `.git` file in `worktree` names.
pub(super) fn pointer(worktree: &Path) -> Option<PathBuf> {
    let bytes = fs::read(worktree.join(".git")).ok()?;
    let target = bytes.trim_ascii().strip_prefix(b"gitdir:")?;
    Some(path_of(target.trim_ascii(), worktree))
}

/// `bytes` as git writes a path, from the folder `relative_to`.
pub(super) fn path_of(bytes: &[u8], relative_to: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    relative_to.join(std::ffi::OsStr::from_bytes(bytes))
}

/// Whether both lead to one place; a missing one is compared by its text.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        (Err(_), Err(_)) => a == b,
        _ => false,
    }
}

/// The root of the main worktree; `None` in a bare repository.
pub(super) fn main_worktree(repo: &Repo) -> Option<PathBuf> {
    if !repo.is_linked() {
        return repo.worktree().map(Path::to_owned);
    }
    if repo.config_bool("core.bare", false).unwrap_or(false) {
        return None;
    }
    let common = repo.common_dir();
    match repo.gix().config_snapshot().string("core.worktree") {
        Some(path) => Some(path_of(&path, common)),
        None if common.file_name().is_some_and(|name| name == ".git") => {
            common.parent().map(Path::to_owned)
        }
        None => None,
    }
}
