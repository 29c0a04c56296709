//! `git shadow restore`.

use std::path::PathBuf;

use clap::Args;
use gix::bstr::ByteSlice;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::git::quote::quoted;
use crate::shadow::putback::{self, Answer};
use crate::shadow::record::Found;
use crate::shadow::sweep;
use crate::shadow::task::{short, shown};
use crate::shadow::trash::Place;
use crate::ui::{Ui, listed};

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow; its newest removal is meant, '<task>@{1}' the one before
    #[arg(value_name = "task", required_unless_present = "list")]
    task: Option<String>,
    /// Folder to restore it in; without it, where it was
    #[arg(long, value_name = "dir")]
    path: Option<PathBuf>,
    /// Branch to make for it; without it, the one it had
    #[arg(short, long, value_name = "branch")]
    branch: Option<String>,
    /// List what can be restored, and what waits in trash folders
    #[arg(long, conflicts_with_all = ["path", "branch"])]
    list: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    if arguments.list {
        return list(repo, arguments.task.as_deref(), ui);
    }
    let task = arguments.task.as_deref().unwrap_or_default();
    let (name, number) = numbered(task);
    let found = Found::all(repo)?
        .into_iter()
        .rev()
        .filter(|found| found.removed.task.task == name)
        .nth(number);
    let Some(found) = found else {
        ui.say(format_args!(
            "no shadow '{task}' was removed\nhint: 'git shadow restore --list'"
        ));
        return Ok(Exit::No);
    };
    match putback::put_back(
        repo,
        &found,
        arguments.path.clone(),
        arguments.branch.clone(),
    )? {
        Answer::Taken(why) => {
            ui.say(why);
            Ok(Exit::No)
        }
        Answer::Done(task, warnings) => {
            use std::os::unix::ffi::OsStrExt;
            ui.out.write_all(task.path.as_os_str().as_bytes())?;
            writeln!(ui.out)?;
            for warning in warnings {
                ui.warn(warning);
            }
            ui.note(format_args!("restored {} from {}", task.task, found.name));
            Ok(Exit::Done)
        }
    }
}

/// A task, and which of its removals is meant: `t@{1}` is the last but one, as the
/// entries of a reflog are counted. No task has such a name.
fn numbered(text: &str) -> (&str, usize) {
    let parts = text.strip_suffix('}').and_then(|t| t.rsplit_once("@{"));
    match parts.and_then(|(name, number)| Some((name, number.parse().ok()?))) {
        Some(parts) => parts,
        None => (text, 0),
    }
}

fn list(repo: &Repo, task: Option<&str>, ui: &mut Ui) -> Result<Exit> {
    let all = Found::all(repo)?;
    for (at, found) in all.iter().enumerate() {
        let removed = &found.removed;
        if task.is_some_and(|task| task != removed.task.task) {
            continue;
        }
        let later = all[at + 1..].iter();
        let number = later
            .filter(|later| later.removed.task.task == removed.task.task)
            .count();
        let id = match number {
            0 => removed.task.task.clone(),
            n => format!("{}@{{{n}}}", removed.task.task),
        };
        let branch = removed.branch.as_deref().map_or("(detached)", short);
        writeln!(
            ui.out,
            "{id}  {}  {branch}  {}",
            removed.time,
            shown(&removed.task.path)
        )?;
        let place = Place::at(&removed.folder);
        let left: Vec<String> = sweep::left(&place)
            .iter()
            .map(|path| quoted(path.as_bstr()))
            .collect();
        if !left.is_empty() {
            writeln!(ui.out, "  in no snapshot, in {}:", shown(&place.tree()))?;
            writeln!(ui.out, "{}", listed(&left))?;
        }
        if place.temporary().exists() {
            writeln!(
                ui.out,
                "  its temporary folder: {}",
                shown(&place.temporary())
            )?;
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn removals_are_counted_as_reflogs_are() {
        assert_eq!(numbered("t"), ("t", 0));
        assert_eq!(numbered("t@{2}"), ("t", 2));
        assert_eq!(numbered("t@{x}"), ("t@{x}", 0));
    }
}
