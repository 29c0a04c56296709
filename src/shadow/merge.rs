//! `git shadow merge`.

use clap::Args;
use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::quote::{json_path, quoted};
use crate::shadow::describe::{Standing, healthy_entry, require_own_branch};
use crate::shadow::overlap::{Merged, merge_tree, write_merge};
use crate::shadow::rebase::{Rebased, rebase, take_back, would_take};
use crate::shadow::removal::Wish;
use crate::shadow::remove;
use crate::shadow::target::{Target, Upstream};
use crate::shadow::task::{Leaving, Phase, Task, shown};
use crate::state::crash;
use crate::ui::{Ui, listed};

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// Branch to merge into; without it, the one that was checked out at `add`
    #[arg(long, value_name = "branch")]
    into: Option<String>,
    /// One commit with all changes
    #[arg(long, conflicts_with_all = ["ff_only", "no_ff", "rebase"])]
    squash: bool,
    /// Only move the branch forward
    #[arg(long, conflicts_with_all = ["no_ff", "rebase"])]
    ff_only: bool,
    /// A merge commit in any case
    #[arg(long, conflicts_with = "rebase")]
    no_ff: bool,
    /// Rebase the shadow's branch first
    #[arg(long)]
    rebase: bool,
    /// Remove the shadow afterwards
    #[arg(long)]
    remove: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Answer every question with yes
    #[arg(short, long)]
    yes: bool,
    /// Print only errors and questions
    #[arg(short, long)]
    quiet: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// What the merge comes to.
enum Plan {
    UpToDate,
    Forward,
    Commit,
    Squash,
    Rebase,
    Conflict(Vec<BString>),
    NotForward,
}

impl Plan {
    fn how(&self) -> &'static str {
        match self {
            Plan::UpToDate => "up to date",
            Plan::Forward => "fast-forward",
            Plan::Commit => "merge commit",
            Plan::Squash => "squash",
            Plan::Rebase => "rebase",
            Plan::Conflict(_) => "conflict",
            Plan::NotForward => "not a fast-forward",
        }
    }
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let task = Task::require(repo, &arguments.task)?;
    let was_merged = task.was_leaving().is_some_and(|leaving| leaving.merged);
    if was_merged && arguments.remove && !arguments.dry_run {
        // A 'merge --remove' that was killed on its way out.
        return remove_merged(repo, arguments, ui);
    }
    if task.phase == Phase::Ready {
        healthy_entry(repo, &task).with_context(|| format!("cannot merge '{}'", task.task))?;
        require_own_branch(&task, "merge")?;
    }
    let standing = Standing::of(repo, &task);
    let Some(theirs) = standing.head else {
        let why = standing
            .reason
            .unwrap_or_else(|| "it has no commit".to_owned());
        bail!("cannot merge '{}': {why}", task.task);
    };
    let target = Target::of(repo, &task, arguments.into.as_deref())?;
    let is_committed = matches!(standing.state, "clean" | "finished");
    if !is_committed {
        ui.note("what is not committed in the shadow is not merged");
    }
    match target.upstream(repo)? {
        Upstream::Level => {}
        Upstream::Behind(how) => ui.note(format_args!("{} is stale ({how})", target.name())),
        Upstream::Diverged(how) => {
            ui.say(format_args!(
                "{} has diverged ({how})\nhint: settle it with its upstream first",
                target.name()
            ));
            return Ok(Exit::No);
        }
    }
    let mut plan = plan(repo, &target, theirs, arguments)?;
    if matches!(plan, Plan::Rebase) && standing.state != "clean" {
        ui.say("a rebase needs the shadow's folder, with all work in it committed");
        return Ok(Exit::No);
    }
    if arguments.dry_run {
        tell(&task, &target, &plan, None, arguments, ui)?;
        return Ok(refusal(&plan).unwrap_or(Exit::Done));
    }
    let mut after = None;
    if refusal(&plan).is_none() {
        match carry_out(repo, &task, &target, theirs, &plan, ui)? {
            Ok(id) => after = id,
            Err(paths) => plan = Plan::Conflict(paths),
        }
    }
    tell(&task, &target, &plan, after, arguments, ui)?;
    if let Some(exit) = refusal(&plan) {
        return Ok(exit);
    }
    if after.is_none() && !matches!(plan, Plan::UpToDate) {
        return Ok(Exit::No);
    }
    if !arguments.remove {
        return Ok(Exit::Done);
    }
    crash::point();
    remove_merged(repo, arguments, ui)
}

fn remove_merged(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    let wish = Wish {
        leaving: Leaving {
            merged: true,
            ..Leaving::default()
        },
        yes: arguments.yes,
        ..Wish::default()
    };
    let outcome = remove::remove_any(repo, &task, wish, ui)?;
    Ok(match remove::tell(repo, &task, &outcome, false, ui)? {
        true => Exit::Done,
        false => Exit::No,
    })
}

fn refusal(plan: &Plan) -> Option<Exit> {
    matches!(plan, Plan::Conflict(_) | Plan::NotForward).then_some(Exit::No)
}

fn plan(repo: &Repo, target: &Target, theirs: ObjectId, arguments: &Arguments) -> Result<Plan> {
    if is_ancestor(repo, theirs, target.tip)? {
        return Ok(Plan::UpToDate);
    }
    let is_forward = is_ancestor(repo, target.tip, theirs)?;
    if arguments.ff_only && !is_forward {
        return Ok(Plan::NotForward);
    }
    if is_forward && !arguments.squash && !arguments.no_ff {
        return Ok(Plan::Forward);
    }
    Ok(match merge_tree(repo, target.tip, theirs)? {
        Merged::Conflict(paths) => Plan::Conflict(paths),
        // Squashed before: a squash leaves nothing else to see it by.
        Merged::Clean(tree) if arguments.squash && tree == repo.tree_of(target.tip)? => {
            Plan::UpToDate
        }
        Merged::Clean(_) if arguments.squash => Plan::Squash,
        Merged::Clean(_) if arguments.rebase => Plan::Rebase,
        Merged::Clean(_) => Plan::Commit,
    })
}

fn is_ancestor(repo: &Repo, ancestor: ObjectId, of: ObjectId) -> Result<bool> {
    let asked = repo
        .git(["merge-base", "--is-ancestor"])
        .args([ancestor.to_string(), of.to_string()])
        .answer()?;
    Ok(asked.is_some())
}

/// Where the target is afterwards, none when git refused in its own words; the inner
/// error holds the conflicts that a rebase met.
fn carry_out(
    repo: &Repo,
    task: &Task,
    target: &Target,
    theirs: ObjectId,
    plan: &Plan,
    ui: &mut Ui,
) -> Result<std::result::Result<Option<ObjectId>, Vec<BString>>> {
    let message = format!("Merge shadow '{}'", task.task);
    let moved = match plan {
        Plan::UpToDate => Some(target.tip),
        Plan::Forward => advance(repo, target, theirs, ui)?,
        Plan::Squash => {
            let tree = write_merge(repo, target.tip, theirs)?;
            let message = format!(
                "{}\n\n{}",
                squash_title(task),
                subjects(repo, target, theirs)?
            );
            let commit = commit_tree(repo, tree, &[target.tip], &message)?;
            advance(repo, target, commit, ui)?
        }
        Plan::Rebase => return rebase_and_advance(repo, task, target, theirs, ui),
        Plan::Commit => match &target.holder {
            None => {
                let tree = write_merge(repo, target.tip, theirs)?;
                let parents = [target.tip, theirs];
                let commit = commit_tree(repo, tree, &parents, &message)?;
                advance(repo, target, commit, ui)?
            }
            Some(holder) => {
                let id = theirs.to_string();
                let arguments = ["merge", "-q", "--no-ff", "--no-edit", "-m", &message, &id];
                merge_in(repo, target, holder, &arguments, ui)?
            }
        },
        Plan::Conflict(_) | Plan::NotForward => None,
    };
    Ok(Ok(moved))
}

fn squash_title(task: &Task) -> String {
    format!("{}: all changes of the shadow", task.task)
}

fn subjects(repo: &Repo, target: &Target, theirs: ObjectId) -> Result<String> {
    let range = format!("{}..{theirs}", target.tip);
    let format = [
        "rev-list",
        "--reverse",
        "--no-commit-header",
        "--format=* %s",
    ];
    let listed = repo.git(format).arg(range).stdout()?;
    Ok(String::from_utf8_lossy(&listed).into_owned())
}

/// A commit by the user, signed when the user signs.
fn commit_tree(
    repo: &Repo,
    tree: ObjectId,
    parents: &[ObjectId],
    message: &str,
) -> Result<ObjectId> {
    let mut child = repo.git(["commit-tree"]);
    for part in ["NAME", "EMAIL", "DATE"] {
        child = child
            .keep_env(&format!("GIT_AUTHOR_{part}"))
            .keep_env(&format!("GIT_COMMITTER_{part}"));
    }
    if repo.config_bool("commit.gpgSign", false)? {
        child = child.arg("-S");
    }
    for parent in parents {
        child = child.args(["-p", &parent.to_string()]);
    }
    let hex = child
        .arg(tree.to_string())
        .input(message.as_bytes())
        .stdout()?;
    ObjectId::from_hex(hex.trim_ascii()).context("git made no commit")
}

/// Moves the target forward to `commit`: by git in the worktree that holds it, else by
/// ref, if it is still where it was.
fn advance(
    repo: &Repo,
    target: &Target,
    commit: ObjectId,
    ui: &mut Ui,
) -> Result<Option<ObjectId>> {
    crash::point();
    match &target.holder {
        Some(holder) => {
            let id = commit.to_string();
            merge_in(repo, target, holder, &["merge", "-q", "--ff-only", &id], ui)
        }
        None => {
            repo.git(["update-ref", "-m", "git shadow merge"])
                .arg(&target.branch)
                .args([commit.to_string(), target.tip.to_string()])
                .stdout()?;
            Ok(Some(commit))
        }
    }
}

/// `git merge` in `holder`, whose words are passed on; what a failure has begun is ended.
fn merge_in(
    repo: &Repo,
    target: &Target,
    holder: &std::path::Path,
    arguments: &[&str],
    ui: &mut Ui,
) -> Result<Option<ObjectId>> {
    ui.flush()?;
    crash::point();
    let began = holder_merges(holder)?;
    let status = Child::new("git")
        .current_dir(holder)
        .args(arguments)
        .status_on_stderr()?;
    if status.success() {
        return repo.find_ref(target.branch.as_str().into());
    }
    if !began && holder_merges(holder)? {
        Child::git()
            .current_dir(holder)
            .args(["merge", "--abort"])
            .stdout()?;
    }
    ui.say(format_args!("nothing was merged in '{}'", shown(holder)));
    Ok(None)
}

fn holder_merges(holder: &std::path::Path) -> Result<bool> {
    Ok(Repo::at(holder)?.operation() == Some("merge"))
}

/// Rebases, then moves the target; all or nothing of both.
fn rebase_and_advance(
    repo: &Repo,
    task: &Task,
    target: &Target,
    theirs: ObjectId,
    ui: &mut Ui,
) -> Result<std::result::Result<Option<ObjectId>, Vec<BString>>> {
    if let Some(holder) = &target.holder {
        let tree = write_merge(repo, target.tip, theirs)?;
        if !would_take(holder, tree)? {
            ui.say(format_args!("nothing was merged in '{}'", shown(holder)));
            return Ok(Ok(None));
        }
    }
    let tip = match rebase(task, target)? {
        Rebased::At(tip) => tip,
        Rebased::Conflict(paths) => return Ok(Err(paths)),
        Rebased::Refused => {
            ui.say(format_args!("git did not rebase '{}'", task.task));
            return Ok(Ok(None));
        }
    };
    let moved = advance(repo, target, tip, ui);
    if !matches!(moved, Ok(Some(_))) {
        take_back(task, theirs)?;
    }
    moved.map(Ok)
}

fn tell(
    task: &Task,
    target: &Target,
    plan: &Plan,
    after: Option<ObjectId>,
    arguments: &Arguments,
    ui: &mut Ui,
) -> Result<()> {
    let conflicts: &[BString] = match plan {
        Plan::Conflict(paths) => paths,
        _ => &[],
    };
    if arguments.json {
        let paths: Vec<Value> = conflicts.iter().map(|p| json_path(p.as_bstr())).collect();
        return ui.json(&json!({
            "task": task.task,
            "into": target.name(),
            "how": plan.how(),
            "before": target.tip.to_string(),
            "after": after.map(|id| id.to_string()),
            "conflicts": paths,
        }));
    }
    let (name, into) = (&task.task, target.name());
    match plan {
        Plan::Conflict(_) => {
            let shown: Vec<String> = conflicts.iter().map(|p| quoted(p.as_bstr())).collect();
            ui.say(format_args!(
                "{name} conflicts with {into}; nothing was changed:\n{}",
                listed(&shown)
            ));
        }
        Plan::NotForward => ui.say(format_args!("{into} cannot be moved forward to {name}")),
        Plan::UpToDate => ui.note(format_args!("{into} has all of {name} already")),
        _ if arguments.dry_run => {
            writeln!(ui.out, "would merge {name} into {into} ({})", plan.how())?;
        }
        _ => {
            if let Some(id) = after {
                ui.note(format_args!(
                    "merged {name} into {into} ({}): {}",
                    plan.how(),
                    id.to_hex_with_len(10)
                ));
            }
        }
    }
    Ok(())
}
