//! git's own entries of linked worktrees (gitrepository-layout(5), `worktrees/`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::Repo;

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
