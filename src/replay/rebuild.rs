//! One journal rebuilt: turns in order, each prompt compared, each commit made
//! and compared. Nothing is published here.

use std::collections::HashMap;

use gix::ObjectId;

use crate::error::{Context, Result, bail, hinted};
use crate::git::{Kind, Repo};
use crate::replay::apply::{Applied, Applier};
use crate::replay::divergence::{Divergence, What};
use crate::replay::journal::{Commit, Failure, Journal, Turn, Usage, Workspace};
use crate::replay::object::RawCommit;
use crate::replay::room::Place;
use crate::replay::store::Store;
use crate::replay::{base, cause, fsck, promised};
use crate::ui::Progress;
use crate::ui::counted;

/// What a replay is asked for.
#[derive(Debug, Default)]
pub(super) struct Wish {
    /// The prompts to compare, in order.
    pub(super) prompts: Vec<String>,
    /// Where to begin instead of the recorded baseline.
    pub(super) from: Option<ObjectId>,
    /// What `{{WORK_BRANCH}}` in a prompt stands for.
    pub(super) work_branch: Option<String>,
    /// Whether to go on after a divergence where that is possible.
    pub(super) warn: bool,
    /// How many turns to replay at most.
    pub(super) stop_after: Option<usize>,
    /// Whether to show how far it is.
    pub(super) shows_progress: bool,
}

/// What a replay found.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Turns that were replayed.
    pub(super) turns: usize,
    /// Turns that were not reached.
    pub(super) remaining: usize,
    pub(super) divergences: Vec<Divergence>,
    /// Whether a divergence ended it.
    pub(super) has_ended: bool,
    pub(super) commits: Vec<Rebuilt>,
    /// The commit on which the first rebuilt one stands.
    pub(super) base: Option<ObjectId>,
    /// The commit that a branch would point at.
    pub(super) tip: Option<ObjectId>,
    /// Whether a turn with unrecorded commits was passed over.
    pub(super) has_gap: bool,
    /// Turns whose prompt cannot be compared, and why.
    pub(super) incomparable: Vec<(usize, &'static str)>,
    /// Turns whose prompt was compared.
    pub(super) compared: usize,
    /// What git's check would refuse.
    pub(super) fsck: Vec<(ObjectId, &'static str)>,
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
    /// The turns that failed as recorded, and how.
    pub(super) failures: Vec<(usize, Failure)>,
}

/// One rebuilt commit.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub(super) recorded: ObjectId,
    pub(super) id: ObjectId,
    pub(super) tree: ObjectId,
    pub(super) parent_tree: ObjectId,
    pub(super) subject: String,
    /// Whether a signature was left out, because it signs other parents.
    pub(super) lost_signature: bool,
}

impl Verdict {
    /// How many rebuilt commits have another id than recorded.
    pub(super) fn renamed(&self) -> usize {
        self.commits.iter().filter(|c| c.id != c.recorded).count()
    }

    /// Whether every commit was made with its recorded tree, whatever else differs.
    pub(super) fn is_exact(&self) -> bool {
        !self.has_ended
            && !self.has_gap
            && !self
                .divergences
                .iter()
                .any(|d| matches!(d.kind, What::Baseline | What::Tree))
    }

    /// Whether the run is as recorded: nothing differs, however softened.
    pub(super) fn is_faithful(&self) -> bool {
        self.divergences.is_empty()
    }
}

/// Replays `journal` in `repo`; new objects are in the store that is given back.
pub(super) fn replay(
    repo: &Repo,
    journal: &Journal,
    wish: &Wish,
    place: Place,
) -> Result<(Verdict, Store)> {
    let hash = repo.gix().object_hash();
    if journal.hash.is_some_and(|kind| kind != hash) {
        return Err(hinted(
            format!("the journal holds ids of another kind than this {hash} repository"),
            "replay it in a repository made with the same --object-format",
        ));
    }
    let all = journal
        .turns
        .iter()
        .filter_map(|turn| turn.workspace.as_ref());
    let mut replay = Replay {
        progress: Progress::of("Rebuilding commits", !wish.shows_progress),
        all: all.map(|workspace| workspace.commits.len()).sum(),
        journal,
        wish,
        store: Store::open(repo, place)?,
        applier: Applier::new(),
        ids: HashMap::new(),
        recorded: None,
        verdict: Verdict::default(),
        repo,
    };
    replay.turns()?;
    Ok((replay.verdict, replay.store))
}

struct Replay<'a> {
    progress: Progress,
    /// How many commits there are to rebuild.
    all: usize,
    repo: &'a Repo,
    journal: &'a Journal,
    wish: &'a Wish,
    store: Store,
    applier: Applier,
    /// Recorded id to rebuilt id.
    ids: HashMap<ObjectId, ObjectId>,
    /// The recorded id of where we are.
    recorded: Option<ObjectId>,
    verdict: Verdict,
}

impl Replay<'_> {
    fn turns(&mut self) -> Result<()> {
        let turns = &self.journal.turns;
        let wanted = self.wish.stop_after.unwrap_or(turns.len()).min(turns.len());
        let mut prompts = self.wish.prompts.iter();
        for (number, turn) in turns.iter().take(wanted).enumerate() {
            let number = number + 1;
            if !turn.is_handed_over
                && let Some(prompt) = prompts.next()
            {
                self.compare(number, turn, prompt);
            }
            if !self.verdict.has_ended
                && let Some(workspace) = &turn.workspace
            {
                self.workspace(number, workspace)
                    .with_context(|| format!("{}, turn {number}", workspace.place))?;
            }
            if self.verdict.has_ended {
                break;
            }
            self.verdict.turns = number;
            self.verdict.text.clone_from(&turn.text);
            if let Some(failure) = &turn.failure {
                self.verdict.failures.push((number, failure.clone()));
            }
            if let Some(usage) = turn.usage {
                let sum = self.verdict.usage.unwrap_or_default();
                self.verdict.usage = Some(if sum == Usage::default() {
                    usage
                } else {
                    sum.plus(usage)
                });
            }
        }
        self.verdict.remaining = turns.len() - self.verdict.turns;
        if !self.verdict.has_ended && wanted == turns.len() && prompts.next().is_some() {
            let divergence = Divergence::new(What::Exhausted, turns.len() + 1);
            self.diverge(divergence.expected(counted(turns.len(), "turn")));
        }
        Ok(())
    }

    /// Notes `divergence`; whether to go on.
    fn diverge(&mut self, divergence: Divergence) -> bool {
        let goes_on = self.wish.warn && !divergence.is_final;
        self.verdict.divergences.push(divergence);
        self.verdict.has_ended |= !goes_on;
        goes_on
    }

    fn compare(&mut self, number: usize, turn: &Turn, given: &str) {
        if let Some(why) = turn.prompt.incomparable {
            self.verdict.incomparable.push((number, why));
            return;
        }
        self.verdict.compared += 1;
        let named = |text: &str| match &self.wish.work_branch {
            Some(branch) => text.replace("{{WORK_BRANCH}}", branch),
            None => text.to_owned(),
        };
        let (expected, actual) = (named(&turn.prompt.text), named(given));
        if expected != actual {
            self.diverge(
                Divergence::new(What::Prompt, number)
                    .expected(expected)
                    .actual(actual),
            );
        }
    }

    fn workspace(&mut self, number: usize, workspace: &Workspace) -> Result<()> {
        if self.verdict.has_gap {
            // What follows stands on commits that nobody recorded.
            return Ok(());
        }
        if !workspace.is_rebuildable() {
            let reason = workspace
                .unavailable
                .as_deref()
                .unwrap_or("no reason was recorded");
            self.verdict.has_gap = true;
            self.diverge(Divergence::new(What::Unrecorded, number).expected(reason));
            return Ok(());
        }
        if self.verdict.tip.is_none() {
            let base = base::find(
                self.repo,
                &self.store,
                self.journal,
                workspace,
                self.wish.from,
            )?;
            self.verdict.base = base;
            self.verdict.tip = base;
        }
        if let (Some(baseline), Some(tip)) = (workspace.baseline, self.verdict.tip) {
            let tree = self.store.tree_of(tip)?;
            if tree != baseline.tree {
                self.applier.only_git = true;
                let divergence = Divergence::new(What::Baseline, number);
                if !self.diverge(divergence.expected(baseline.tree).actual(tree)) {
                    return Ok(());
                }
            }
            self.ids.insert(baseline.commit, tip);
            self.recorded = Some(baseline.commit);
        }
        promised::by_patches(&mut self.store, &workspace.commits)?;
        for (index, commit) in workspace.commits.iter().enumerate() {
            let goes_on = self
                .commit(number, commit, &workspace.commits[index..])
                .with_context(|| format!("commit {} ({})", index + 1, commit.oid))?;
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes `commit`, the first of `ahead`.
    fn commit(&mut self, number: usize, commit: &Commit, ahead: &[Commit]) -> Result<bool> {
        self.progress.at(self.verdict.commits.len(), self.all);
        let parents = self.parents(commit)?;
        let parent_tree = match parents.first() {
            Some(parent) => self.store.tree_of(*parent)?,
            None => ObjectId::empty_tree(self.store.hash()),
        };
        let applied = self.applier.apply(&mut self.store, parent_tree, ahead)?;
        let tree = match applied {
            Applied::Tree(tree) => tree,
            Applied::Rejected(why) => {
                let divergence = Divergence::new(What::Tree, number).commit(commit.oid);
                return Ok(self.diverge(divergence.expected(commit.tree).actual(why).last()));
            }
        };
        if tree != commit.tree {
            self.applier.only_git = true;
            let divergence = Divergence::new(What::Tree, number).commit(commit.oid);
            if !self.diverge(divergence.expected(commit.tree).actual(tree)) {
                return Ok(false);
            }
        }
        let raw = self.raw(commit, tree, &parents)?;
        let content = raw.content();
        let id = self.store.id_of(Kind::Commit, &content)?;
        if id != commit.oid && tree == commit.tree && self.is_at_its_place(commit, &parents) {
            let why = cause::of(&self.store, commit, &raw)?;
            let divergence = Divergence::new(What::Commit, number).commit(commit.oid);
            let divergence = divergence.expected(commit.oid).actual(id).cause(why);
            if !self.diverge(divergence) {
                return Ok(false);
            }
        }
        if let Some(complaint) = fsck::complaint(&raw) {
            self.verdict.fsck.push((id, complaint));
        }
        self.store.add(id, Kind::Commit, &content)?;
        self.ids.insert(commit.oid, id);
        self.recorded = Some(commit.oid);
        self.verdict.tip = Some(id);
        self.verdict.commits.push(Rebuilt {
            recorded: commit.oid,
            id,
            tree,
            parent_tree,
            subject: commit.subject().to_owned(),
            lost_signature: !raw.is_signed()
                && commit.extension.as_ref().is_some_and(|x| x.raw.is_signed()),
        });
        Ok(true)
    }

    /// The rebuilt parents of `commit`.
    fn parents(&self, commit: &Commit) -> Result<Vec<ObjectId>> {
        let Some(extension) = &commit.extension else {
            return Ok(self.verdict.tip.into_iter().collect());
        };
        let mut parents = Vec::with_capacity(extension.parents.len());
        for recorded in &extension.parents {
            match self.ids.get(recorded) {
                Some(rebuilt) => parents.push(*rebuilt),
                None if self.store.commit(*recorded)?.is_some() => parents.push(*recorded),
                None => {
                    bail!("its parent {recorded} is neither in the journal nor in this repository")
                }
            }
        }
        Ok(parents)
    }

    /// Whether the recorded id can be expected at all: the parents are the recorded ones.
    fn is_at_its_place(&self, commit: &Commit, parents: &[ObjectId]) -> bool {
        match &commit.extension {
            Some(extension) => extension.parents == parents,
            None => self.recorded.as_slice() == parents,
        }
    }

    fn raw(&self, commit: &Commit, tree: ObjectId, parents: &[ObjectId]) -> Result<RawCommit> {
        if let Some(extension) = &commit.extension {
            let is_same = tree == commit.tree && extension.parents == parents;
            return Ok(if is_same {
                extension.raw.clone()
            } else {
                extension.raw.moved(tree, parents)
            });
        }
        cause::best_of_plain(&self.store, commit, tree, parents)
    }
}
