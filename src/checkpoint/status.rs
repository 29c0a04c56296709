//! `git checkpoint status`: where this worktree stands.

use clap::Args;
use serde_json::json;

use crate::checkpoint::show_json::checkpoint_json;
use crate::checkpoint::time::local;
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::position::Position;
use crate::lane::{Lane, find, identity};
use crate::snapshot::restore::journal::Journal;
use crate::snapshot::take::{Request, take};
use crate::ui::{Ui, counted};

#[derive(Args)]
pub(super) struct Arguments {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    repo.require_worktree()?;
    let Some(lane) = Lane::find(repo)? else {
        if arguments.json {
            ui.json(&json!({"lane": null, "count": 0, "newest": null}))?;
        } else {
            writeln!(ui.out, "no checkpoint yet")?;
        }
        return Ok(Exit::Done);
    };
    let count = identity::numbers(repo, &lane.name)?.len();
    let newest = find::newest(repo, &lane, 1)?.pop();
    let position = Position::load(repo)?;
    let unfinished = Journal::load(repo)?;
    let now = take(repo, &Request::default())?;
    let changed = newest.as_ref().map(|newest| newest.tree != now.tree);
    if arguments.json {
        ui.json(&json!({
            "lane": lane.name,
            "worktree": lane.worktree,
            "count": count,
            "newest": newest.as_ref().map(checkpoint_json),
            "changed": changed,
            "position": position.at,
            "redo": position.undone.last().map(|undone| undone.safety),
            "unfinished": unfinished.as_ref().map(|j| json!({
                "target": j.target, "safety": j.safety, "redo": j.redo,
            })),
        }))?;
        return Ok(Exit::Done);
    }
    writeln!(
        ui.out,
        "lane {}: {}",
        lane.name,
        counted(count, "checkpoint")
    )?;
    if let Some(newest) = &newest {
        let state = match changed {
            Some(true) => "the working tree has changed since",
            _ => "the working tree is as it was then",
        };
        writeln!(
            ui.out,
            "newest: {}  {}  {}; {state}",
            newest.number(),
            local(newest.time),
            newest.record.label
        )?;
    }
    if let Some(at) = position.at {
        writeln!(ui.out, "undone to {at:03}")?;
    }
    if let Some(undone) = position.undone.last() {
        writeln!(
            ui.out,
            "'git checkpoint redo' restores {:03}",
            undone.safety
        )?;
    }
    Ok(Exit::Done)
}
