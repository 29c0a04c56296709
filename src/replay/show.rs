//! `git-replay show`: what a journal holds, its patches made readable.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::replay::divergence::short;
use crate::replay::journal::container::Form;
use crate::replay::journal::{Commit, Journal, Turn, Usage, Workspace};
use crate::replay::patch;
use crate::replay::{options, render};
use crate::ui::{Ui, counted};

/// Show what a journal holds
#[derive(Args)]
pub(super) struct Arguments {
    /// A journal: a file, '-', or a storage folder with '#<log>'
    journal: PathBuf,
    /// Show each commit's patch, readable where its base is in this repository
    #[arg(short, long, conflicts_with = "json")]
    patch: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// When the journal cannot be read.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    // A journal can be looked at anywhere; only its patches may need a repository.
    let repo = Repo::discover().ok();
    let journal = options::open(&arguments.journal, options::limits(repo.as_ref())?, ui)?;
    if arguments.json {
        ui.json(&document(&journal))?;
        return Ok(Exit::Done);
    }
    let mut patches = match arguments.patch {
        true => render::patches(repo.as_ref(), &journal, ui)?.into_iter(),
        false => Vec::new().into_iter(),
    };
    let mut text = heading(&journal);
    for (number, turn) in journal.turns.iter().enumerate() {
        text.push_str(&describe(number + 1, turn));
        ui.out.write_all(text.as_bytes()).context(CANNOT)?;
        text.clear();
        let commits = turn
            .workspace
            .iter()
            .flat_map(|workspace| &workspace.commits);
        for commit in commits {
            writeln!(ui.out, "  {}", line(commit)).context(CANNOT)?;
            if let Some(patch) = patches.next() {
                ui.out.write_all(&patch).context(CANNOT)?;
                writeln!(ui.out).context(CANNOT)?;
            }
        }
    }
    Ok(Exit::Done)
}

const CANNOT: &str = "cannot write to standard output";

fn heading(journal: &Journal) -> String {
    let form = match journal.form() {
        Form::Array => "a JSON array",
        Form::Lines => "JSON lines",
    };
    let entries = journal.container.len();
    let turns = counted(journal.turns.len(), "turn");
    format!(
        "journal {}: {form}, {entries} entries, {turns}\n",
        journal.name
    )
}

fn describe(number: usize, turn: &Turn) -> String {
    let mut text = format!("\nturn {number}");
    if turn.is_handed_over {
        text.push_str(" (handed over)");
    }
    match turn.prompt.incomparable {
        Some(why) => text.push_str(&format!(", prompt {why}\n")),
        None => text.push('\n'),
    }
    for line in turn.prompt.text.lines() {
        text.push_str(&format!("  > {line}\n"));
    }
    if !turn.tools.is_empty() {
        text.push_str(&format!("  tools: {}\n", turn.tools.join(", ")));
    }
    for line in turn.text.lines() {
        text.push_str(&format!("  < {line}\n"));
    }
    if let Some(usage) = turn.usage {
        text.push_str(&format!("  tokens: {}\n", tokens(usage)));
    }
    if let Some(handover) = &turn.handover {
        let (from, to) = (&handover.from, &handover.to);
        text.push_str(&format!(
            "  handed over from {from} to {to}: {}\n",
            handover.message
        ));
    }
    if let Some(failure) = &turn.failure {
        text.push_str(&format!(
            "  failed ({}): {}\n",
            failure.code, failure.message
        ));
    }
    if let Some(workspace) = &turn.workspace {
        text.push_str(&describe_workspace(workspace));
    }
    text
}

fn describe_workspace(workspace: &Workspace) -> String {
    let mut text = String::new();
    if let Some(baseline) = workspace.baseline {
        text.push_str(&format!("  base {}\n", short(&baseline.commit.to_string())));
    }
    if let Some(why) = &workspace.unavailable {
        text.push_str(&format!(
            "  unavailable to readers of the plain fields: {why}\n"
        ));
    }
    text
}

/// Tokens in words; counts that are known to be missing are not shown as 0.
pub(super) fn tokens(usage: Usage) -> String {
    if usage.complete == Some(false) && usage.input == 0 && usage.output == 0 {
        return "unknown".into();
    }
    let Usage {
        input,
        cached,
        output,
        ..
    } = usage;
    let least = if usage.complete == Some(false) {
        "at least "
    } else {
        ""
    };
    format!("{least}{input} in ({cached} cached), {output} out")
}

fn line(commit: &Commit) -> String {
    let paths = match patch::parse(&commit.patch) {
        Ok(changes) => counted(changes.len(), "path"),
        Err(_) => "paths only git can tell".into(),
    };
    let id = commit.oid.to_string();
    format!(
        "{} {} ({}, {paths})",
        short(&id),
        commit.subject(),
        commit.author.name
    )
}

fn document(journal: &Journal) -> Value {
    let turns: Vec<Value> = journal.turns.iter().map(turn_document).collect();
    json!({
        "journal": journal.name,
        "form": match journal.form() { Form::Array => "array", Form::Lines => "lines" },
        "entries": journal.container.len(),
        "torn_line": journal.torn(),
        "turns": turns,
    })
}

fn turn_document(turn: &Turn) -> Value {
    let workspace = turn.workspace.as_ref();
    let baseline = workspace.and_then(|w| w.baseline);
    json!({
        "prompt": turn.prompt.text,
        "incomparable": turn.prompt.incomparable,
        "handed_over": turn.is_handed_over,
        "continued": turn.is_continued,
        "interrupted": turn.is_interrupted,
        "text": turn.text,
        "conversation": turn.conversation,
        "tools": turn.tools,
        "events": turn.events.len(),
        "tokens": turn.usage,
        "handover": turn.handover.as_ref().map(|h| json!({
            "from": h.from, "to": h.to, "failure": h.failure, "message": h.message,
        })),
        "failure": turn.failure.as_ref().map(|f| json!({"code": f.code, "message": f.message})),
        "baseline": baseline.map(|b| json!({
            "commit": b.commit.to_string(), "tree": b.tree.to_string(),
        })),
        "unavailable": workspace.and_then(|w| w.unavailable.as_deref()),
        "commits": workspace.map(|w| w.commits.iter().map(commit_document).collect::<Vec<_>>()),
    })
}

fn commit_document(commit: &Commit) -> Value {
    let identity = |who: &crate::replay::journal::Identity| json!({"name": who.name, "email": who.email, "date": who.date});
    let paths: Option<Vec<Value>> = patch::parse(&commit.patch).ok().map(|changes| {
        changes
            .iter()
            .map(|change| crate::git::quote::json_path(change.path.as_ref()))
            .collect()
    });
    json!({
        "oid": commit.oid.to_string(),
        "tree": commit.tree.to_string(),
        "subject": commit.subject(),
        "author": identity(&commit.author),
        "committer": identity(&commit.committer),
        "message": commit.message,
        "lossless": commit.extension.is_some(),
        "parents": commit.extension.as_ref().map(|x| {
            x.parents.iter().map(ToString::to_string).collect::<Vec<_>>()
        }),
        "paths": paths,
    })
}
