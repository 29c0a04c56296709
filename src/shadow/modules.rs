//! The repositories of a removed shadow's submodules: git keeps them in the entry of
//! the worktree, and they and the submodules' folders name each other by path.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::command::Child;
use crate::shadow::removal::move_folder;
use crate::shadow::task::Task;
use crate::shadow::trash::Place;
use crate::state::{crash, file};

/// Moves the repositories back into git's entry of the shadow.
///
/// # Errors
/// When they cannot be moved.
pub(super) fn bring_back(place: &Place, shadow: &Repo) -> Result<()> {
    let (from, to) = (
        place.entry().join("modules"),
        shadow.git_dir().join("modules"),
    );
    if from.is_dir() {
        crash::point();
        move_folder(&from, &to)?;
    }
    Ok(())
}

/// Makes repositories and folders name each other again, once both are back; `old`
/// is the shadow as it was removed.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn connect(repo: &Repo, shadow: &Repo, old: &Task, task: &Task) -> Result<()> {
    let modules = shadow.git_dir().join("modules");
    let before = old.admin(repo).unwrap_or_default().join("modules");
    for name in below(&modules, Path::new("")) {
        let module = modules.join(&name);
        let git = |arguments: &[&str]| {
            Child::git()
                .args(["config", "-f"])
                .arg(module.join("config"))
                .args(arguments)
        };
        let Some(worktree) = git(&["core.worktree"]).answer()? else {
            continue;
        };
        let worktree = Path::new(std::ffi::OsStr::from_bytes(worktree.trim_ascii_end()));
        let worktree = plain(&before.join(&name).join(worktree));
        let Ok(path) = worktree
            .strip_prefix(&old.path)
            .or_else(|_| worktree.strip_prefix(&task.path))
        else {
            continue;
        };
        let folder = task.path.join(path);
        let pointer = folder.join(".git");
        if !fs::symlink_metadata(&pointer).is_ok_and(|found| found.is_file()) {
            continue;
        }
        crash::point();
        git(&["core.worktree"])
            .arg(&folder)
            .stdout()
            .with_context(|| format!("cannot connect the submodule '{}'", folder.display()))?;
        let line = [b"gitdir: ", module.as_os_str().as_bytes(), b"\n"].concat();
        file::replace(&pointer, &line, shadow.sharing(), false)?;
    }
    Ok(())
}

/// All repositories below `folder`: names may have slashes, and a submodule's own
/// submodules are in a `modules` of its own.
fn below(folder: &Path, prefix: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = prefix.join(entry.file_name());
        if path.join("HEAD").exists() && path.join("config").is_file() {
            found.extend(below(&path.join("modules"), &name.join("modules")));
            found.push(name);
        } else {
            found.extend(below(&path, &name));
        }
    }
    found
}

/// Without `..`, by text: what it led through may be gone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_by_its_text() {
        assert_eq!(plain(Path::new("/a/b/../../c/./d")), Path::new("/c/d"));
    }
}
