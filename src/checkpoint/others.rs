//! Changes that no agent made: asked about before they are undone.

use std::collections::BTreeSet;

use clap::ValueEnum;
use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use crate::error::Result;
use crate::git::quote::quoted;
use crate::lane::evidence::{Evidence, Owner};
use crate::snapshot::difference::Value;
use crate::snapshot::restore::plan::{Plan, Step, born};
use crate::snapshot::root::Root;
use crate::snapshot::take::Snapshot;
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
            Owner::Agent { .. } => moved_in(root, plan, step, window_began).then(|| Foreign {
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

/// Whether deleting the file would delete what an agent only moved here, and what
/// the plan does not bring back under its old name.
fn moved_in(root: &Root, plan: &Plan, step: &Step, window_began: i64) -> bool {
    if plan
        .steps
        .iter()
        .any(|other| other.then.is_some() && content(&other.then) == content(&step.now))
    {
        return false;
    }
    is_deletion(step) && born(root, step.path.as_bstr()).is_some_and(|born| born < window_began)
}

/// The paths of `plan` that are an agent's only because the next snapshot was
/// believed: no tool said what it left.
pub(super) fn assumed(plan: &Plan, evidence: &Evidence) -> BTreeSet<BString> {
    let paths = plan.steps.iter().map(|step| &step.path);
    paths
        .filter(|path| {
            let owner = evidence.owner(path.as_bstr());
            matches!(owner, Owner::Agent { assumed: true, .. })
        })
        .cloned()
        .collect()
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

fn content(value: &Value) -> Option<ObjectId> {
    value.map(|(_, id)| id)
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
pub(super) fn is_mass_deletion(plan: &Plan, now: &Snapshot) -> bool {
    let index = now.index.state();
    let is_new = |path: &BString| index.entry_by_path(path.as_bstr()).is_none();
    let new = now
        .changes
        .iter()
        .filter(|(path, value)| value.is_some() && is_new(path));
    let gone = now
        .changes
        .iter()
        .filter(|(path, value)| value.is_none() && !is_new(path));
    let files = index.entries().len() + new.count() - gone.count();

    let deletions = plan.steps.iter().filter(|step| is_deletion(step)).count();
    deletions >= 50 && deletions * 2 > files
}
