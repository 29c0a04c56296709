//! `git checkpoint show`.

use clap::Args;
use gix::bstr::{BStr, ByteSlice};

use crate::checkpoint::show_json::checkpoint_json;
use crate::checkpoint::time::local;
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::git::quote::quoted;
use crate::lane::{Checkpoint, find};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The checkpoint
    #[arg(value_name = "N")]
    number: String,
    /// Count the lines that changed since the checkpoint before
    #[arg(long, conflicts_with = "patch")]
    stat: bool,
    /// Show what changed since the checkpoint before, as a patch
    #[arg(short, long)]
    patch: bool,
    /// Print the checkpoint as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let checkpoint = find::by_text(repo, &arguments.number)?;
    if arguments.json {
        ui.json(&checkpoint_json(&checkpoint))?;
        return Ok(Exit::Done);
    }
    if !arguments.stat && !arguments.patch {
        return describe(&checkpoint, ui);
    }
    let base = match (
        find::before(repo, &checkpoint)?,
        checkpoint.record.head.commit,
    ) {
        (Some(before), _) => before.tree,
        // The first of its lane: against the commit it was taken on.
        (None, Some(commit)) => repo.tree_of(commit)?,
        (None, None) => repo.empty_tree(),
    };
    let status = repo
        .git(["diff"])
        .arg(if arguments.stat { "--stat" } else { "--patch" })
        .arg(base.to_string())
        .arg(checkpoint.tree.to_string())
        .status()?;
    Ok(match status.code() {
        Some(0) | None => Exit::Done,
        Some(code) => Exit::Code(u8::try_from(code).unwrap_or(128)),
    })
}

fn describe(checkpoint: &Checkpoint, ui: &mut Ui) -> Result<Exit> {
    let record = &checkpoint.record;
    let name = format!("checkpoint {}", checkpoint.lane_and_number());
    let mut lines = vec![
        format!("{}", ui.yellow(name)),
        format!("Commit:  {}", checkpoint.commit),
        format!("Date:    {}", local(checkpoint.time)),
        format!("Kind:    {}", record.kind.name()),
    ];
    let mut add = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            lines.push(format!("{:<9}{value}", format!("{key}:")));
        }
    };
    let commit = record.head.commit.map(|id| id.to_string());
    let branch = record
        .head
        .branch
        .as_ref()
        .map(|b| quoted(short(b.as_bstr())));
    let head = match (commit, branch) {
        (Some(commit), Some(branch)) => format!("{commit} ({branch})"),
        (Some(commit), None) => format!("{commit} (detached)"),
        (None, branch) => format!("unborn ({})", branch.unwrap_or_default()),
    };
    add("Head", Some(head));
    add("During", record.operation.clone());
    add("Index", record.index.map(|id| id.to_string()));
    add("Tool", record.tool.clone());
    for path in &record.paths {
        add("Path", Some(quoted(path.as_bstr())));
    }
    add("Call", record.call.clone());
    add("Session", record.session.clone());
    add("Command", record.command.clone());
    add("After", record.after.map(|n| format!("{n:03}")));
    add("Target", record.target.clone());
    for wrote in &record.wrote {
        let left = wrote.left();
        let path = quoted(wrote.path.as_bstr());
        let whose = wrote.session.as_ref();
        let whose = whose.map_or_else(String::new, |session| format!(" (session {session})"));
        add("Wrote", Some(format!("{left} {path}{whose}")));
    }
    for skipped in &record.skipped {
        let path = quoted(skipped.path.as_bstr());
        add("Skipped", Some(format!("{path}: {}", skipped.reason)));
    }
    for path in &record.raw {
        add("Raw", Some(quoted(path.as_bstr())));
    }
    lines.push(String::new());
    lines.push(format!("    {}", record.label));
    for line in lines {
        writeln!(ui.out, "{line}")?;
    }
    Ok(Exit::Done)
}

fn short(branch: &BStr) -> &BStr {
    branch
        .strip_prefix(b"refs/heads/")
        .map_or(branch, ByteSlice::as_bstr)
}
