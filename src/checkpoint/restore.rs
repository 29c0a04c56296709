//! What undo and redo have in common: plan under the lock, ask without it, take
//! the safety checkpoint, apply, verify.

use std::collections::BTreeSet;

use gix::bstr::{BStr, BString, ByteSlice};

use crate::checkpoint::others::{self, Answer, Foreign, Others};
use crate::checkpoint::targets::Targets;
use crate::error::Result;
use crate::git::Repo;
use crate::git::pathspec::Scope;
use crate::lane::durability::writing;
use crate::lane::evidence::Evidence;
use crate::lane::find::{self, Checkpoint};
use crate::lane::publish::{Keeping, Turn};
use crate::lane::record::{Kind, Record};
use crate::lane::save::apply_lock;
use crate::lane::{head_restore, index_restore, wrote};
use crate::snapshot::difference::Trees;
use crate::snapshot::include;
use crate::snapshot::restore::apply::Applier;
use crate::snapshot::restore::journal::Journal;
use crate::snapshot::restore::pause;
use crate::snapshot::restore::plan::{self, LeftAlone, Plan, Step, Target, ThenIgnored};
use crate::snapshot::restore::seen;
use crate::snapshot::restore::stage::{Source, Stage};
use crate::snapshot::root::Root;
use crate::snapshot::take::{self, Snapshot, take};
use crate::state::crash;
use crate::state::lock::{self, Lock, PATIENCE};
use crate::ui::{self, Ui};

/// What shall be restored, and how.
pub(super) struct Wish<'w> {
    /// The checkpoints to try, best first: the first that differs from the disk.
    pub(super) targets: Targets,
    pub(super) scope: Scope<'w>,
    pub(super) others: Others,
    /// `--yes`, which answers revert.
    pub(super) yes: bool,
    pub(super) dry_run: bool,
    /// A journal to finish or to go back from.
    pub(super) journal: Option<Journal>,
    /// Whether this steps forward.
    pub(super) redo: bool,
    /// Where the position was before the first try.
    pub(super) from: Option<u32>,
    /// Only what this session changed.
    pub(super) session: Option<String>,
    /// Restore the index too.
    pub(super) index: bool,
    /// Move HEAD too.
    pub(super) head: bool,
}

impl<'w> Wish<'w> {
    /// Back to `target` in `scope`, and nothing else.
    pub(super) fn to(target: Checkpoint, scope: Scope<'w>) -> Self {
        Wish {
            targets: Targets::only(target),
            scope,
            others: Others::Ask,
            yes: false,
            dry_run: false,
            journal: None,
            redo: false,
            from: None,
            session: None,
            index: false,
            head: false,
        }
    }
}

/// How it went.
pub(super) enum Outcome {
    /// Nothing differs from any of the targets.
    Same,
    /// The user said no, or could not be asked; the plan, and what needs a word.
    Undecided {
        target: Box<Checkpoint>,
        plan: Plan,
        foreign: Vec<Foreign>,
        mass: bool,
        asked: bool,
    },
    /// A dry run.
    Planned {
        target: Box<Checkpoint>,
        plan: Plan,
        foreign: Vec<Foreign>,
        assumed: BTreeSet<BString>,
    },
    /// It was done.
    Restored(Box<Restored>),
}

/// What was done.
pub(super) struct Restored {
    pub(super) target: Checkpoint,
    pub(super) safety: Checkpoint,
    /// The first safety: that of the first try, when this one finished another.
    pub(super) first_safety: u32,
    pub(super) written: Vec<BString>,
    pub(super) deleted: Vec<BString>,
    pub(super) kept: Vec<BString>,
    pub(super) left_alone: Vec<LeftAlone>,
    pub(super) wrong: Vec<BString>,
}

struct Planned {
    target: Checkpoint,
    snapshot: Snapshot,
    plan: Plan,
    foreign: Vec<Foreign>,
    /// Paths that are an agent's as far as is assumed.
    assumed: BTreeSet<BString>,
    /// Paths that `--session` leaves out.
    of_others: BTreeSet<BString>,
    _lock: Lock,
}

/// Restores, or says why not.
pub(super) fn restore(repo: &Repo, mut wish: Wish<'_>, ui: &mut Ui) -> Result<Outcome> {
    let mut agreed: BTreeSet<BString> = BTreeSet::new();
    let mut kept: BTreeSet<BString> = BTreeSet::new();
    let mut mass_agreed = false;
    loop {
        let Some(mut planned) = prepare(repo, &mut wish)? else {
            return Ok(Outcome::Same);
        };
        if wish.others == Others::Keep {
            kept.extend(planned.foreign.iter().map(|f| f.path.clone()));
        }
        kept.append(&mut planned.of_others);
        let kept_now = others::keep(&mut planned.plan, &kept);
        planned.foreign.retain(|f| !kept.contains(&f.path));
        let target = planned.target.clone();
        if wish.dry_run {
            return Ok(Outcome::Planned {
                target: Box::new(target),
                plan: planned.plan,
                foreign: planned.foreign,
                assumed: planned.assumed,
            });
        }
        let open = planned.foreign.iter().any(|f| !agreed.contains(&f.path));
        let mass = others::is_mass_deletion(&planned.plan, &planned.snapshot)
            && wish.others != Others::Revert
            && !mass_agreed;
        if mass || (open && wish.others == Others::Ask && !wish.yes) {
            // No lock is held while a person thinks.
            let Planned {
                plan,
                foreign,
                _lock,
                ..
            } = planned;
            drop(_lock);
            let answer = if !ui::can_ask() {
                None
            } else if mass {
                let question = format!(
                    "This deletes more than half of all files ({}). Go on?",
                    plan.steps.iter().filter(|s| s.then.is_none()).count()
                );
                Some(match ui::confirm(&question)? {
                    true => Answer::Revert,
                    false => Answer::Cancel,
                })
            } else {
                Some(others::ask(&foreign, ui)?)
            };
            match answer {
                Some(Answer::Revert) => agreed.extend(foreign.into_iter().map(|f| f.path)),
                Some(Answer::Keep) => kept.extend(foreign.into_iter().map(|f| f.path)),
                Some(Answer::Cancel) | None => {
                    return Ok(Outcome::Undecided {
                        target: Box::new(target),
                        plan,
                        foreign,
                        mass,
                        asked: answer.is_some(),
                    });
                }
            }
            mass_agreed |= mass;
            continue;
        }
        return carry_out(repo, &mut wish, planned, kept_now)
            .map(|restored| Outcome::Restored(Box::new(restored)));
    }
}

/// Takes the lock, looks at the disk, and plans against the first target that
/// differs. `None` when none does.
fn prepare(repo: &Repo, wish: &mut Wish<'_>) -> Result<Option<Planned>> {
    let lock = lock::alone(&apply_lock(repo)?, repo.sharing(), PATIENCE)?;
    let root = Root::open(repo.require_worktree()?)?;
    let mut snapshot = look(repo, Vec::new(), Vec::new(), wish.dry_run)?;
    let mut at = 0;
    while let Some(target) = wish.targets.get(repo, at)? {
        at += 1;
        // What was declared then is looked at now, too.
        let declared = &target.record.include;
        if declared.iter().any(|spec| !snapshot.include.contains(spec)) {
            snapshot = look(repo, Vec::new(), declared.clone(), wish.dry_run)?;
        }
        let goal = goal(repo, &target)?;
        let mut trees = Trees::new(repo, snapshot.sink.tree_contents());
        let mut in_scope = |path: &BStr| wish.scope.includes(path);
        let hidden = plan::hidden(&trees, &root, &goal, snapshot.tree, &mut in_scope)?;
        if !hidden.is_empty() {
            snapshot = look(repo, hidden, declared.clone(), wish.dry_run)?;
            trees = Trees::new(repo, snapshot.sink.tree_contents());
        }
        let plan = plan::plan(repo, &trees, &root, &goal, &snapshot, &mut in_scope)?;
        let same_index = !wish.index || !index_restore::differs(repo, &target)?;
        let same_head = !wish.head || repo.head()? == target.record.head;
        let is_same = plan.steps.is_empty() && plan.left_alone.iter().all(|left| !left.against);
        if is_same && same_index && same_head {
            continue;
        }
        let (foreign, assumed, of_others) =
            foreign(repo, &root, wish, &trees, &target, &snapshot, &plan)?;
        return Ok(Some(Planned {
            target,
            snapshot,
            plan,
            foreign,
            assumed,
            of_others,
            _lock: lock,
        }));
    }
    Ok(None)
}

/// What `target` has, and how much of it may be believed.
fn goal(repo: &Repo, target: &Checkpoint) -> Result<Target> {
    let same_rules = target.record.unseen() == include::unseen(repo).as_deref();
    Ok(Target {
        tree: Some(target.tree),
        skipped: find::all_skipped(repo, target)?,
        raw: find::all_raw(repo, target)?,
        index: find::index_tree(repo, target)?,
        include: target.record.include.clone(),
        other_rules_at: (!same_rules).then_some(target.time),
    })
}

/// Steps in scope that are still to be done: planned again, there must be none.
fn still_other(
    repo: &Repo,
    root: &Root,
    wish: &mut Wish<'_>,
    target: &Checkpoint,
    done: &BTreeSet<&BString>,
) -> Result<Vec<Step>> {
    let goal = goal(repo, target)?;
    let mut in_scope = |path: &BStr| wish.scope.includes(path);
    let mut now = look(repo, Vec::new(), goal.include.clone(), true)?;
    let mut trees = Trees::new(repo, now.sink.tree_contents());
    let hidden = plan::hidden(&trees, root, &goal, now.tree, &mut in_scope)?;
    if !hidden.is_empty() {
        now = look(repo, hidden, goal.include.clone(), true)?;
        trees = Trees::new(repo, now.sink.tree_contents());
    }
    let plan = plan::plan(repo, &trees, root, &goal, &now, &mut in_scope)?;
    let steps = plan.steps.into_iter();
    Ok(steps.filter(|step| !done.contains(&step.path)).collect())
}

fn look(repo: &Repo, also: Vec<BString>, include: Vec<BString>, dry_run: bool) -> Result<Snapshot> {
    take(
        repo,
        &take::Request {
            writing: if dry_run {
                crate::snapshot::sink::Writing::Nothing
            } else {
                writing(repo)?
            },
            also,
            include,
            readable: true,
            ..take::Request::default()
        },
    )
}

fn foreign(
    repo: &Repo,
    root: &Root,
    wish: &Wish<'_>,
    trees: &Trees<'_>,
    target: &Checkpoint,
    now: &Snapshot,
    plan: &Plan,
) -> Result<(Vec<Foreign>, BTreeSet<BString>, BTreeSet<BString>)> {
    let mut lane = find::from_number(repo, &target.record.lane, target.record.number)?;
    // What was imported is no step of this worktree, and says nothing about it.
    lane.retain(|c| match target.record.imported {
        Some(_) => c.record.number == target.record.number,
        None => c.record.imported.is_none(),
    });
    let pending = wrote::pending(repo)?;
    let evidence = Evidence::gather(repo, trees, &lane, &pending, now.tree)?;
    let by_hand = !evidence.any && !find::any_evidence(repo, &target.record.lane)?;
    let mut foreign = others::foreign(root, plan, &evidence, by_hand, target.time);
    let of_others = match &wish.session {
        Some(session) => others::not_of(plan, &evidence, session),
        None => BTreeSet::new(),
    };
    if let Some(journal) = &wish.journal {
        // What is still as it was before the first try was decided then.
        let first = find::by_number(repo, &target.record.lane, journal.safety)?;
        if let Some(first) = first {
            let mut changed = Vec::new();
            for one in foreign {
                let path = one.path.as_bstr();
                if trees.value(first.tree, path)? != trees.value(now.tree, path)? {
                    changed.push(one);
                }
            }
            foreign = changed;
        }
    }
    let assumed = others::assumed(plan, &evidence);
    Ok((foreign, assumed, of_others))
}

fn carry_out(
    repo: &Repo,
    wish: &mut Wish<'_>,
    planned: Planned,
    kept: Vec<BString>,
) -> Result<Restored> {
    let Planned {
        target,
        snapshot,
        mut plan,
        ..
    } = planned;
    let root = Root::open(repo.require_worktree()?)?;
    let seen = seen::look(repo, &root, &snapshot, &mut plan)?;
    let converts = snapshot.converts
        || target
            .record
            .config
            .iter()
            .any(|c| c.starts_with("core.autocrlf"))
        || plan
            .steps
            .iter()
            .any(|s| s.path.ends_with(b".gitattributes"));
    let word = if wish.redo { "redo" } else { "undo" };
    let record = Record {
        label: format!("before {word} to {}", target.number()),
        kind: Kind::BeforeUndo,
        target: Some(target.lane_and_number()),
        ..Record::default()
    };
    crash::point();
    let keeping = match wish.head || wish.index {
        true => Keeping::All,
        false => Keeping::WhatIsNew,
    };
    let declared = snapshot.included.clone();
    let safety = Turn::wait(repo, PATIENCE)?.publish(repo, snapshot, record, keeping)?;
    let first_safety = wish
        .journal
        .as_ref()
        .map_or(safety.record.number, |j| j.safety);
    pause::point();
    let mut paths: Vec<BString> = plan.steps.iter().map(|s| s.path.clone()).collect();
    paths.extend(plan.steps.iter().filter_map(|s| s.name.clone()));
    // What an earlier try has changed is part of the way back.
    paths.extend(wish.journal.iter().flat_map(Journal::paths));
    paths.sort();
    paths.dedup();
    let stage = Stage::open(repo, &root)?;
    let raw = find::all_raw(repo, &target)?;
    let staged = stage.fill(
        &root,
        &Source {
            repo,
            tree: converts.then_some(target.tree),
            raw: &raw,
            config: &target.record.config,
        },
        &plan.steps,
    )?;
    let mut journal = Journal::new(target.lane_and_number(), first_safety, wish.from, &paths);
    (journal.redo, journal.index, journal.head) = (wish.redo, wish.index, wish.head);
    journal.store(repo)?;
    let applier = Applier {
        repo,
        root: &root,
        stage: &stage,
        declared: &declared,
    };
    let applied = applier.apply(&plan.steps, &staged, &seen)?;
    if wish.index {
        crash::point();
        index_restore::restore(repo, &target)?;
    }
    if wish.head {
        crash::point();
        head_restore::restore(repo, &target)?;
    }
    pause::at("HARNESS_TEST_AFTER_APPLY");
    let mut wrong = applier.verify(&plan.steps, &staged, &applied)?;
    let mut left_alone = plan.left_alone;
    left_alone.extend(applied.left_alone);
    left_alone.sort();
    // What was changed has been compared byte by byte; a filter may see it otherwise.
    let known = kept.iter().chain(left_alone.iter().map(|left| &left.path));
    let known = known.chain(&applied.written).chain(&applied.deleted);
    let known: BTreeSet<&BString> = known.collect();
    let open = still_other(repo, &root, wish, &target, &known)?;
    let mut hidden = ThenIgnored::of_tree(repo, safety.tree)?;
    for step in open {
        if step.then.is_none() && hidden.covers(step.path.as_bstr())? {
            left_alone.push(LeftAlone {
                path: step.path,
                reason: "ignored until now, and so in no checkpoint".to_owned(),
                against: false,
            });
        } else {
            wrong.push(step.path);
        }
    }
    wrong.sort();
    left_alone.sort();
    crash::point();
    Ok(Restored {
        target,
        safety,
        first_safety,
        written: applied.written,
        deleted: applied.deleted,
        kept,
        left_alone,
        wrong,
    })
}
