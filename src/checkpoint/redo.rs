//! `git checkpoint redo`: back to where the last undo came from.

use clap::Args;

use crate::checkpoint::restore::{Outcome, Wish, restore};
use crate::checkpoint::targets::Targets;
use crate::checkpoint::undo::{Common, finish, tree_now};
use crate::checkpoint::{head_check, outcome};
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::git::pathspec::Scope;
use crate::lane::position::Position;
use crate::lane::{Checkpoint, Lane, find, head_restore, index_restore};
use crate::snapshot::restore::journal::Journal;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let common = &arguments.common;
    ui.set_quiet(common.quiet);
    let journal = Journal::load(repo)?;
    let mut position = Position::load(repo)?;
    let nothing = |ui: &mut Ui| outcome::tell(&Outcome::Same, true, false, common.json, ui);
    let Some(lane) = Lane::find(repo)? else {
        return nothing(ui);
    };
    let (goal, from, index, head) = match (&journal, position.undone.last()) {
        // A redo that was cut short is finished; of an undo, the state before its
        // first try comes back.
        (Some(journal), _) if journal.redo => (
            journal.target.clone(),
            journal.from,
            journal.index,
            journal.head,
        ),
        (Some(journal), _) => {
            let goal = format!("{}/{}", lane.name, journal.safety);
            (goal, journal.from, journal.index, journal.head)
        }
        (None, Some(undone)) => {
            let goal = format!("{}/{}", lane.name, undone.safety);
            (goal, undone.from, undone.index, undone.head)
        }
        (None, None) => return nothing(ui),
    };
    let target = find::by_text(repo, &goal)?;
    if index {
        index_restore::require_free(repo)?;
    }
    if head {
        head_restore::require_movable(repo, &target)?;
    } else if !common.no_head && !head_check::allows(repo, &target, ui)? {
        return Ok(Exit::No);
    }
    let scope = match &journal {
        Some(journal) => Scope::Only(journal.paths().into_iter().collect()),
        None => Scope::All,
    };
    let outcome = restore(
        repo,
        Wish {
            targets: Targets::only(target.clone()),
            scope,
            others: common.others(),
            yes: common.yes,
            dry_run: common.dry_run,
            journal: journal.clone(),
            redo: true,
            from,
            session: None,
            index,
            head,
        },
        ui,
    )?;
    let is_exact = match &outcome {
        Outcome::Restored(restored) => {
            restored.kept.is_empty() && restored.left_alone.is_empty() && journal.is_none()
        }
        Outcome::Same => journal.is_none(),
        Outcome::Undecided { .. } | Outcome::Planned { .. } => {
            return outcome::tell(&outcome, true, true, common.json, ui);
        }
    };
    step_forward(repo, &mut position, &target, from, is_exact)?;
    finish(repo)?;
    outcome::tell(&outcome, true, true, common.json, ui)
}

fn step_forward(
    repo: &Repo,
    position: &mut Position,
    target: &Checkpoint,
    from: Option<u32>,
    is_exact: bool,
) -> Result<()> {
    let is_last = |p: &Position| {
        p.undone
            .last()
            .is_some_and(|u| u.safety == target.record.number)
    };
    if is_last(position) {
        position.undone.pop();
    }
    position.at = from;
    position.tree = Some(tree_now(repo, target, is_exact)?);
    position.store(repo)
}
