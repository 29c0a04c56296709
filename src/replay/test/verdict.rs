//! The verdict on one journal.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gix::ObjectId;
use serde_json::{Value, json};

use crate::error::{Result, report};
use crate::git::Repo;
use crate::replay::divergence::Divergence;
use crate::replay::journal::{Failure, Journal};
use crate::replay::options;
use crate::replay::rebuild::{Wish, replay};
use crate::replay::room::Place;

/// A journal and what came of it.
pub(super) struct Tested {
    pub(super) path: PathBuf,
    pub(super) time: Duration,
    pub(super) verdict: Verdict,
}

pub(super) enum Verdict {
    /// As recorded; a failure that was recorded is a part of that.
    Passed {
        commits: usize,
        same_ids: bool,
        failure: Option<Failure>,
    },
    Diverged(Vec<Divergence>),
    /// It could not be judged, for this reason.
    Error(String),
}

impl Tested {
    /// Checks the journal at `path`.
    pub(super) fn of(path: &Path, from: Option<ObjectId>) -> Self {
        let start = Instant::now();
        let verdict = check(path, from).unwrap_or_else(|error| {
            let text = report(&error);
            Verdict::Error(text.strip_prefix("fatal: ").unwrap_or(&text).to_owned())
        });
        Tested {
            path: path.to_owned(),
            time: start.elapsed(),
            verdict,
        }
    }

    pub(super) fn has_passed(&self) -> bool {
        matches!(self.verdict, Verdict::Passed { .. })
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The verdict in one word.
    pub(super) fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Passed { .. } => "passed",
            Verdict::Diverged(_) => "diverged",
            Verdict::Error(_) => "error",
        }
    }

    /// Why it did not pass, or what passed.
    pub(super) fn reason(&self) -> String {
        match &self.verdict {
            Verdict::Passed {
                commits,
                same_ids,
                failure,
            } => {
                let ids = if *same_ids {
                    "the recorded ids"
                } else {
                    "other ids"
                };
                let failure = match failure {
                    Some(failure) => format!(", and its recorded failure ({})", failure.code),
                    None => String::new(),
                };
                match commits {
                    0 => format!("no commits{failure}"),
                    1 => format!("1 commit with {ids}{failure}"),
                    n => format!("{n} commits with {ids}{failure}"),
                }
            }
            Verdict::Diverged(divergences) => divergences
                .iter()
                .map(|divergence| format!("{}: {}", divergence.word(), divergence.line()))
                .collect::<Vec<_>>()
                .join("\n"),
            Verdict::Error(why) => why.clone(),
        }
    }
}

fn check(path: &Path, from: Option<ObjectId>) -> Result<Verdict> {
    let repo = Repo::discover()?;
    let journal = Journal::open(path, options::limits(Some(&repo))?)?;
    let wish = Wish {
        from,
        ..Wish::default()
    };
    let (mut verdict, _) = replay(&repo, &journal, &wish, Place::Outside)?;
    Ok(if verdict.divergences.is_empty() {
        Verdict::Passed {
            commits: verdict.commits.len(),
            same_ids: verdict.renamed() == 0,
            failure: verdict.failures.pop().map(|(_, failure)| failure),
        }
    } else {
        Verdict::Diverged(verdict.divergences)
    })
}

/// How many of `tested` have this word for a verdict.
pub(super) fn count(tested: &[Tested], word: &str) -> usize {
    tested.iter().filter(|tested| tested.word() == word).count()
}

/// The document of `--format=json`.
pub(super) fn document(tested: &[Tested]) -> Value {
    let journals: Vec<Value> = tested
        .iter()
        .map(|one| {
            let mut entry = json!({
                "path": crate::git::quote::json_path(path_bytes(&one.path).as_slice().into()),
                "verdict": one.word(),
                "seconds": one.time.as_secs_f64(),
            });
            match &one.verdict {
                Verdict::Passed {
                    commits,
                    same_ids,
                    failure,
                } => {
                    entry["commits"] = json!(commits);
                    entry["same_ids"] = json!((*commits > 0).then_some(*same_ids));
                    entry["failure"] = json!(
                        failure
                            .as_ref()
                            .map(|f| json!({"code": f.code, "message": f.message}))
                    );
                }
                Verdict::Diverged(divergences) => entry["divergences"] = json!(divergences),
                Verdict::Error(why) => entry["error"] = json!(why),
            }
            entry
        })
        .collect();
    json!({
        "journals": journals,
        "passed": count(tested, "passed"),
        "diverged": count(tested, "diverged"),
        "errors": count(tested, "error"),
    })
}

fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}
