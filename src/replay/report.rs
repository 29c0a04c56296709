//! What a replay found, for a person and for a script.

use std::io::Write;

use serde_json::{Value, json};

use crate::error::{Context, Result};
use crate::replay::divergence::short;
use crate::replay::journal::{Failure, Journal};
use crate::replay::rebuild::Verdict;
use crate::ui::{Ui, counted};

/// What was made of the rebuilt commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    /// No branch.
    Nothing,
    /// No branch, since only a check was asked for.
    Checked,
    /// This branch.
    Branch(String),
    /// This branch, which was there already.
    Already(String),
}

impl Made {
    fn branch(&self) -> Option<&str> {
        match self {
            Made::Branch(name) | Made::Already(name) => Some(name),
            Made::Nothing | Made::Checked => None,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Made::Nothing => "none",
            Made::Checked => "checked",
            Made::Branch(_) => "made",
            Made::Already(_) => "already there",
        }
    }
}

/// The document of `--json`, which the man page promises.
pub(super) fn document(journal: &Journal, verdict: &Verdict, made: &Made) -> Value {
    let commits: Vec<Value> = verdict
        .commits
        .iter()
        .map(|commit| {
            json!({
                "recorded": commit.recorded.to_string(),
                "oid": commit.id.to_string(),
                "tree": commit.tree.to_string(),
                "subject": commit.subject,
                "signature_dropped": commit.lost_signature,
            })
        })
        .collect();
    let incomparable: Vec<Value> = verdict
        .incomparable
        .iter()
        .map(|(turn, why)| json!({"turn": turn, "why": why}))
        .collect();
    let fsck: Vec<Value> = verdict
        .fsck
        .iter()
        .map(|(id, complaint)| json!({"oid": id.to_string(), "complaint": complaint}))
        .collect();
    json!({
        "journal": journal.name,
        "branch": made.branch(),
        "state": made.word(),
        "base": verdict.base.map(|id| id.to_string()),
        "tip": verdict.tip.map(|id| id.to_string()),
        "commits": commits,
        "same_ids": (!verdict.commits.is_empty()).then(|| verdict.renamed() == 0),
        "turns": verdict.turns,
        "remaining_turns": verdict.remaining,
        "prompts_compared": verdict.compared,
        "incomparable": incomparable,
        "divergences": verdict.divergences,
        "softened": softened(verdict),
        "failure": failures(verdict).last(),
        "failures": failures(verdict),
        "text": verdict.text,
        "usage": verdict.usage.map(|usage| json!({"recorded": true, "tokens": usage})),
        "fsck": fsck,
        "torn_line": journal.torn(),
    })
}

fn failures(verdict: &Verdict) -> Vec<Value> {
    let document = |(turn, failure): &(usize, Failure)| json!({"turn": turn, "code": failure.code, "message": failure.message});
    verdict.failures.iter().map(document).collect()
}

/// Divergences that did not end the replay.
fn softened(verdict: &Verdict) -> usize {
    verdict.divergences.len() - usize::from(verdict.has_ended)
}

/// Tells a person; with `names_branch` the branch goes alone to standard output.
pub(super) fn tell(
    journal: &Journal,
    verdict: &Verdict,
    made: &Made,
    names_branch: bool,
    ui: &mut Ui,
) -> Result<()> {
    let last = verdict.divergences.len().saturating_sub(1);
    for (number, divergence) in verdict.divergences.iter().enumerate() {
        let ends = verdict.has_ended && number == last;
        let line = format!("{}: {}", divergence.word(), divergence.line());
        if ends {
            ui.say(format_args!("diverged: {line}"));
        } else {
            ui.warn(line);
        }
    }
    for (turn, why) in &verdict.incomparable {
        ui.warn(format_args!(
            "turn {turn}: its prompt was {why}, so it is not comparable"
        ));
    }
    for (id, complaint) in &verdict.fsck {
        ui.warn(format_args!(
            "commit {id} is as recorded, and git fsck calls it {complaint}"
        ));
    }
    if verdict.has_ended {
        ui.note(format_args!(
            "not reached: {}; nothing was written",
            counted(verdict.remaining, "turn")
        ));
        return Ok(());
    }
    ui.note(summary(journal, verdict, made));
    if let Some(branch) = made.branch().filter(|_| names_branch) {
        writeln!(ui.out, "{branch}").context("cannot write to standard output")?;
    }
    for (turn, failure) in &verdict.failures {
        ui.say(format_args!(
            "turn {turn}: the recorded run failed ({}): {}",
            failure.code, failure.message
        ));
    }
    Ok(())
}

/// One line: how many commits, with which ids, and where they are now.
fn summary(journal: &Journal, verdict: &Verdict, made: &Made) -> String {
    let count = verdict.commits.len();
    let renamed = verdict.renamed();
    let commits = match count {
        0 => "no commits".to_owned(),
        n => counted(n, "commit"),
    };
    let ids = match (count, renamed) {
        (0, _) => "",
        (_, 0) => " with the recorded ids",
        _ if verdict.is_faithful() => {
            " with the recorded trees and messages, but other ids, since the base is another commit"
        }
        _ => ", not all with the recorded ids",
    };
    let place = match made {
        Made::Branch(name) => format!("; branch '{name}' made"),
        Made::Already(name) => format!("; branch '{name}' is already there"),
        Made::Checked => "; nothing was written".to_owned(),
        Made::Nothing => "; no branch was made".to_owned(),
    };
    let lost = verdict.commits.iter().filter(|c| c.lost_signature).count();
    let lost = match lost {
        0 => String::new(),
        n => format!(
            "; signatures of {} left out: they sign other parents",
            counted(n, "commit")
        ),
    };
    let prompts = match (verdict.compared, verdict.turns) {
        (0, _) => "; prompts not compared".to_owned(),
        (compared, turns) if compared < turns => {
            format!("; {compared} of {} compared", counted(turns, "prompt"))
        }
        _ => String::new(),
    };
    let tip = verdict
        .tip
        .map(|id| format!(" at {}", short(&id.to_string())))
        .unwrap_or_default();
    let rest = match verdict.remaining {
        0 => String::new(),
        n => format!("; remaining: {}", counted(n, "turn")),
    };
    format!(
        "{}: {commits}{ids}{tip}{place}{rest}{prompts}{lost}",
        journal.name
    )
}
