//! Nobody is in it: no command of ours, no other process.

use crate::error::Result;
use crate::git::Repo;
use crate::shadow::base::span;
use crate::shadow::guards::{Finding, Weight};
use crate::shadow::lease;
use crate::shadow::process::{inside, now};
use crate::shadow::task::Task;

/// A command that `git shadow run` has started.
///
/// # Errors
/// When the lease cannot be read.
pub(super) fn lease(repo: &Repo, task: &Task) -> Result<Option<Finding>> {
    Ok(lease::running(repo, task)?.map(|process| Finding {
        weight: Weight::Refuse,
        kind: "running",
        what: format!(
            "a command runs in it since {} (process {} on {})",
            span(now() - process.since),
            process.pid,
            process.host
        ),
        items: Vec::new(),
        maker: None,
    }))
}

/// Processes whose working directory is in it.
pub(super) fn processes(task: &Task, notes: &mut Vec<String>) -> Option<Finding> {
    let (found, unknown) = inside(&task.path);
    if unknown > 0 && !found.is_empty() {
        notes.push(format!(
            "{unknown} processes of others could not be looked at"
        ));
    }
    if found.is_empty() {
        return None;
    }
    Some(Finding {
        weight: Weight::Ask,
        kind: "processes",
        what: "processes work in it".to_owned(),
        items: found
            .iter()
            .map(|process| format!("{} {}", process.pid, process.name))
            .collect(),
        maker: None,
    })
}
