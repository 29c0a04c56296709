//! `git-replay diff`: two runs of one brief beside each other.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::replay::divergence::short;
use crate::replay::journal::{Commit, Journal, Usage};
use crate::replay::pairing::{Pair, pairs};
use crate::replay::patch_id::{self, Basis};
use crate::replay::{options, render, show};
use crate::ui::Ui;

/// Compare two journals: prompts, tools, usage, and commits by what they change
#[derive(Args)]
pub(super) struct Arguments {
    /// The one journal
    #[arg(value_name = "journal")]
    left: PathBuf,
    /// The other journal
    #[arg(value_name = "journal")]
    right: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the subcommand: exit 1 if anything but the usage differs.
///
/// # Errors
/// When a journal cannot be read.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let repo = Repo::discover().ok();
    let limits = options::limits(repo.as_ref())?;
    let left = options::open(&arguments.left, limits, ui)?;
    let right = options::open(&arguments.right, limits, ui)?;
    let found = Difference::between(repo.as_ref(), &left, &right)?;
    if arguments.json {
        ui.json(&found.document())?;
    } else {
        ui.out
            .write_all(found.text().as_bytes())
            .context("cannot write to standard output")?;
    }
    Ok(if found.is_none() {
        Exit::Done
    } else {
        Exit::No
    })
}

struct Difference<'a> {
    /// Turn number, and the two texts where they differ.
    prompts: Vec<(usize, Option<&'a str>, Option<&'a str>)>,
    tools: Vec<(usize, &'a [String], &'a [String])>,
    usage: (Option<Usage>, Option<Usage>),
    commits: Vec<Pair<'a>>,
    basis: Basis,
}

impl<'a> Difference<'a> {
    fn between(repo: Option<&Repo>, left: &'a Journal, right: &'a Journal) -> Result<Self> {
        let turns = left.turns.len().max(right.turns.len());
        let mut prompts = Vec::new();
        let mut tools = Vec::new();
        for turn in 0..turns {
            let prompt =
                |journal: &'a Journal| journal.turns.get(turn).map(|t| t.prompt.text.as_str());
            let is_whole = |journal: &Journal| {
                let turn = journal.turns.get(turn);
                turn.is_none_or(|turn| turn.prompt.incomparable.is_none())
            };
            let is_both = left.turns.len().min(right.turns.len()) > turn;
            let is_comparable = !is_both || (is_whole(left) && is_whole(right));
            if is_comparable && prompt(left) != prompt(right) {
                prompts.push((turn + 1, prompt(left), prompt(right)));
            }
            let called = |journal: &'a Journal| -> &'a [String] {
                journal.turns.get(turn).map_or(&[], |t| t.tools.as_slice())
            };
            if called(left) != called(right) {
                tools.push((turn + 1, called(left), called(right)));
            }
        }
        let ids = patch_id::of_both(repo, left, right)?;
        Ok(Difference {
            prompts,
            tools,
            usage: (usage(left), usage(right)),
            commits: pairs(
                render::commits(left).zip(ids.left).collect(),
                render::commits(right).zip(ids.right).collect(),
            ),
            basis: ids.basis,
        })
    }

    fn is_none(&self) -> bool {
        self.prompts.is_empty()
            && self.tools.is_empty()
            && self
                .commits
                .iter()
                .all(|pair| matches!(pair, Pair::Same(..)))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (turn, left, right) in &self.prompts {
            let shown = |prompt: &Option<&str>| match prompt {
                Some(prompt) => format!("'{}'", prompt.lines().next().unwrap_or_default()),
                None => "no such turn".to_owned(),
            };
            text.push_str(&format!(
                "turn {turn}: prompt {} | {}\n",
                shown(left),
                shown(right)
            ));
        }
        for (turn, left, right) in &self.tools {
            text.push_str(&format!(
                "turn {turn}: tools {} | {}\n",
                left.join(" "),
                right.join(" ")
            ));
        }
        let tokens = |usage: Option<Usage>| usage.map_or("unknown".to_owned(), show::tokens);
        text.push_str(&format!(
            "tokens: {} | {}\n",
            tokens(self.usage.0),
            tokens(self.usage.1)
        ));
        for pair in &self.commits {
            let id = |commit: Option<&Commit>| match commit {
                Some(commit) => short(&commit.oid.to_string()).to_owned(),
                None => "-".repeat(10),
            };
            let (left, right) = pair.sides();
            let subject = left.or(right).map(Commit::subject).unwrap_or_default();
            text.push_str(&format!(
                "{} {} {} {subject}\n",
                id(left),
                pair.sign(),
                id(right)
            ));
        }
        text
    }

    fn document(&self) -> Value {
        let commits: Vec<Value> = self
            .commits
            .iter()
            .map(|pair| {
                let (left, right) = pair.sides();
                let id = |commit: Option<&Commit>| commit.map(|c| c.oid.to_string());
                json!({"left": id(left), "right": id(right), "state": pair.word()})
            })
            .collect();
        let turns = |turn: &usize, left: Value, right: Value| json!({"turn": turn, "left": left, "right": right});
        json!({
            "same": self.is_none(),
            "prompts": self.prompts.iter().map(|(n, l, r)| turns(n, json!(l), json!(r))).collect::<Vec<_>>(),
            "tools": self.tools.iter().map(|(n, l, r)| turns(n, json!(l), json!(r))).collect::<Vec<_>>(),
            "usage": {"left": self.usage.0, "right": self.usage.1},
            "commits": commits,
            "compared_by": self.basis.word(),
        })
    }
}

fn usage(journal: &Journal) -> Option<Usage> {
    journal
        .turns
        .iter()
        .filter_map(|turn| turn.usage)
        .reduce(Usage::plus)
}
