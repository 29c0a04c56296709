//! Changes that no agent made: asked about before they are undone.

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use clap::ValueEnum;
use gix::bstr::{BString, ByteSlice};

use crate::error::Result;
use crate::git::quote::quoted;
use crate::lane::evidence::{Evidence, Owner};
use crate::snapshot::restore::plan::{Plan, Step};
use crate::snapshot::root::Root;
use crate::ui::{self, Ui, listed};

/// What to do with somebody's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Others {
    /// Ask on the terminal.
    #[default]
    Ask,
    /// Leave them as they are.
    Keep,
    /// Undo them too.
    Revert,
}

/// A step that would undo what is somebody's.
pub(super) struct Foreign {
    pub(super) path: BString,
    verb: &'static str,
    note: Option<String>,
}

impl Foreign {
    /// `modified  a/b (during …)`.
    pub(super) fn line(&self) -> String {
        let note = self
            .note
            .as_ref()
            .map_or_else(String::new, |n| format!(" ({n})"));
        format!("{:<8}  {}{note}", self.verb, quoted(self.path.as_bstr()))
    }
}

/// The steps of `plan` that undo somebody's change. Where nothing was ever
/// announced in the lane, all is by hand, and only a deletion needs a word.
///
/// `window_began` is when the target was taken: what was born before, and is not in
/// it, came from where no checkpoint looks.
pub(super) fn foreign(
    root: &Root,
    plan: &Plan,
    evidence: &Evidence,
    by_hand: bool,
    window_began: i64,
) -> Vec<Foreign> {
    plan.steps
        .iter()
        .filter(|step| !by_hand || is_deletion(step))
        .filter_map(|step| match evidence.owner(step.path.as_bstr()) {
            Owner::Undo => None,
            Owner::Agent { .. } => moved_in(root, step, window_began).then(|| Foreign {
                path: step.path.clone(),
                verb: step.verb(),
                note: Some("older than the checkpoint: moved here, not made".to_owned()),
            }),
            Owner::Somebody(note) => Some(Foreign {
                path: step.path.clone(),
                verb: step.verb(),
                note,
            }),
        })
        .collect()
}

/// Whether deleting the file would delete what an agent only moved here.
fn moved_in(root: &Root, step: &Step, window_began: i64) -> bool {
    let born = std::fs::symlink_metadata(root.join(step.path.as_bstr()))
        .and_then(|found| found.created())
        .ok()
        .and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    is_deletion(step)
        && born.is_some_and(|born| i64::try_from(born.as_secs()).is_ok_and(|s| s < window_began))
}

/// The paths of `plan` that are not `session`'s alone.
pub(super) fn not_of(plan: &Plan, evidence: &Evidence, wanted: &str) -> BTreeSet<BString> {
    plan.steps
        .iter()
        .filter(|step| {
            !matches!(
                evidence.owner(step.path.as_bstr()),
                Owner::Agent { session: Some(session), .. } if session == wanted
            )
        })
        .map(|step| step.path.clone())
        .collect()
}

fn is_deletion(step: &Step) -> bool {
    step.then.is_none()
}

/// What was answered.
pub(super) enum Answer {
    Revert,
    Keep,
    Cancel,
}

/// Asks what to do with `foreign`.
pub(super) fn ask(foreign: &[Foreign], ui: &mut Ui) -> Result<Answer> {
    let lines: Vec<String> = foreign.iter().map(Foreign::line).collect();
    ui.say(format_args!(
        "not by an agent, as far as is known:\n{}",
        listed(&lines)
    ));
    let answers = [
        "cancel: change nothing",
        "keep: undo the rest, leave these as they are",
        "revert: undo these too",
    ];
    Ok(match ui::choose("What about these changes?", &answers)? {
        Some(1) => Answer::Keep,
        Some(2) => Answer::Revert,
        _ => Answer::Cancel,
    })
}

/// Takes the steps on `paths` out of `plan`; gives the paths.
pub(super) fn keep(plan: &mut Plan, paths: &BTreeSet<BString>) -> Vec<BString> {
    plan.steps.retain(|step| !paths.contains(&step.path));
    paths.iter().cloned().collect()
}

/// Whether `plan` deletes so much that even a yes is asked again: at least 50 files
/// and more than half of all.
pub(super) fn is_mass_deletion(plan: &Plan, files: usize) -> bool {
    let deletions = plan.steps.iter().filter(|step| is_deletion(step)).count();
    deletions >= 50 && deletions * 2 > files
}
