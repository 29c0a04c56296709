//! `git-replay bisect`: the first commit or event at which a record and a
//! branch, or two records, part.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use gix::ObjectId;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::{ByteSlice, Repo};
use crate::replay::base::require_commit;
use crate::replay::divergence::short;
use crate::replay::journal::{Identity, Journal};
use crate::replay::object::RawCommit;
use crate::replay::range::Range;
use crate::replay::room::Place;
use crate::replay::store::Store;
use crate::replay::{options, trace};
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
    committer: Identity,
    encoding: Option<String>,
    parents: Vec<Parent>,
    message: String,
}

/// What a commit stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    /// Where the run began.
    Base,
    /// A commit of the run, by number.
    Step(usize),
    /// One that is neither.
    Other(ObjectId),
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
    let (event, other) = if Journal::is_at(path) {
        let other = options::open(path, limits, ui)?;
        (event_fork(&journal, &other)?, journal_steps(&other))
    } else {
        let repo = repo.map_or_else(Repo::discover, Ok)?;
        (None, branch(&repo, &journal, &arguments.other)?)
    };
    let commit = commit_fork(&journal_steps(&journal), &other);
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

fn journal_steps(journal: &Journal) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut known = Known::default();
    let workspaces = journal.turns.iter().filter_map(|t| t.workspace.as_ref());
    for workspace in workspaces {
        if let Some(baseline) = workspace.baseline {
            known.base(baseline.commit);
        }
        for commit in &workspace.commits {
            let extension = commit.extension.as_ref();
            let parents = match extension {
                Some(extension) => known.all(&extension.parents),
                None => known.last(),
            };
            let encoding = extension.and_then(|x| x.raw.field("encoding"));
            known.add(commit.oid);
            steps.push(Step {
                id: commit.oid.to_string(),
                tree: commit.tree.to_string(),
                author: commit.author.clone(),
                committer: commit.committer.clone(),
                encoding: encoding.map(|name| name.to_str_lossy().into_owned()),
                parents,
                message: commit.message.clone(),
            });
        }
    }
    steps
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
    let mut known = Known::default();
    if let Some(base) = range.baseline {
        known.base(base);
    }
    let identity = |raw: &RawCommit, name: &str| {
        let value = raw.field(name);
        value
            .map(|value| Identity::shown(value))
            .unwrap_or_default()
    };
    let step = |(id, raw): &(ObjectId, RawCommit)| {
        let parents = known.all(&raw.parents());
        known.add(*id);
        Step {
            id: id.to_string(),
            tree: raw.tree().map(|tree| tree.to_string()).unwrap_or_default(),
            author: identity(raw, "author"),
            committer: identity(raw, "committer"),
            encoding: raw
                .field("encoding")
                .map(|name| name.to_str_lossy().into_owned()),
            parents,
            message: String::from_utf8_lossy(raw.message.as_deref().unwrap_or_default()).into(),
        }
    };
    Ok(range.commits.iter().map(step).collect())
}

/// The commits that parents may be, by their place in a run: their ids differ
/// with any other base.
#[derive(Default)]
struct Known {
    places: HashMap<ObjectId, Parent>,
    last: Option<Parent>,
    count: usize,
}

impl Known {
    fn base(&mut self, id: ObjectId) {
        let place = *self.places.entry(id).or_insert(Parent::Base);
        self.last = Some(place);
    }

    fn add(&mut self, id: ObjectId) {
        let place = Parent::Step(self.count);
        self.places.insert(id, place);
        self.last = Some(place);
        self.count += 1;
    }

    fn last(&self) -> Vec<Parent> {
        self.last.into_iter().collect()
    }

    fn all(&self, ids: &[ObjectId]) -> Vec<Parent> {
        let place = |id| self.places.get(id).copied();
        ids.iter()
            .map(|id| place(id).unwrap_or(Parent::Other(*id)))
            .collect()
    }
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
    } else if left.committer != right.committer {
        Some("their committers differ")
    } else if left.encoding != right.encoding {
        Some("their encodings differ")
    } else if left.parents != right.parents {
        Some("their parents differ")
    } else {
        None
    }
}

fn event_fork(left: &Journal, right: &Journal) -> Result<Option<Fork>> {
    let (a, b) = (trace::of(left)?, trace::of(right)?);
    let count = a.len().max(b.len());
    Ok((0..count)
        .find(|at| !trace::agree(a.get(*at), b.get(*at)))
        .map(|at| {
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
