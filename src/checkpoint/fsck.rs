//! `git checkpoint fsck`: is every object of a checkpoint there, and how does it
//! differ from the disk.

use std::collections::BTreeSet;

use clap::Args;
use gix::ObjectId;
use gix::bstr::ByteSlice;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::git::quote::{json_path, quoted};
use crate::lane::identity::{CHECKPOINTS, INDEXES};
use crate::lane::{Checkpoint, Lane, find};
use crate::snapshot::complete::{Problem, Prover};
use crate::snapshot::difference::Trees;
use crate::snapshot::take::{Request, Snapshot, take};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// Only this checkpoint (may be given more than once)
    #[arg(value_name = "N")]
    numbers: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// What was found about one checkpoint.
struct Finding {
    shown: String,
    name: String,
    commit: ObjectId,
    problems: Vec<Problem>,
    /// Missing objects that a promisor remote still has.
    promised: usize,
    /// Paths that are new, modified and deleted on disk; `None` where they cannot be compared.
    on_disk: Option<[usize; 3]>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let named = named(repo, &arguments.numbers)?;
    let now = match repo.worktree() {
        Some(_) => Some(take(
            repo,
            &Request {
                readable: true,
                ..Request::default()
            },
        )?),
        None => None,
    };
    let mut prover = Prover::new(repo, true)?;
    let mut findings = Vec::new();
    for (name, commit) in &named {
        findings.push(look(repo, &mut prover, now.as_ref(), name, *commit)?);
    }
    let strays = match arguments.numbers.is_empty() {
        true => strays(repo)?,
        false => Vec::new(),
    };
    let exposures = repo.exposures();
    let is_whole = findings.iter().all(|f| f.problems.is_empty());
    if arguments.json {
        ui.json(&json!({
            "checkpoints": findings.iter().map(json_of).collect::<Vec<_>>(),
            "strays": strays,
            "exposed": exposures.iter().map(|e| json!({
                "what": e.what, "remedy": e.remedy,
            })).collect::<Vec<_>>(),
        }))?;
    } else {
        for finding in &findings {
            tell(finding, ui)?;
        }
        for stray in &strays {
            ui.note(format_args!("{stray} belongs to no checkpoint"));
        }
        for exposure in &exposures {
            super::exposure::tell(exposure, ui);
        }
    }
    Ok(if is_whole { Exit::Done } else { Exit::No })
}

/// The refs to look at: those of all lanes unless some are named.
fn named(repo: &Repo, numbers: &[String]) -> Result<Vec<(String, ObjectId)>> {
    if numbers.is_empty() {
        let all = repo.refs_below(CHECKPOINTS)?;
        let named = all
            .into_iter()
            .filter_map(|(name, id)| Some((String::from_utf8(name.into()).ok()?, id)));
        return Ok(named.collect());
    }
    let own = Lane::find(repo)?;
    let mut found = Vec::new();
    for number in numbers {
        // By its ref alone: that its commit cannot be read is an answer here.
        let ref_name = match (number.parse::<u32>(), &own) {
            (Ok(number), Some(lane)) => Some(lane.checkpoint_ref(number)),
            _ => None,
        };
        match ref_name {
            Some(name) if let Some(id) = repo.find_ref(name.as_str().into())? => {
                found.push((name, id));
            }
            _ => {
                let checkpoint = find::by_text(repo, number)?;
                found.push((checkpoint.name, checkpoint.commit));
            }
        }
    }
    Ok(found)
}

fn look(
    repo: &Repo,
    prover: &mut Prover,
    now: Option<&Snapshot>,
    name: &str,
    commit: ObjectId,
) -> Result<Finding> {
    let shown = name.strip_prefix(CHECKPOINTS).unwrap_or(name).to_owned();
    let mut problems = prover.commit(commit)?;
    let checkpoint = Checkpoint::read(repo, name, commit).ok();
    if let Some(index) = checkpoint.as_ref().and_then(|c| c.record.index) {
        let known: BTreeSet<ObjectId> = problems.iter().map(|p| p.id).collect();
        let more = prover.commit(index)?;
        problems.extend(more.into_iter().filter(|p| !known.contains(&p.id)));
    }
    let promised = promised(repo, &mut problems, commit)?;
    let on_disk = match (&checkpoint, now) {
        (Some(checkpoint), Some(now)) if problems.is_empty() && promised == 0 => {
            let trees = Trees::new(repo, now.sink.tree_contents());
            let mut counts = [0; 3];
            for difference in trees.differences(checkpoint.tree, now.tree)? {
                counts[match (difference.old, difference.new) {
                    (None, _) => 0,
                    (Some(_), Some(_)) => 1,
                    (Some(_), None) => 2,
                }] += 1;
            }
            Some(counts)
        }
        _ => None,
    };
    Ok(Finding {
        shown,
        name: name.to_owned(),
        commit,
        problems,
        promised,
        on_disk,
    })
}

/// In a partial clone, what is missing may be promised: then it is taken out of
/// `problems` and counted. git alone knows what was promised.
fn promised(repo: &Repo, problems: &mut Vec<Problem>, commit: ObjectId) -> Result<usize> {
    if problems.iter().all(|p| p.damaged) || !repo.is_partial() {
        return Ok(0);
    }
    let asked = repo
        .git(["rev-list", "--objects", "--missing=allow-promisor"])
        .arg(commit.to_string())
        .env("GIT_NO_LAZY_FETCH", "1")
        .output()?;
    if !asked.status.success() {
        return Ok(0);
    }
    let before = problems.len();
    problems.retain(|p| p.damaged);
    Ok(before - problems.len())
}

/// Refs among ours without a checkpoint: left by a crash, or put there by others.
fn strays(repo: &Repo) -> Result<Vec<String>> {
    let checkpoints: BTreeSet<Vec<u8>> = repo
        .refs_below(CHECKPOINTS)?
        .into_iter()
        .map(|(name, _)| name[CHECKPOINTS.len()..].to_vec())
        .collect();
    Ok(repo
        .refs_below(INDEXES)?
        .into_iter()
        .filter(|(name, _)| !checkpoints.contains(&name[INDEXES.len()..]))
        .map(|(name, _)| name.to_string())
        .collect())
}

fn tell(finding: &Finding, ui: &mut Ui) -> Result<()> {
    let shown = &finding.shown;
    if !finding.problems.is_empty() {
        for problem in &finding.problems {
            let what = if problem.damaged {
                "damaged"
            } else {
                "missing"
            };
            let path = if problem.path.is_empty() {
                String::new()
            } else {
                format!(" ({})", quoted(problem.path.as_bstr()))
            };
            writeln!(
                ui.out,
                "{shown}  {what} {} {}{path}",
                problem.kind, problem.id
            )?;
        }
        return Ok(());
    }
    let promised = match finding.promised {
        0 => String::new(),
        count => format!(", but for {count} objects that only the remote has"),
    };
    let on_disk = match finding.on_disk {
        None => String::new(),
        Some([0, 0, 0]) => "; the disk is the same".to_owned(),
        Some([new, modified, deleted]) => {
            format!("; on disk since: {new} new, {modified} modified, {deleted} deleted")
        }
    };
    writeln!(ui.out, "{shown}  complete{promised}{on_disk}")?;
    Ok(())
}

fn json_of(finding: &Finding) -> Value {
    let problems: Vec<Value> = finding
        .problems
        .iter()
        .map(|p| {
            json!({
                "object": p.id.to_string(),
                "kind": p.kind.to_string(),
                "path": json_path(p.path.as_bstr()),
                "damaged": p.damaged,
            })
        })
        .collect();
    json!({
        "ref": finding.name,
        "commit": finding.commit.to_string(),
        "complete": finding.problems.is_empty(),
        "problems": problems,
        "promised": finding.promised,
        "on_disk": finding.on_disk.map(|[new, modified, deleted]| json!({
            "new": new, "modified": modified, "deleted": deleted,
        })),
    })
}
