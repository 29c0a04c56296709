//! `git shadow prune`: shadows that are gone, half-made, merged or old.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::describe::Standing;
use crate::shadow::entry::Entry;
use crate::shadow::merged;
use crate::shadow::process::now;
use crate::shadow::removal::Wish;
use crate::shadow::remove::{remove_any, tell};
use crate::shadow::task::{Phase, Task, path_json, shown};
use crate::shadow::{absence, expire, remains, trash};
use crate::state::lock::PATIENCE;
use crate::ui::{self, Ui};

#[derive(Args)]
pub(super) struct Arguments {
    /// Also those whose work is merged
    #[arg(long)]
    merged: bool,
    /// Only those in which nothing changed for this long (14d, 2 weeks, 36h)
    #[arg(long, value_name = "age", value_parser = trash::age)]
    older_than: Option<i64>,
    /// Show what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Answer every question with yes
    #[arg(short, long)]
    yes: bool,
    /// Print only errors and questions
    #[arg(short, long)]
    quiet: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let mut found = Vec::new();
    for task in Task::all(repo)? {
        if let Some(why) = reason(repo, &task, arguments, ui)? {
            found.push((task, why));
        }
    }
    if arguments.json {
        let all: Vec<Value> = found
            .iter()
            .map(
                |(task, why)| json!({"task": task.task, "path": path_json(&task.path), "why": why}),
            )
            .collect();
        ui.json(&all)?;
    } else {
        for (task, why) in &found {
            writeln!(ui.out, "{}: {why}", task.task)?;
        }
    }
    if arguments.dry_run || found.is_empty() {
        expire(repo, arguments.dry_run, ui)?;
        return Ok(Exit::Done);
    }
    if !arguments.yes {
        let sure = ui::can_ask() && ui::confirm(&format!("Prune these {}?", found.len()))?;
        if !sure {
            ui.say("nothing was pruned\nhint: '--yes' prunes them");
            return Ok(Exit::No);
        }
    }
    let mut exit = Exit::Done;
    for (task, _) in &found {
        let wish = Wish {
            yes: arguments.yes,
            ..Wish::default()
        };
        if task.phase == Phase::Ready && !task.path.exists() {
            remains::clear(repo, task, ui)?;
            continue;
        }
        let outcome = remove_any(repo, task, wish, ui)?;
        if !tell(repo, task, &outcome, false, ui)? {
            exit = Exit::No;
        }
    }
    expire(repo, false, ui)?;
    Ok(exit)
}

/// Why the shadow can go, if it can.
fn reason(repo: &Repo, task: &Task, arguments: &Arguments, ui: &mut Ui) -> Result<Option<String>> {
    if let Some(why) = absence::of(repo, task) {
        ui.note(format_args!(
            "{}: absent: {why}; {}",
            task.task,
            absence::HINT
        ));
        return Ok(None);
    }
    if task.is_abandoned() {
        return Ok(Some(match task.phase {
            Phase::Adding => "its 'add' was cut short".to_owned(),
            _ => "its 'remove' was cut short".to_owned(),
        }));
    }
    if matches!(task.phase, Phase::Adding | Phase::Removing) {
        return Ok(None);
    }
    if task.phase == Phase::Ready && !task.path.exists() {
        let entry = task.admin(repo).and_then(|admin| Entry::read(&admin));
        if entry.is_some_and(|entry| entry.locked.is_some()) {
            ui.note(format_args!(
                "{}: its folder is gone, but it is locked",
                task.task
            ));
            return Ok(None);
        }
        if let Some(path) = absence::moved_to(repo, task) {
            ui.note(format_args!(
                "{}: it is at {} now; 'git shadow doctor --fix' notes that",
                task.task,
                shown(&path)
            ));
            return Ok(None);
        }
        return Ok(Some("its folder is gone".to_owned()));
    }
    if !arguments.merged && arguments.older_than.is_none() {
        return Ok(None);
    }
    let standing = Standing::of(repo, task);
    if let Some(age) = arguments.older_than
        && standing.changed.is_none_or(|changed| changed > now() - age)
    {
        return Ok(None);
    }
    let Some(head) = standing
        .head
        .filter(|_| matches!(standing.state, "clean" | "finished"))
    else {
        return Ok(None);
    };
    if !arguments.merged {
        return Ok(Some("nothing changed in it for that long".to_owned()));
    }
    // Nothing was done in it yet: that is no merged work.
    if head == task.base_commit()? {
        return Ok(None);
    }
    Ok(merged::way(repo, task, head)?.map(|way| format!("merged: {}", way.words())))
}

/// Empties the trash of what has expired, and names it.
fn expire(repo: &Repo, dry_run: bool, ui: &mut Ui) -> Result<()> {
    let due = expire::due(repo)?;
    if !dry_run {
        expire::places(repo, PATIENCE);
        expire::forget(repo, &due)?;
    }
    for gone in &due {
        let (task, time, commit) = (&gone.task, &gone.time, gone.commit.to_hex_with_len(10));
        ui.note(match dry_run {
            true => format!("{task}, removed {time}, has expired"),
            false => format!("{task}, removed {time}, has expired; until a gc it is {commit}"),
        });
    }
    Ok(())
}
