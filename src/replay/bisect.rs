//! `git-replay bisect`: the first commit or event at which a record and a
//! branch, or two records, part.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::replay::base::require_commit;
use crate::replay::divergence::short;
use crate::replay::journal::{Identity, Journal};
use crate::replay::range::Range;
use crate::replay::room::Place;
use crate::replay::store::Store;
use crate::replay::{options, render, trace};
use crate::ui::Ui;

/// Find the first commit or event at which a journal and a branch, or two journals, part
#[derive(Args)]
pub(super) struct Arguments {
    /// The journal
    journal: PathBuf,
    /// A revision, or another journal
    #[arg(value_name = "rev or journal")]
    other: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

/// A commit as far as it can be compared.
struct Step {
    id: String,
    tree: String,
    author: Identity,
    message: String,
}

/// Where two runs part.
struct Fork {
    what: &'static str,
    /// From 1.
    number: usize,
    left: String,
    right: String,
    why: String,
}

/// Runs the subcommand: exit 1 if they part.
///
/// # Errors
/// When the journal, the other one or the revision cannot be read.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let repo = Repo::discover().ok();
    let limits = options::limits(repo.as_ref())?;
    let journal = options::open(&arguments.journal, limits, ui)?;
    let path = Path::new(&arguments.other);
    let (event, other) = if path.exists() {
        let other = options::open(path, limits, ui)?;
        (
            event_fork(&journal, &other)?,
            steps(&journal_commits(&other)),
        )
    } else {
        let repo = repo.map_or_else(Repo::discover, Ok)?;
        (None, branch(&repo, &journal, &arguments.other)?)
    };
    let commit = commit_fork(&steps(&journal_commits(&journal)), &other);
    let forks: Vec<Fork> = event.into_iter().chain(commit).collect();
    if arguments.json {
        ui.json(&document(&forks))?;
    } else {
        tell(&forks, ui)?;
    }
    Ok(if forks.is_empty() {
        Exit::Done
    } else {
        Exit::No
    })
}

type Compared = (String, String, Identity, String);

fn journal_commits(journal: &Journal) -> Vec<Compared> {
    render::commits(journal)
        .map(|c| {
            (
                c.oid.to_string(),
                c.tree.to_string(),
                c.author.clone(),
                c.message.clone(),
            )
        })
        .collect()
}

fn steps(commits: &[Compared]) -> Vec<Step> {
    commits
        .iter()
        .cloned()
        .map(|(id, tree, author, message)| Step {
            id,
            tree,
            author,
            message,
        })
        .collect()
}

/// The commits of `revision` since the journal's baseline.
fn branch(repo: &Repo, journal: &Journal, revision: &str) -> Result<Vec<Step>> {
    let store = Store::open(repo, Place::Outside)?;
    let tip = require_commit(repo, revision)?;
    let baseline = journal
        .turns
        .iter()
        .find_map(|turn| turn.workspace.as_ref()?.baseline)
        .map(|baseline| baseline.commit);
    let old = match baseline {
        Some(id) if store.commit(id)?.is_some() => Some(id),
        _ => None,
    };
    let range = Range::between(repo, &store, old, tip)?;
    Ok(range
        .commits
        .iter()
        .map(|(id, raw)| Step {
            id: id.to_string(),
            tree: raw.tree().map(|tree| tree.to_string()).unwrap_or_default(),
            author: raw
                .field("author")
                .map(|value| Identity::shown(value))
                .unwrap_or_default(),
            message: String::from_utf8_lossy(raw.message.as_deref().unwrap_or_default()).into(),
        })
        .collect())
}

fn commit_fork(left: &[Step], right: &[Step]) -> Option<Fork> {
    let count = left.len().max(right.len());
    (0..count).find_map(|at| {
        let why = match (left.get(at), right.get(at)) {
            (Some(left), Some(right)) => difference(left, right)?,
            (Some(_), None) => "the other one ends before it",
            _ => "the journal ends before it",
        };
        let id = |steps: &[Step]| {
            steps
                .get(at)
                .map(|step| step.id.clone())
                .unwrap_or_default()
        };
        Some(Fork {
            what: "commit",
            number: at + 1,
            left: id(left),
            right: id(right),
            why: why.into(),
        })
    })
}

/// What differs; ids do not count, since they differ with any other base.
fn difference(left: &Step, right: &Step) -> Option<&'static str> {
    if left.tree != right.tree {
        Some("their trees differ")
    } else if left.message != right.message {
        Some("their messages differ")
    } else if left.author != right.author {
        Some("their authors differ")
    } else {
        None
    }
}

fn event_fork(left: &Journal, right: &Journal) -> Result<Option<Fork>> {
    let (a, b) = (trace::of(left)?, trace::of(right)?);
    let count = a.len().max(b.len());
    Ok((0..count).find(|at| !trace::agree(a.get(*at), b.get(*at))).map(|at| {
        let shown = |events: &[Value]| events.get(at).map(Value::to_string).unwrap_or_default();
        let kind = |events: &[Value]| match events.get(at) {
            Some(event) => event["kind"].as_str().unwrap_or("?").to_owned(),
            None => "nothing".to_owned(),
        };
        Fork {
            what: "event",
            number: at + 1,
            left: shown(&a),
            right: shown(&b),
            why: format!("'{}' here, '{}' there", kind(&a), kind(&b)),
        }
    }))
}

fn document(forks: &[Fork]) -> Value {
    let of = |what: &str| {
        forks.iter().find(|fork| fork.what == what).map(|fork| {
            json!({"number": fork.number, "left": fork.left, "right": fork.right, "why": fork.why})
        })
    };
    json!({"same": forks.is_empty(), "event": of("event"), "commit": of("commit")})
}

fn tell(forks: &[Fork], ui: &mut Ui) -> Result<()> {
    if forks.is_empty() {
        ui.note("they do not part");
    }
    for fork in forks {
        let side = |text: &str| match text {
            "" => "-".to_owned(),
            text => short(text).chars().take(100).collect(),
        };
        writeln!(
            ui.out,
            "{} {}: {}\n  {}\n  {}",
            fork.what,
            fork.number,
            fork.why,
            side(&fork.left),
            side(&fork.right)
        )
        .context("cannot write to standard output")?;
    }
    Ok(())
}
