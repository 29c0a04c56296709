//! `git shadow move`.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Result, bail, hinted};
use crate::git::Repo;
use crate::shadow::describe::healthy_entry;
use crate::shadow::entry::Entry;
use crate::shadow::guards::nested;
use crate::shadow::lease::Lease;
use crate::shadow::make::require_free_path;
use crate::shadow::process::inside;
use crate::shadow::task::{Phase, Task, shown};
use crate::shadow::{absence, place};
use crate::state::crash;
use crate::ui::{Ui, listed};

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// Its new folder
    #[arg(value_name = "new-path")]
    path: PathBuf,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    let path = place::real(&std::path::absolute(&arguments.path)?);
    if was_moved(repo, &task, &path) {
        let _lock = Task::lock(repo)?;
        return note(repo, task, path, ui);
    }
    let entry = healthy_entry(repo, &task)
        .with_context(|| format!("cannot move the shadow '{}'", task.task))?;
    if task.phase != Phase::Ready {
        bail!("the shadow '{}' is not ready", task.task);
    }
    if entry.locked.is_some() {
        return Err(hinted(
            format!("the shadow '{}' is locked", task.task),
            "'git shadow unlock' first",
        ));
    }
    let Ok(_bar) = Lease::bar(repo, &task)? else {
        bail!("a command runs in the shadow '{}'", task.task);
    };
    let (found, _) = inside(&task.path);
    if let Some(process) = found.first() {
        ui.say(format_args!(
            "'{}' was not moved: process {} ({}) works in it",
            task.task, process.pid, process.name
        ));
        return Ok(Exit::No);
    }
    let inside = nested::worktrees_below(repo, &task.path);
    if !inside.is_empty() {
        let inside: Vec<String> = inside.iter().map(|path| shown(path)).collect();
        ui.say(format_args!(
            "'{}' was not moved: worktrees are inside it ('git worktree move' them first):\n{}",
            task.task,
            listed(&inside)
        ));
        return Ok(Exit::No);
    }
    place::require_outside_git(repo, &path)?;
    require_free_path(&path)?;
    let parent = path.parent().unwrap_or(&path);
    std::fs::create_dir_all(parent)
        .with_context(|| format!("cannot make '{}'", parent.display()))?;
    let _lock = Task::lock(repo)?;
    crash::point();
    // An empty folder there would make git move the shadow into it.
    let _ = std::fs::remove_dir(&path);
    repo.git_unhooked(["worktree", "move", "--"])
        .args([&task.path, &path])
        .stdout()?;
    crash::point();
    note(repo, task, path, ui)
}

/// Whether git has moved the shadow to `path` and nobody has noted it: a `move`
/// that was killed.
fn was_moved(repo: &Repo, task: &Task, path: &Path) -> bool {
    let entry = task.admin(repo).and_then(|admin| Entry::read(&admin));
    task.phase == Phase::Ready
        && !task.path.exists()
        && entry.is_some_and(|entry| entry.points_both_ways(path))
}

/// Stores that the shadow is at `path` now, and says it.
fn note(repo: &Repo, task: Task, path: PathBuf, ui: &mut Ui) -> Result<Exit> {
    let old = task.path.clone();
    Task {
        path: path.clone(),
        above: absence::above(&path),
        ..task
    }
    .store(repo)?;
    place::tidy(&old);
    ui.out.write_all(path.as_os_str().as_bytes())?;
    writeln!(ui.out)?;
    Ok(Exit::Done)
}
