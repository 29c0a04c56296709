//! `git checkpoint list`.

use std::ffi::OsString;

use clap::Args;
use serde_json::Value;

use crate::checkpoint::show_json::checkpoint_json;
use crate::checkpoint::time::local;
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::{Checkpoint, Lane, find};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The lane of another worktree
    #[arg(long, value_name = "name", conflicts_with = "all")]
    lane: Option<String>,
    /// Every lane
    #[arg(long)]
    all: bool,
    /// Only the newest <count>
    #[arg(short = 'n', value_name = "count")]
    count: Option<usize>,
    /// Print an array of JSON objects
    #[arg(long)]
    json: bool,
    /// Only checkpoints that changed one of these paths
    #[arg(last = true, value_name = "path")]
    paths: Vec<OsString>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let lanes = match (&arguments.lane, arguments.all) {
        (_, true) => find::lanes(repo)?,
        (Some(lane), _) => vec![lane.clone()],
        (None, false) => Lane::find(repo)?.map(|l| l.name).into_iter().collect(),
    };
    let mut found = Vec::new();
    for lane in &lanes {
        found.extend(of_lane(repo, lane, &arguments)?);
    }
    if arguments.json {
        let all: Vec<Value> = found.iter().map(checkpoint_json).collect();
        ui.json(&all)?;
        return Ok(Exit::Done);
    }
    for checkpoint in folded(&found) {
        let shown = if arguments.all || arguments.lane.is_some() {
            checkpoint.lane_and_number()
        } else {
            checkpoint.number()
        };
        let short = checkpoint.commit.to_hex_with_len(10);
        let line = format!(
            "{shown}  {}  {}  {}",
            ui.yellow(short),
            local(checkpoint.time),
            checkpoint.record.label
        );
        writeln!(ui.out, "{line}")?;
    }
    Ok(Exit::Done)
}

fn of_lane(repo: &Repo, lane: &str, arguments: &Arguments) -> Result<Vec<Checkpoint>> {
    let mut found = match arguments.count {
        Some(count) if arguments.paths.is_empty() => {
            let lane = Lane {
                name: lane.to_owned(),
                worktree: String::new(),
            };
            let mut newest = find::newest(repo, &lane, count)?;
            newest.reverse();
            newest
        }
        _ => find::from_number(repo, lane, 0)?,
    };
    if !arguments.paths.is_empty() {
        found = changing(repo, found, &arguments.paths)?;
        if let Some(count) = arguments.count {
            found.drain(..found.len().saturating_sub(count));
        }
    }
    Ok(found)
}

/// Those of `all` (ascending) whose tree differs from the one before in one of `paths`.
fn changing(repo: &Repo, all: Vec<Checkpoint>, paths: &[OsString]) -> Result<Vec<Checkpoint>> {
    let mut before = None;
    let mut found = Vec::new();
    for checkpoint in all {
        let now = checkpoint.tree;
        let changed = match before {
            Some(tree) if tree == now => false,
            Some(tree) => differs(repo, tree, now, paths)?,
            None => true,
        };
        before = Some(now);
        if changed {
            found.push(checkpoint);
        }
    }
    Ok(found)
}

fn differs(
    repo: &Repo,
    old: gix::ObjectId,
    new: gix::ObjectId,
    paths: &[OsString],
) -> Result<bool> {
    let output = repo
        .git(["diff-tree", "-r", "-z", "--name-only", "--no-ext-diff"])
        .arg(old.to_string())
        .arg(new.to_string())
        .arg("--")
        .args(repo.pathspecs(paths))
        .stdout()?;
    Ok(!output.is_empty())
}

/// One line for neighbours on the same tree that have nothing of their own to say.
fn folded(all: &[Checkpoint]) -> impl Iterator<Item = &Checkpoint> {
    all.iter().enumerate().filter_map(|(at, checkpoint)| {
        let repeats = at > 0 && {
            let before = &all[at - 1];
            before.tree == checkpoint.tree
                && before.record.label == checkpoint.record.label
                && before.record.lane == checkpoint.record.lane
        };
        (!repeats).then_some(checkpoint)
    })
}
