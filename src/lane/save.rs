//! One save: a snapshot, and a checkpoint of it unless nothing is new.

use std::time::Duration;

use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::git::quote::quoted;
use crate::lane::durability::writing;
use crate::lane::find::Checkpoint;
use crate::lane::publish::{self, Keeping, Turn};
use crate::lane::record::{Kind, Record};
use crate::snapshot::take::{self, take};
use crate::state::lock;

/// What is to be saved, and why.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Why.
    pub kind: Kind,
    /// The label; made from the rest when there is none.
    pub label: Option<String>,
    /// The tool that is about to write.
    pub tool: Option<String>,
    /// The paths it is about to write, from the worktree's root.
    pub paths: Vec<BString>,
    /// The agent's id of the call.
    pub call: Option<String>,
    /// The agent's id of the session.
    pub session: Option<String>,
    /// The number of the checkpoint before the command that has ended.
    pub after: Option<u32>,
    /// The command, masked.
    pub command: Option<String>,
    /// Pathspecs of ignored files to capture too.
    pub include: Vec<BString>,
    /// Makes no checkpoint when tree, paths and call are those of the newest one.
    pub only_if_changed: bool,
}

/// Saves the working tree of `repo`. `None` when nothing was new.
///
/// # Errors
/// When the state could not be captured or a lock was held for longer than
/// `patience`; then there is no checkpoint.
pub fn save(repo: &Repo, request: Request, patience: Duration) -> Result<Option<Checkpoint>> {
    for _ in 1..TRIES {
        if let Some(answer) = attempt(repo, &request, patience)? {
            return Ok(answer);
        }
    }
    attempt(repo, &request, patience)?.ok_or_else(publish::taken)
}

/// How often a snapshot is taken anew whose objects a gc took.
const TRIES: usize = 3;

/// One try; `None` when a gc took objects while the checkpoint was written.
fn attempt(
    repo: &Repo,
    request: &Request,
    patience: Duration,
) -> Result<Option<Option<Checkpoint>>> {
    let snapshot = {
        // An undo must not be captured half-way.
        let _apply = lock::together(&apply_lock(repo)?, repo.sharing(), patience)?;
        take(
            repo,
            &take::Request {
                writing: writing(repo)?,
                include: request.include.clone(),
                ..take::Request::default()
            },
        )?
    };
    let turn = Turn::wait(repo, patience)?;
    if request.only_if_changed
        && let Some(newest) = &turn.newest
        && newest.tree == snapshot.tree
        && newest.record.raw == snapshot.raw
        && newest.record.worktree == turn.lane.worktree
        && request
            .call
            .as_ref()
            .is_none_or(|call| newest.record.call.as_ref() == Some(call))
        && request
            .paths
            .iter()
            .all(|path| newest.record.paths.contains(path))
    {
        return Ok(Some(None));
    }
    let record = Record {
        label: request
            .label
            .clone()
            .unwrap_or_else(|| label(request, snapshot.head.branch.as_ref().map(|b| b.as_bstr()))),
        kind: request.kind,
        tool: request.tool.clone(),
        paths: request.paths.clone(),
        call: request.call.clone(),
        session: request.session.clone(),
        after: request.after,
        command: request.command.clone(),
        ..Record::default()
    };
    let published = turn.try_publish(repo, snapshot, record, Keeping::WhatIsNew)?;
    Ok(published.map(Some))
}

/// The lock that an undo holds while it changes the working tree.
///
/// # Errors
/// When there is no working tree.
pub fn apply_lock(repo: &Repo) -> Result<std::path::PathBuf> {
    repo.require_worktree()?;
    Ok(repo.own_state().join("apply.lock"))
}

fn label(request: &Request, branch: Option<&BStr>) -> String {
    let paths: Vec<String> = request.paths.iter().map(|p| quoted(p.as_bstr())).collect();
    let what = [request.tool.clone().unwrap_or_default(), paths.join(" ")];
    let what = what.join(" ");
    match request.kind {
        Kind::BeforeWrite => format!("before {}", what.trim()),
        Kind::BeforeCommand => format!("before {}", command(request)),
        Kind::AfterCommand => format!("after {}", command(request)),
        Kind::Save | Kind::BeforeUndo => {
            let branch = branch.map(|b| b.strip_prefix(b"refs/heads/").unwrap_or(b).as_bstr());
            match branch {
                Some(branch) => format!("checkpoint on {}", quoted(branch)),
                None => "checkpoint".to_owned(),
            }
        }
    }
}

fn command(request: &Request) -> &str {
    let known = request.command.as_deref().or(request.tool.as_deref());
    known.unwrap_or("command")
}
