//! Everything that can be wrong around shadows, and its cure.

use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::Mode;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::shadow::describe::healthy_entry;
use crate::shadow::entry::{Entry, MAKING, main_worktree, pointer};
use crate::shadow::guards::commits::only_here;
use crate::shadow::record::Found;
use crate::shadow::removal::{Outcome, Wish, describe, is_moved};
use crate::shadow::remove::take_back;
use crate::shadow::task::{Phase, Task, short, shown};
use crate::shadow::{absence, checkout, deps, place, ports, remains, unmake};
use crate::snapshot::difference::Trees;
use crate::ui::Ui;

/// Something that is wrong.
pub(super) struct Ill {
    /// One word for scripts.
    pub(super) kind: &'static str,
    /// For people.
    pub(super) what: String,
    cure: Option<Cure>,
}

enum Cure {
    Unmake(Box<Task>),
    Resume(Box<Task>),
    Clear(Box<Task>),
    /// The folder was moved: both sides learn where it is.
    Follow(Box<Task>, PathBuf),
    Unbare,
    Unlock(PathBuf),
    DeleteBranch(String, ObjectId),
    RemoveFolder(PathBuf),
    ReleasePorts,
}

impl Ill {
    /// What the cure does, as a verb.
    pub(super) fn cure_words(&self) -> Option<String> {
        Some(match self.cure.as_ref()? {
            Cure::Unmake(task) => format!("take back the half-made '{}'", task.task),
            Cure::Resume(task) => format!("finish the removal of '{}'", task.task),
            Cure::Clear(task) => format!("clear what is left of '{}'", task.task),
            Cure::Follow(_, path) => format!("note that it is at '{}' now", path.display()),
            Cure::Unbare => "set core.bare to false".to_owned(),
            Cure::Unlock(path) => format!("unlock and remove the entry '{}'", path.display()),
            Cure::DeleteBranch(branch, _) => format!("delete the branch '{}'", short(branch)),
            Cure::RemoveFolder(path) => format!("remove the empty folder '{}'", path.display()),
            Cure::ReleasePorts => "give the ports back".to_owned(),
        })
    }

    /// Mends it.
    ///
    /// # Errors
    /// When that fails; then it is as it was.
    pub(super) fn mend(&self, repo: &Repo, ui: &mut Ui) -> Result<()> {
        match self.cure.as_ref().context("there is no cure")? {
            // Work in it is never the doctor's to remove.
            Cure::Unmake(task) => match take_back(repo, task, Wish::default(), ui)? {
                Outcome::Stays(findings) => Err(hinted(
                    format!("'{}' stays\n{}", task.task, describe(&findings)),
                    format!("'git shadow remove {}' asks about it", task.task),
                )),
                _ => Ok(()),
            },
            Cure::Resume(task) => crate::shadow::removal::resume(repo, task).map(drop),
            Cure::Clear(task) => remains::clear(repo, task, ui),
            Cure::Follow(task, path) => {
                repo.git_unhooked(["worktree", "repair", "--"])
                    .arg(path)
                    .stdout()?;
                let moved = Task {
                    path: path.clone(),
                    above: absence::above(path),
                    ..task.as_ref().clone()
                };
                moved.store(repo)
            }
            Cure::Unbare => {
                repo.git_unhooked(["config", "--local", "core.bare", "false"])
                    .stdout()?;
                Ok(())
            }
            Cure::Unlock(admin) => fs::remove_dir_all(admin).context("cannot remove the entry"),
            Cure::DeleteBranch(branch, tip) => unmake::delete_branch(repo, branch, *tip),
            Cure::RemoveFolder(path) => fs::remove_dir(path).context("cannot remove the folder"),
            Cure::ReleasePorts => ports::release_orphans(),
        }
    }
}

/// Looks at everything.
///
/// # Errors
/// When the repository cannot be read.
pub(super) fn look(repo: &Repo) -> Result<Vec<Ill>> {
    let tasks = Task::all(repo)?;
    let entries = Entry::all(repo);
    let mut found = Vec::new();
    for task in &tasks {
        found.extend(shadow(repo, task, &entries)?);
    }
    for slug in Task::unreadable(repo)? {
        let what = format!("the record of the shadow '{slug}' is torn, or of a later version");
        found.push(ill("record", what, None));
    }
    found.extend(bare(repo));
    found.extend(phantoms(&tasks, &entries));
    found.extend(branches(repo, &tasks)?);
    found.extend(folders(repo, &tasks));
    let orphans = ports::orphans()?;
    if !orphans.is_empty() {
        let names: Vec<String> = orphans
            .iter()
            .map(|block| format!("{} ({})", block.start, block.task))
            .collect();
        found.push(ill(
            "ports",
            format!("nobody holds the ports {}", names.join(", ")),
            Some(Cure::ReleasePorts),
        ));
    }
    Ok(found)
}

fn ill(kind: &'static str, what: String, cure: Option<Cure>) -> Ill {
    Ill { kind, what, cure }
}

/// One shadow: unfinished, gone, moved, with committed links or silent hooks.
fn shadow(repo: &Repo, task: &Task, entries: &[Entry]) -> Result<Vec<Ill>> {
    let boxed = || Box::new(task.clone());
    let name = &task.task;
    let absent = absence::of(repo, task).map(|why| {
        let what = format!("the shadow '{name}' is absent: {why}; {}", absence::HINT);
        ill("absent", what, None)
    });
    if task.is_abandoned() {
        if let Some(absent) = absent {
            return Ok(vec![absent]);
        }
        let (what, cure) = match task.phase {
            Phase::Adding if task.restoring.is_some() && healthy_entry(repo, task).is_ok() => {
                let what = format!(
                    "the 'restore' of '{name}' was cut short: 'git shadow restore {name}' finishes it"
                );
                return Ok(vec![ill("unfinished", what, None)]);
            }
            Phase::Adding => ("add", Cure::Unmake(boxed())),
            _ if is_moved(repo, task) => ("remove", Cure::Resume(boxed())),
            _ => {
                return Ok(vec![ill(
                    "unfinished",
                    format!("the 'remove' of '{name}' was cut short: run it again"),
                    None,
                )]);
            }
        };
        return Ok(vec![ill(
            "unfinished",
            format!("the '{what}' of '{name}' was cut short"),
            Some(cure),
        )]);
    }
    if task.phase != Phase::Ready {
        // Finished, or at work this moment.
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if let Err(error) = healthy_entry(repo, task) {
        // By `git worktree move`, or by hand.
        let own = entries
            .iter()
            .find(|e| Some(&e.name) == task.entry.as_ref());
        let by_git = own.and_then(|entry| {
            let path = entry.path.clone()?;
            let admin = pointer(&path)?;
            crate::shadow::entry::is_same(&admin, &entry.admin).then_some(path)
        });
        let moved = by_git.or_else(|| absence::moved_to(repo, task));
        if let (None, Some(absent)) = (&moved, absent) {
            return Ok(vec![absent]);
        }
        let cure = match moved {
            Some(path) => Some(Cure::Follow(boxed(), path)),
            None if !task.path.exists() => {
                let locked = own.is_some_and(|entry| entry.locked.is_some());
                (!locked).then(|| Cure::Clear(boxed()))
            }
            None => None,
        };
        found.push(ill(
            "broken",
            format!("the shadow '{name}' is broken: {error:#}"),
            cure,
        ));
        return Ok(found);
    }
    let shadow = task.open()?;
    if let Some(head) = shadow.head()?.commit {
        let trees = Trees::new(&shadow, Default::default());
        let tree = shadow.tree_of(head)?;
        for dependency in deps::names(repo) {
            let value = trees.value(tree, BString::from(dependency.as_str()).as_bstr())?;
            if matches!(value, Some((Mode::SYMLINK, _))) {
                let what = format!("'{name}' has committed the dependency link '{dependency}'");
                found.push(ill("committed-link", what, None));
            }
        }
    }
    if let Some(hooks) = repo.config_text("core.hooksPath")
        && Path::new(&hooks).is_relative()
        && !hooks.starts_with('~')
        && !task.path.join(&hooks).is_dir()
    {
        let what =
            format!("hooks do not run in '{name}': core.hooksPath is '{hooks}', which it has not");
        found.push(ill("hooks", what, None));
    }
    Ok(found)
}

/// `core.bare` on a repository that has a working tree.
fn bare(repo: &Repo) -> Option<Ill> {
    let common = repo.common_dir();
    let is_bare = repo.config_bool("core.bare", false).unwrap_or(false);
    let has_files =
        common.file_name().is_some_and(|name| name == ".git") && common.join("index").exists();
    (is_bare && has_files).then(|| {
        let what = format!(
            "core.bare is true, but '{}' has a working tree",
            common.display()
        );
        ill("bare", what, Some(Cure::Unbare))
    })
}

/// Entries that we locked while making a worktree that never came.
fn phantoms(tasks: &[Task], entries: &[Entry]) -> Vec<Ill> {
    entries
        .iter()
        .filter(|entry| entry.locked.as_deref() == Some(MAKING))
        .filter(|entry| {
            !tasks.iter().any(|t| {
                t.entry.as_ref() == Some(&entry.name) || Some(&t.path) == entry.path.as_ref()
            })
        })
        .map(|entry| {
            let gone = entry.path.as_deref().is_none_or(|path| !path.exists());
            let what = format!(
                "the worktree entry '{}' is locked by a 'git shadow' that is gone",
                entry.name
            );
            ill(
                "phantom",
                what,
                gone.then(|| Cure::Unlock(entry.admin.clone())),
            )
        })
        .collect()
}

/// Branches below our prefix that no shadow has.
fn branches(repo: &Repo, tasks: &[Task]) -> Result<Vec<Ill>> {
    let prefix = repo
        .config_text("shadow.branchPrefix")
        .unwrap_or_else(|| "agent/".to_owned());
    if !prefix.ends_with('/') {
        return Ok(Vec::new());
    }
    // Only what a removed shadow's record says that we made: anybody may name a branch so.
    let ours: Vec<String> = Found::all(repo)?
        .into_iter()
        .filter(|found| found.removed.task.made_branch)
        .filter_map(|found| found.removed.task.branch)
        .collect();
    let mut found = Vec::new();
    for (branch, tip) in repo.refs_below(&format!("refs/heads/{prefix}"))? {
        let branch = branch.to_string();
        // Where case does not count, a branch is listed as its folder was first written.
        let is_known = |task: &Task| {
            let own = task.branch.as_deref();
            own.is_some_and(|own| own.eq_ignore_ascii_case(&branch))
        };
        if !ours.contains(&branch)
            || tasks.iter().any(is_known)
            || checkout::is_in_use(repo, &branch)?
        {
            continue;
        }
        let elsewhere = only_here(repo, tip, Some(&branch), &["-n", "1"])?.is_empty();
        // Work that is only here may be waiting for its merge: that is nothing wrong.
        if elsewhere {
            let what = format!(
                "the branch '{}' belongs to no shadow and has nothing of its own",
                short(&branch)
            );
            found.push(ill("branch", what, Some(Cure::DeleteBranch(branch, tip))));
        }
    }
    Ok(found)
}

/// Folders where shadows live that are none.
fn folders(repo: &Repo, tasks: &[Task]) -> Vec<Ill> {
    let Ok(sample) = place::default(repo, "x", "x") else {
        return Vec::new();
    };
    let Some(parent) = sample
        .parent()
        .filter(|_| repo.config("shadow.path").is_none())
    else {
        return Vec::new();
    };
    let main = main_worktree(repo);
    let mut found = Vec::new();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let known = tasks.iter().any(|t| t.path == path) || main.as_ref() == Some(&path);
        if hidden || known || !path.is_dir() || pointer(&path).is_some_and(|admin| admin.exists()) {
            continue;
        }
        let is_empty = fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_none());
        let what = format!("the folder {} is no shadow", shown(&path));
        found.push(ill(
            "folder",
            what,
            is_empty.then_some(Cure::RemoveFolder(path)),
        ));
    }
    found
}
