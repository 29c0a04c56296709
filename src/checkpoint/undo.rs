//! `git checkpoint undo`.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;

use crate::checkpoint::others::Others;
use crate::checkpoint::restore::{Outcome, Wish, restore};
use crate::checkpoint::targets::Targets;
use crate::checkpoint::{head_check, outcome};
use crate::cli::Exit;
use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::git::pathspec::Scope;
use crate::lane::position::{Position, Undone};
use crate::lane::{Checkpoint, Lane, find, head_restore, index_restore};
use crate::snapshot::index::Index;
use crate::snapshot::restore::journal::Journal;
use crate::snapshot::restore::stage::Stage;
use crate::snapshot::root::Root;
use crate::ui::{self, Ui};

#[derive(Args)]
pub(super) struct Arguments {
    /// Checkpoint to go back to; without it, the newest that differs
    #[arg(value_name = "N", conflicts_with = "to")]
    number: Option<String>,
    /// Checkpoint to go back to
    #[arg(long, value_name = "N")]
    to: Option<String>,
    /// Only what this session of an agent changed
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Bring the index back too
    #[arg(long)]
    index: bool,
    /// Move the branch back too; implies --index
    #[arg(long, conflicts_with = "no_head")]
    head: bool,
    #[command(flatten)]
    common: Common,
    /// Only these paths
    #[arg(last = true, value_name = "pathspec")]
    pathspecs: Vec<OsString>,
}

/// What undo and redo share.
#[derive(Args)]
pub(super) struct Common {
    /// What to do with changes that no agent made
    #[arg(
        long,
        value_name = "what",
        require_equals = true,
        default_value = "ask"
    )]
    pub(super) others: Others,
    /// Leave changes that no agent made as they are; the same as --others=keep
    #[arg(long, conflicts_with = "others")]
    pub(super) agent_only: bool,
    /// Restore the files although another branch or operation is under way
    #[arg(long)]
    pub(super) no_head: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub(super) dry_run: bool,
    /// Answer every question with yes: changes that no agent made are undone too
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Say only what needs attention
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl Common {
    pub(super) fn others(&self) -> Others {
        if self.agent_only {
            Others::Keep
        } else {
            self.others
        }
    }
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let common = &arguments.common;
    ui.set_quiet(common.quiet);
    let named = arguments.to.as_ref().or(arguments.number.as_ref());
    let journal = Journal::load(repo)?;
    let position = Position::load(repo)?;
    let Some(lane) = Lane::find(repo)? else {
        return outcome::tell(&Outcome::Same, false, false, common.json, ui);
    };
    let mut scope = Scope::of_pathspecs(repo, &arguments.pathspecs)?;
    let mut journal_to_finish = None;
    let mut targets = match (named, &journal) {
        (None, Some(unfinished)) => {
            // An undo is finished; a redo is taken back to where it began.
            let goal = match unfinished.redo {
                false => unfinished.target.clone(),
                true => format!("{}/{}", lane.name, unfinished.safety),
            };
            ui.note(format_args!(
                "a restore of {} was cut short; restoring {goal}",
                unfinished.target
            ));
            scope = Scope::Only(unfinished.paths().into_iter().collect());
            journal_to_finish = journal.clone();
            Targets::only(find::by_text(repo, &goal)?)
        }
        (None, None) => Targets::back(repo, &lane, &position)?,
        (Some(named), _) => {
            let target = find::by_text(repo, named)?;
            if !is_own(&target, &lane, named, common, ui)? {
                return Ok(Exit::No);
            }
            if let Some(unfinished) = &journal
                && !unfinished.redo
                && unfinished.target == target.lane_and_number()
                && scope.is_all()
            {
                journal_to_finish = journal.clone();
            }
            Targets::only(target)
        }
    };
    let head = arguments.head || journal_to_finish.as_ref().is_some_and(|j| j.head);
    let index = head || arguments.index || journal_to_finish.as_ref().is_some_and(|j| j.index);
    if index && !arguments.pathspecs.is_empty() {
        return Err(hinted(
            "the index and HEAD go back as a whole, not for some paths",
            "leave the pathspecs out, or '--index' and '--head'",
        ));
    }
    if index {
        index_restore::require_free(repo)?;
    }
    if let Some(target) = targets.get(repo, 0)? {
        if head {
            head_restore::require_movable(repo, &target)?;
        } else if !common.no_head && !head_check::allows(repo, &target, ui)? {
            return Ok(Exit::No);
        }
    }
    say_who_may_be_writing(repo, &lane, ui)?;
    let from = journal.as_ref().map_or(position.at, |j| j.from);
    let full = scope.is_all() || journal_to_finish.is_some();
    let compared = targets.get(repo, 0)?.map(|target| target.tree);
    let outcome = restore(
        repo,
        Wish {
            targets,
            scope,
            others: common.others(),
            yes: common.yes,
            dry_run: common.dry_run,
            journal: journal.clone(),
            redo: false,
            from,
            session: arguments.session.clone(),
            index,
            head,
        },
        ui,
    )?;
    let takes_redo_back = journal_to_finish.as_ref().is_some_and(|j| j.redo);
    match &outcome {
        Outcome::Restored(_) | Outcome::Same if takes_redo_back => {
            finish(repo)?;
            return outcome::tell(&outcome, false, true, common.json, ui);
        }
        Outcome::Restored(restored) => {
            let undone = Undone {
                safety: restored.first_safety,
                from,
                index,
                head,
            };
            let is_exact = full && restored.kept.is_empty() && restored.left_alone.is_empty();
            remember(repo, position, &restored.target, &lane, undone, is_exact)?;
            finish(repo)?;
        }
        Outcome::Same => {
            require_a_match(repo, &arguments.pathspecs, compared)?;
            if let Some(unfinished) = journal_to_finish {
                let target = find::by_text(repo, &unfinished.target)?;
                let undone = Undone {
                    safety: unfinished.safety,
                    from,
                    index,
                    head,
                };
                remember(repo, position, &target, &lane, undone, true)?;
                finish(repo)?;
                outcome::tell(&outcome, false, true, common.json, ui)?;
                return Ok(Exit::Done);
            }
        }
        Outcome::Undecided { .. } | Outcome::Planned { .. } => {}
    }
    outcome::tell(&outcome, false, named.is_some(), common.json, ui)
}

/// A pathspec that no file has is a mistake, as it is for git.
fn require_a_match(repo: &Repo, specs: &[OsString], tree: Option<gix::ObjectId>) -> Result<()> {
    let then = tree.map(|tree| Index::of_tree(repo, tree)).transpose()?;
    let now = Index::load(repo)?;
    for spec in specs {
        let mut scope = Scope::of_pathspecs(repo, std::slice::from_ref(spec))?;
        let mut has = |index: &Index| {
            let state = index.state();
            state
                .entries()
                .iter()
                .any(|e| scope.includes(e.path(state)))
        };
        let is_there = Path::new(spec).symlink_metadata().is_ok();
        if !is_there && !has(&now) && !then.as_ref().is_some_and(&mut has) {
            return Err(hinted(
                format!("pathspec '{}' did not match any file", spec.display()),
                "paths are relative to the current folder, as everywhere in git",
            ));
        }
    }
    Ok(())
}

/// An agent that saved a moment ago may write again while we restore.
fn say_who_may_be_writing(repo: &Repo, lane: &Lane, ui: &mut Ui) -> Result<()> {
    const LIVELY: i64 = 60;
    if repo.shadow_is_leased() {
        ui.note("a command of 'git shadow run' is running here: it may still be writing");
    }
    let now = jiff::Timestamp::now().as_second();
    let recent = find::newest(repo, lane, 20)?;
    let lively = recent
        .iter()
        .filter(|c| (0..LIVELY).contains(&(now - c.time)))
        .filter_map(|c| Some((now - c.time, c.record.session.as_ref()?)));
    if let Some((age, session)) = lively.min() {
        ui.note(format_args!(
            "session {session} took a checkpoint {age} s ago: it may still be writing"
        ));
    }
    Ok(())
}

/// Whether `target` is of this worktree, or named in full and confirmed.
fn is_own(
    target: &Checkpoint,
    lane: &Lane,
    named: &str,
    common: &Common,
    ui: &mut Ui,
) -> Result<bool> {
    if target.record.worktree == lane.worktree {
        return Ok(true);
    }
    let other = target.lane_and_number();
    if !named.contains('/') {
        ui.say(format_args!(
            "error: checkpoint {} was taken in another worktree",
            target.number()
        ));
        ui.say(format_args!(
            "hint: name it as '{other}' if that is what you mean"
        ));
        return Ok(false);
    }
    if common.yes || common.dry_run {
        return Ok(true);
    }
    if !ui::can_ask() {
        ui.say(format_args!("error: {other} was taken in another worktree"));
        ui.say("hint: '--yes' restores it into this one");
        return Ok(false);
    }
    ui::confirm(&format!(
        "{other} was taken in another worktree. Restore it into this one?"
    ))
}

/// Moves the position to `target`.
pub(super) fn remember(
    repo: &Repo,
    mut position: Position,
    target: &Checkpoint,
    lane: &Lane,
    undone: Undone,
    is_exact: bool,
) -> Result<()> {
    if position
        .undone
        .last()
        .is_none_or(|last| last.safety != undone.safety)
    {
        position.undone.push(undone);
    }
    position.at = (target.record.lane == lane.name).then_some(target.record.number);
    position.tree = Some(tree_now(repo, target, is_exact)?);
    position.store(repo)
}

/// The tree that the working tree has after a restore.
pub(super) fn tree_now(repo: &Repo, target: &Checkpoint, is_exact: bool) -> Result<String> {
    use crate::snapshot::take::{Request, take};
    if is_exact {
        return Ok(target.tree.to_string());
    }
    Ok(take(repo, &Request::default())?.tree.to_string())
}

/// The restore is complete: nothing of it stays.
pub(super) fn finish(repo: &Repo) -> Result<()> {
    crate::state::crash::point();
    Journal::remove(repo)?;
    Stage::clear(repo, &Root::open(repo.require_worktree()?)?)
}
