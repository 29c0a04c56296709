//! The lines of a run: `runs/<run>.jsonl`.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::error::{Context, Result, hinted};
use crate::events::mask::MaskedJson;
use crate::events::{Line, Log, Reader, id, line, session, time};
use crate::git::Repo;
use crate::state::lock::PATIENCE;

/// A run, by what its lines say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Standing {
    pub(crate) name: String,
    pub(crate) phases: i64,
    /// The phase that failed for good.
    pub(crate) failed: Option<String>,
    /// Phases that were begun and never ended, each with its id.
    pub(crate) unended: Vec<(Option<String>, String)>,
    pub(crate) is_finished: bool,
    pub(crate) cost_usd: Option<f64>,
}

/// The log of one run.
pub(crate) struct Journal<'a> {
    repo: &'a Repo,
    pub(crate) run: String,
}

impl<'a> Journal<'a> {
    /// A new run.
    pub(crate) fn begin(repo: &'a Repo) -> Self {
        let run = format!("run-{}", &id::fresh(time::now())["hev_".len()..]);
        Journal {
            repo,
            run: run[..20].to_owned(),
        }
    }

    /// The run `named`, or that of HARNESS_RUN, or the newest that is not finished.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find(repo: &'a Repo, named: Option<String>) -> Result<Self> {
        let set = || {
            std::env::var("HARNESS_RUN")
                .ok()
                .filter(|run| !run.is_empty())
        };
        let run = match named.or_else(set) {
            Some(run) => run,
            None => newest_open(repo).ok_or_else(|| {
                hinted(
                    "no run is under way",
                    "'git trajectory start <name>' begins one",
                )
            })?,
        };
        let journal = Journal { repo, run };
        if !journal.path().exists() {
            return Err(hinted(
                format!("there is no run '{}'", journal.run),
                "'git trajectory start <name>' begins one",
            ));
        }
        Ok(journal)
    }

    fn path(&self) -> PathBuf {
        session::runs_folder(self.repo).join(format!("{}.jsonl", session::file_name(&self.run)))
    }

    /// Appends a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(
        &self,
        kind: &str,
        name: &str,
        phase: Option<&str>,
        payload: Value,
    ) -> Result<()> {
        session::require_private(self.repo)?;
        let now = time::now();
        let mut fields = Map::new();
        fields.insert("event_id".to_owned(), id::fresh(now).into());
        fields.insert("ts".to_owned(), time::text(now).into());
        fields.insert("adw_id".to_owned(), self.run.as_str().into());
        fields.insert("phase_id".to_owned(), phase.into());
        fields.insert("type".to_owned(), kind.into());
        fields.insert("name".to_owned(), name.into());
        fields.insert("payload".to_owned(), payload);
        let line = Line::of(&MaskedJson::new(Value::Object(fields), line::MAX_FIELD));
        Log::open(&self.path(), self.repo.sharing(), PATIENCE)?.append(&line)?;
        Ok(())
    }

    /// What the lines say so far.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn standing(&self) -> Result<Standing> {
        let mut reader = Reader::open(&self.path(), 0)
            .with_context(|| format!("cannot read the run '{}'", self.run))?;
        let mut standing = Standing::default();
        while let Some(event) = reader.next_event()? {
            let fields = event.fields();
            match event.kind.as_str() {
                "run_start" => standing.name = event.name,
                "phase_start" => {
                    standing.phases += 1;
                    standing.unended.push((event.phase_id, event.name));
                }
                "phase_attempt" => {
                    if let Some(cost) = fields.get("cost_usd").and_then(Value::as_f64) {
                        standing.cost_usd = Some(standing.cost_usd.unwrap_or(0.0) + cost);
                    }
                    let is_last = fields.get("last").and_then(Value::as_bool).unwrap_or(true);
                    if is_last {
                        standing.unended.retain(|(id, _)| *id != event.phase_id);
                    }
                    if is_last && fields.get("status").and_then(Value::as_str) != Some("done") {
                        standing.failed = Some(event.name);
                    }
                }
                "run_finish" => standing.is_finished = true,
                _ => {}
            }
        }
        Ok(standing)
    }
}

/// The newest run that has not been finished; ids are ordered by time.
fn newest_open(repo: &Repo) -> Option<String> {
    let mut runs: Vec<String> = std::fs::read_dir(session::runs_folder(repo))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .strip_suffix(".jsonl")
                .map(str::to_owned)
        })
        .collect();
    runs.sort();
    runs.into_iter().rev().find(|run| {
        Journal {
            repo,
            run: run.clone(),
        }
        .standing()
        .is_ok_and(|standing| !standing.is_finished)
    })
}
