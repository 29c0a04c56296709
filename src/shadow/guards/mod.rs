//! What must be looked at before a shadow may go, in this order; each guard in a
//! file of its own. The one place that decides is [`survey`].

mod changes;
pub(super) mod commits;
mod identity;
mod inside;
pub(super) mod nested;
pub(super) mod walk;
mod whose;

use gix::bstr::BString;

use crate::error::Result;
use crate::git::Repo;
use crate::git::head::Head;
use crate::shadow::task::Task;
use crate::snapshot::sink::Writing;
use crate::snapshot::take::Snapshot;

pub(super) use identity::default_branch;
pub(super) use whose::Maker;

/// What can answer a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Nothing: the shadow stays.
    Refuse,
    /// A yes.
    Ask,
    /// A yes, or `--force`.
    Dirty,
}

/// Something that a guard has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    /// One word for scripts.
    pub(super) kind: &'static str,
    /// What it is, for people.
    pub(super) what: String,
    /// The paths, processes or commits.
    pub(super) items: Vec<String>,
    /// Who made them, where checkpoints tell it.
    pub(super) maker: Option<Maker>,
}

/// Everything that is known of a shadow that shall go.
pub(super) struct Survey {
    pub(super) findings: Vec<Finding>,
    /// Said, but in nobody's way.
    pub(super) notes: Vec<String>,
    pub(super) snapshot: Snapshot,
    pub(super) head: Head,
    /// Folders that go silently, each as one.
    pub(super) disposable: Vec<BString>,
    /// Copies of ours that are as we made them, and whose source still has them.
    pub(super) copies: Vec<BString>,
    /// Folders with a repository of their own.
    pub(super) nested: Vec<BString>,
    /// Folders with nothing in them.
    pub(super) empty: Vec<BString>,
    /// The operation under way.
    pub(super) operation: Option<&'static str>,
}

/// Looks at the shadow `task`. `deletes_branch`: its branch will go even if it is
/// not merged.
///
/// # Errors
/// When it is not one of ours that may ever be removed, or cannot be looked at.
pub(super) fn survey(
    repo: &Repo,
    task: &Task,
    writing: Writing,
    deletes_branch: bool,
) -> Result<Survey> {
    let entry = identity::require_ours(repo, task)?;
    let shadow = task.open()?;
    let head = shadow.head()?;
    identity::require_other_than_default(repo, task, &head)?;
    let mut findings = Vec::new();
    let mut notes = Vec::new();
    findings.extend(identity::lock(&entry, task));
    findings.extend(inside::lease(repo, task)?);
    findings.extend(inside::processes(task, &mut notes));
    let operation = shadow.operation();
    findings.extend(operation.map(|operation| Finding {
        weight: Weight::Ask,
        kind: "operation",
        what: format!("a {operation} is in progress"),
        items: Vec::new(),
        maker: None,
    }));
    let walk = walk::walk(repo, &shadow, task)?;
    findings.extend(nested::worktrees(repo, task, &walk)?);
    findings.extend(nested::repositories(&shadow, &walk)?);
    findings.extend(nested::temporary(repo, task));
    findings.extend(nested::submodules(&shadow, &walk)?);
    let changes = changes::look(repo, &shadow, task, &head, &walk, writing)?;
    findings.extend(changes.findings);
    notes.extend(changes.notes);
    findings.extend(commits::unreachable(repo, &head, deletes_branch)?);
    findings.extend(commits::of_own_refs(repo, &shadow)?);
    Ok(Survey {
        findings,
        notes,
        snapshot: changes.snapshot,
        head,
        disposable: walk.disposable,
        copies: changes.copies,
        nested: walk.nested,
        empty: walk.empty,
        operation,
    })
}
