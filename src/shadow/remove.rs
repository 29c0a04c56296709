//! `git shadow remove`.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::describe::{Standing, healthy_entry};
use crate::shadow::entry::main_worktree;
use crate::shadow::guards::{Finding, Maker, Weight, commits};
use crate::shadow::process::now;
use crate::shadow::removal::{self, Gone, Outcome, Wish, describe};
use crate::shadow::task::{BranchFate, Leaving, Phase, Task, path_json, short, shown};
use crate::shadow::{absence, place, trash, unmake};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadows
    #[arg(value_name = "task", required = true)]
    tasks: Vec<String>,
    /// Keep the branch, merged or not
    #[arg(long, conflicts_with = "delete_branch")]
    keep_branch: bool,
    /// Delete the branch, merged or not
    #[arg(long)]
    delete_branch: bool,
    /// Ask nothing about uncommitted work
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Answer every question with yes
    #[arg(short, long)]
    yes: bool,
    /// Print only errors and questions
    #[arg(short, long)]
    quiet: bool,
    /// Print what was done as JSON, one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let tasks: Vec<Task> = arguments
        .tasks
        .iter()
        .map(|name| Task::require(repo, name))
        .collect::<Result<_>>()?;
    let wish = Wish {
        leaving: Leaving {
            branch: match (arguments.keep_branch, arguments.delete_branch) {
                (true, _) => BranchFate::Keep,
                (_, true) => BranchFate::Delete,
                _ => BranchFate::WhenMerged,
            },
            ..Leaving::default()
        },
        force: arguments.force,
        yes: arguments.yes,
        dry_run: arguments.dry_run,
    };
    let [task] = tasks.as_slice() else {
        return all(repo, &tasks, wish, arguments.json, ui);
    };
    let outcome = remove_any(repo, task, wish, ui)?;
    Ok(match tell(repo, task, &outcome, arguments.json, ui)? {
        true => Exit::Done,
        false => Exit::No,
    })
}

/// Several: one that cannot be removed stands in no other's way.
fn all(repo: &Repo, tasks: &[Task], wish: Wish, as_json: bool, ui: &mut Ui) -> Result<Exit> {
    let mut exit = Exit::Done;
    for task in tasks {
        match remove_any(repo, task, wish, ui) {
            Ok(outcome) => {
                if !tell(repo, task, &outcome, as_json, ui)? {
                    exit = Exit::No;
                }
            }
            Err(error) => {
                exit = Exit::No;
                ui.say(format_args!("error: {error:#}"));
                if as_json {
                    let error = format!("{error:#}");
                    ui.json(&json!({"task": task.task, "removed": false, "error": error}))?;
                }
            }
        }
    }
    Ok(exit)
}

/// Removes the shadow, also one whose `add` or `remove` was killed.
///
/// # Errors
/// As [`removal::remove`].
pub(super) fn remove_any(repo: &Repo, task: &Task, wish: Wish, ui: &mut Ui) -> Result<Outcome> {
    if task.phase != Phase::Finished && (wish.dry_run || !task.is_abandoned()) {
        return removal::remove(repo, task, wish, ui);
    }
    match task.phase {
        Phase::Finished => {
            let tip = Standing::of(repo, task).head;
            let unmerged = match tip {
                Some(tip) if wish.leaving.branch == BranchFate::Delete => {
                    commits::unreachable_branch(repo, task, tip)?
                }
                _ => None,
            };
            if let Some(finding) = unmerged.filter(|_| !wish.yes) {
                return Ok(Outcome::Stays(vec![finding]));
            }
            if wish.dry_run {
                return Ok(Outcome::WouldGo(Vec::new()));
            }
            removal::forget_finished(repo, task, wish).map(Outcome::Forgotten)
        }
        Phase::Removing if removal::is_moved(repo, task) => {
            removal::resume(repo, task).map(|gone| Outcome::Gone(Box::new(gone)))
        }
        Phase::Adding => take_back(repo, task, wish, ui),
        _ => removal::remove(repo, task, wish, ui),
    }
}

/// Takes back a shadow whose `add` was killed. One that has its files may have been
/// worked in: it goes as any other.
///
/// # Errors
/// As [`removal::remove`], and when something is in it that `add` did not make.
pub(super) fn take_back(repo: &Repo, task: &Task, wish: Wish, ui: &mut Ui) -> Result<Outcome> {
    let stays = |kind, what| {
        Outcome::Stays(vec![Finding {
            weight: Weight::Refuse,
            kind,
            what,
            items: Vec::new(),
            maker: None,
        }])
    };
    if let Some(why) = absence::of(repo, task) {
        let what = format!("it is absent: {why} ({})", absence::HINT);
        return Ok(stays("absent", what));
    }
    let entry = healthy_entry(repo, task).ok();
    let has_files = entry.is_some_and(|entry| entry.admin.join("index").exists());
    if has_files && task.restoring.is_some() {
        let name = &task.task;
        let what = format!("its restore was cut short: 'git shadow restore {name}' finishes it");
        return Ok(stays("restoring", what));
    }
    if has_files {
        return removal::remove(repo, task, wish, ui);
    }
    let _lock = Task::lock(repo)?;
    match unmake::unmake(repo, task) {
        Ok(()) => Ok(Outcome::NeverWas),
        Err(error) => Ok(stays("foreign", format!("{error:#}"))),
    }
}

/// Says how it went; whether it went as wished.
///
/// # Errors
/// When stdout cannot be written.
pub(super) fn tell(
    repo: &Repo,
    task: &Task,
    outcome: &Outcome,
    as_json: bool,
    ui: &mut Ui,
) -> Result<bool> {
    let name = &task.task;
    match outcome {
        Outcome::Stays(findings) => {
            let refused = findings.iter().any(|f| f.weight == Weight::Refuse);
            ui.say(format_args!(
                "{}\n'{name}' was not removed",
                describe(findings)
            ));
            if !refused && !crate::ui::can_ask() {
                let only_dirty = findings.iter().all(|f| f.weight == Weight::Dirty);
                let option = if only_dirty {
                    "'--force' or '--yes'"
                } else {
                    "'--yes'"
                };
                let after = match trash::is_kept(repo)? {
                    true => "all of this can be restored",
                    false => "for good, as shadow.trashExpire says",
                };
                ui.say(format_args!("hint: {option} removes it; {after}"));
            }
        }
        Outcome::WouldGo(findings) => {
            if !findings.is_empty() {
                ui.note(format_args!(
                    "would ask about:
{}",
                    describe(findings)
                ));
            }
            if !as_json {
                writeln!(ui.out, "would remove {name}: {}", shown(&task.path))?;
            }
        }
        Outcome::Forgotten(deleted) => {
            ui.note(format_args!("removed {name}"));
            match (deleted, task.short_branch()) {
                (Some((branch, why)), _) => {
                    ui.note(format_args!("deleted the branch {} ({why})", short(branch)));
                }
                (None, Some(branch)) => ui.note(format_args!("kept the branch {branch}")),
                _ => {}
            }
        }
        Outcome::NeverWas => ui.note(format_args!("took back the half-made '{name}'")),
        Outcome::Gone(gone) => {
            ui.note(match gone.trash.removed.expires > now() {
                true => format!("removed {name}; 'git shadow restore {name}' brings it back"),
                false => format!("removed {name} for good, as shadow.trashExpire says"),
            });
            if let Some((branch, why)) = &gone.branch_deleted {
                ui.note(format_args!("deleted the branch {} ({why})", short(branch)));
            } else if let Some(branch) = &gone.trash.removed.branch
                && gone.trash.removed.head.is_some()
            {
                ui.note(format_args!("kept the branch {}", short(branch)));
            }
        }
    }
    if as_json {
        ui.json(&outcome_json(repo, task, outcome))?;
    }
    let was_inside = place::here().starts_with(&task.path);
    if matches!(outcome, Outcome::Gone(_) | Outcome::NeverWas) && was_inside {
        let main = main_worktree(repo).unwrap_or_else(|| task.source.clone());
        ui.say(format_args!("cd {}", shown(&main)));
    }
    Ok(!matches!(outcome, Outcome::Stays(_)))
}

fn outcome_json(repo: &Repo, task: &Task, outcome: &Outcome) -> Value {
    let (removed, findings): (bool, &[Finding]) = match outcome {
        Outcome::Stays(findings) | Outcome::WouldGo(findings) => (false, findings),
        Outcome::NeverWas | Outcome::Forgotten(_) => (true, &[]),
        Outcome::Gone(gone) => (true, &gone.findings),
    };
    let gone: Option<&Gone> = match outcome {
        Outcome::Gone(gone) => Some(gone),
        _ => None,
    };
    let found: Vec<Value> = findings
        .iter()
        .map(|f| {
            let needs = match f.weight {
                Weight::Refuse => Value::Null,
                Weight::Ask => json!("yes"),
                Weight::Dirty => json!("force"),
            };
            json!({
                "kind": f.kind, "what": f.what, "items": f.items, "needs": needs,
                "maker": f.maker.map(Maker::word),
            })
        })
        .collect();
    let cd = main_worktree(repo).unwrap_or_else(|| task.source.clone());
    json!({
        "task": task.task,
        "removed": removed,
        "findings": found,
        "trash": gone.map(|g| &g.trash.name),
        "commit": gone.map(|g| g.trash.commit.to_string()),
        "branch_deleted": gone.and_then(|g| g.branch_deleted.as_ref()).map(|(b, _)| short(b)),
        "cd": path_json(&cd),
    })
}
