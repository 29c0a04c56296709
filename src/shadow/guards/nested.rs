//! Repositories inside: someone's clone, another worktree, submodules.

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::Mode;

use crate::error::Result;
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::quote::quoted;
use crate::shadow::entry::{Entry, pointer};
use crate::shadow::environment;
use crate::shadow::guards::walk::Walked;
use crate::shadow::guards::{Finding, Weight};
use crate::shadow::task::{Task, shown};
use crate::snapshot::index::Index;
use crate::snapshot::root::Root;

/// Worktrees inside it, of this repository or another: git would take them for gone,
/// with all that only they have. Nothing waives them.
///
/// # Errors
/// When the shadows cannot be read.
pub(super) fn worktrees(repo: &Repo, task: &Task, walk: &Walked) -> Result<Option<Finding>> {
    let mut found: Vec<PathBuf> = walk
        .nested
        .iter()
        .map(|path| task.path.join(path.to_path_lossy()))
        .collect();
    let temporary = environment::temporary(repo, task);
    found.extend(repositories_below(&temporary));
    found.retain(|folder| is_worktree(folder));
    for folder in [&task.path, &temporary] {
        found.extend(worktrees_below(repo, folder));
    }
    found.sort();
    found.dedup();
    let shadows = Task::all(repo)?;
    let items: Vec<String> = found
        .iter()
        .map(|path| {
            let of = shadows.iter().find(|other| other.path == *path);
            let name = of.map_or(String::new(), |of| format!(" (the shadow '{}')", of.task));
            let entry = pointer(path).and_then(|admin| Entry::read(&admin));
            let locked = entry.is_some_and(|entry| entry.locked.is_some());
            let locked = if locked { " (locked)" } else { "" };
            format!("{}{name}{locked}", shown(path))
        })
        .collect();
    Ok(finding(
        Weight::Refuse,
        "worktrees",
        "worktrees are inside it ('git worktree move' or 'git worktree remove' them first)",
        items,
    ))
}

/// The worktrees of this repository that are in `folder`, whether git's entry or the
/// disk says so.
pub(in crate::shadow) fn worktrees_below(repo: &Repo, folder: &Path) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    Entry::all(repo)
        .into_iter()
        .filter_map(|entry| entry.path)
        .map(|path| real(&path))
        .filter(|path| *path != folder && path.starts_with(&folder) && path.exists())
        .collect()
}

/// Whether a folder's `.git` names an entry for linked worktrees.
fn is_worktree(folder: &Path) -> bool {
    pointer(folder).is_some_and(|admin| admin.join("commondir").is_file())
}

/// Repositories that the shadow's index does not know.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn repositories(shadow: &Repo, walk: &Walked) -> Result<Option<Finding>> {
    let index = Index::load(shadow)?;
    let root = Root::open(shadow.require_worktree()?)?;
    let items: Vec<String> = walk
        .nested
        .iter()
        .filter(|path| !is_submodule(&index, path.as_bstr()))
        .filter(|path| !is_worktree(&root.join(path.as_bstr())))
        .map(|path| quoted(path.as_bstr()))
        .collect();
    Ok(finding(
        Weight::Ask,
        "repositories",
        "repositories are inside it; they stay in the trash folder",
        items,
    ))
}

/// Repositories in the shadow's temporary folder.
pub(super) fn temporary(repo: &Repo, task: &Task) -> Option<Finding> {
    let found = repositories_below(&environment::temporary(repo, task));
    let items = found
        .iter()
        .filter(|folder| !is_worktree(folder))
        .map(|folder| shown(folder))
        .collect();
    let what = "repositories are in its temporary folder; they stay in the trash folder";
    finding(Weight::Ask, "temporary", what, items)
}

/// Whether a repository, with files or bare, is in `folder`.
pub(in crate::shadow) fn has_repository(folder: &Path) -> bool {
    !repositories_below(folder).is_empty()
}

fn repositories_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let is_bare = || ["HEAD", "objects", "refs"].map(|n| folder.join(n).exists()) == [true; 3];
        if folder.join(".git").symlink_metadata().is_ok() || is_bare() {
            found.push(folder);
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Submodules with work that is nowhere else.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn submodules(shadow: &Repo, walk: &Walked) -> Result<Option<Finding>> {
    let index = Index::load(shadow)?;
    let root = Root::open(shadow.require_worktree()?)?;
    let mut items = Vec::new();
    for path in walk
        .nested
        .iter()
        .filter(|path| is_submodule(&index, path.as_bstr()))
    {
        let name = quoted(path.as_bstr());
        match work_in(&root.join(path.as_bstr())) {
            Some(work) => items.extend(work.into_iter().map(|what| format!("{name} ({what})"))),
            None => items.push(format!("{name} (cannot be looked at)")),
        }
    }
    Ok(finding(
        Weight::Ask,
        "submodules",
        "submodules have work of their own; they stay in the trash folder",
        items,
    ))
}

/// What only the submodule in `folder` has, each thing by itself; `None` when git
/// cannot tell.
fn work_in(folder: &Path) -> Option<Vec<String>> {
    let mut work = Vec::new();
    let status = [
        "status",
        "--porcelain",
        "--untracked-files=all",
        "--ignored",
        // git would look into those below with their own configuration.
        "--ignore-submodules=dirty",
    ];
    if !asked(folder, &status)?.is_empty() {
        work.push("changes".to_owned());
    }
    let listed = asked(folder, &["ls-files", "-s", "-z"])?;
    for line in listed.split(|b| *b == 0) {
        if let Some((head, path)) = line.split_once_str(b"\t")
            && head.starts_with(b"160000 ")
        {
            let below = folder.join(path.to_path_lossy());
            if below.join(".git").exists() {
                let path = quoted(path.as_bstr());
                let inside = work_in(&below)?.into_iter();
                work.extend(inside.map(|what| format!("{path}: {what}")));
            }
        }
    }
    let hidden = asked(folder, &["ls-files", "-v", "-z"])?;
    let is_hidden = hidden.split(|b| *b == 0).any(|line| match line.first() {
        Some(b'a'..=b'z') => true,
        Some(b'S') => {
            let path = folder.join(line.get(2..).unwrap_or_default().to_path_lossy());
            path.symlink_metadata().is_ok()
        }
        _ => false,
    });
    if is_hidden {
        work.push("files whose changes a flag hides".to_owned());
    }
    let log = [
        "log",
        "--format=%h %s",
        "-n",
        "10",
        "HEAD",
        "--branches",
        "--tags",
        "--not",
        "--remotes",
    ];
    let unpushed = asked(folder, &log)?;
    for line in unpushed.lines() {
        work.push(format!("on no remote: {}", line.as_bstr()));
    }
    let stashed = asked(folder, &["stash", "list", "--format=%gd %gs"])?;
    for line in stashed.lines() {
        work.push(format!("stashed: {}", line.as_bstr()));
    }
    Some(work)
}

fn finding(weight: Weight, kind: &'static str, what: &str, items: Vec<String>) -> Option<Finding> {
    (!items.is_empty()).then(|| Finding {
        weight,
        kind,
        what: what.to_owned(),
        items,
        maker: None,
    })
}

fn is_submodule(index: &Index, path: &BStr) -> bool {
    index
        .state()
        .entry_by_path(path)
        .is_some_and(|entry| entry.mode == Mode::COMMIT)
}

/// What git prints in `folder`; `None` when it fails.
fn asked(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = neutral(folder)?.args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// git in `folder`, whose own configuration starts no programs: no file system
/// monitor, no hooks, no filters.
fn neutral(folder: &Path) -> Option<Child> {
    let keys = Child::git()
        .current_dir(folder)
        .args(["config", "--show-scope", "--name-only", "--get-regexp"])
        .arg(r"^filter\..*\.(clean|smudge|process|required)$")
        .output()
        .ok()?;
    let mut settings = vec![
        ("core.fsmonitor".to_owned(), "false"),
        ("core.hooksPath".to_owned(), "/dev/null"),
    ];
    for line in keys.stdout.lines() {
        let (scope, key) = line.to_str().ok()?.split_once('\t')?;
        if matches!(scope, "local" | "worktree") {
            let is_flag = key.ends_with(".required");
            settings.push((key.to_owned(), if is_flag { "false" } else { "" }));
        }
    }
    let mut child = Child::git()
        .current_dir(folder)
        .env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (key, value)) in settings.iter().enumerate() {
        child = child
            .env(format!("GIT_CONFIG_KEY_{number}"), key)
            .env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    Some(child)
}
