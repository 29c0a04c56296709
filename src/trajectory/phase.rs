//! `git trajectory phase`: runs one step of a run, and ties the sessions that
//! it opened to it, also when it fails.

use std::ffi::OsString;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, ValueEnum};
use rusqlite::params;
use serde_json::json;

use crate::cli::Exit;
use crate::error::{Context, Hint, Result, hinted};
use crate::events::{Reader, id, session, time};
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::wrapped::End;
use crate::state::lock::PATIENCE;
use crate::trajectory::import_command::import_known;
use crate::trajectory::mirror::{self, Mirror};
use crate::trajectory::runs::Journal;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// What the step is called
    name: String,
    /// The run; without it HARNESS_RUN, or the newest that is not finished
    #[arg(long, value_name = "id")]
    run: Option<String>,
    /// An agent works, or a program
    #[arg(long, value_enum, default_value = "agent")]
    kind: Kind,
    /// How often a failed agent is tried again
    #[arg(long, value_name = "n", default_value_t = 0)]
    retries: u32,
    /// How long one try may take: 90s, 10m, 2h
    #[arg(long, value_name = "t")]
    timeout: Option<String>,
    /// The command
    #[arg(last = true, required = true, value_name = "command")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Agent,
    Code,
}

/// What timeout(1) answers.
const TIMED_OUT: u8 = 124;

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    if arguments.kind == Kind::Code && arguments.retries > 0 {
        return Err(hinted(
            "a code phase is not tried again",
            "drop --retries, or say --kind=agent",
        ));
    }
    let limit = match &arguments.timeout {
        None => None,
        Some(text) => {
            let ms = time::age(text)
                .with_context(|| format!("'{text}' is no time"))
                .hint("write 90s, 10m or 2h")?;
            Some(Duration::from_millis(ms.unsigned_abs()))
        }
    };
    let journal = Journal::find(repo, arguments.run.clone())?;
    let standing = journal.standing()?;
    if standing.is_finished {
        return Err(hinted(
            format!("the run '{}' is finished", journal.run),
            "'git trajectory start' begins another",
        ));
    }
    if let Some(phase) = standing.failed {
        ui.say(format_args!(
            "the run '{}' stopped at the phase '{phase}', which failed",
            journal.run
        ));
        return Ok(Exit::No);
    }
    let phase = format!("{}-{:02}", journal.run, standing.phases + 1);
    let kind = if arguments.kind == Kind::Agent {
        "agent"
    } else {
        "code"
    };
    journal.write(
        "phase_start",
        &arguments.name,
        Some(&phase),
        json!({"seq": standing.phases + 1, "kind": kind}),
    )?;
    let step = Step {
        repo,
        journal: &journal,
        phase: &phase,
        name: &arguments.name,
        session: uuid(),
    };
    for attempt in 1.. {
        let is_last_try = attempt > arguments.retries;
        let (code, goes_on) = step.attempt(attempt, is_last_try, &arguments.command, limit, ui)?;
        if !goes_on {
            return Ok(if code == 0 {
                Exit::Done
            } else {
                Exit::Code(code)
            });
        }
        ui.note(format_args!(
            "phase '{}' failed with {code}, trying again",
            arguments.name
        ));
    }
    Ok(Exit::Done)
}

struct Step<'a> {
    repo: &'a Repo,
    journal: &'a Journal<'a>,
    phase: &'a str,
    name: &'a str,
    session: String,
}

impl Step<'_> {
    /// Runs the command once; gives its code, and whether it is tried again.
    fn attempt(
        &self,
        attempt: u32,
        is_last_try: bool,
        command: &[OsString],
        limit: Option<Duration>,
        ui: &mut Ui,
    ) -> Result<(u8, bool)> {
        ui.flush()?;
        // A second for file systems that count in seconds.
        let since = SystemTime::now() - Duration::from_secs(2);
        let (began, clock) = (time::text(time::now()), Instant::now());
        let ended = Child::new(&command[0])
            .args(&command[1..])
            .env("HARNESS_RUN", &self.journal.run)
            .env("HARNESS_PHASE", self.phase)
            .env("HARNESS_ATTEMPT", attempt.to_string())
            .env("HARNESS_SESSION", &self.session)
            .wrapped_within(limit)?;
        if let Some(why) = &ended.not_started {
            ui.warn(format_args!(
                "cannot start '{}': {why}",
                command[0].display()
            ));
        }
        let (code, status) = match (ended.end, ended.code) {
            (End::Itself, 0) => (0, "done"),
            (End::Itself, code) => (code, "failed"),
            (End::Signal, code) => (code, "interrupted"),
            (End::TooLong, _) => (TIMED_OUT, "timeout"),
            (End::NoTerminal, code) => {
                ui.warn(
                    "the command waited for the terminal, which it does not have with --timeout",
                );
                (code.max(1), "failed")
            }
        };
        let goes_on = code != 0 && !is_last_try && status != "interrupted";
        for session in self.sessions(attempt, since)? {
            self.journal.write(
                "phase_session",
                self.name,
                Some(self.phase),
                json!({"session_id": session, "attempt": attempt}),
            )?;
        }
        let (tokens, cost_usd) = self.used(&began).unwrap_or((None, None));
        self.journal.write(
            "phase_attempt",
            self.name,
            Some(self.phase),
            json!({
                "attempt": attempt, "status": status, "exit_code": code, "duration_ms": clock.elapsed().as_millis() as u64,
                "tokens": tokens, "cost_usd": cost_usd, "last": !goes_on,
            }),
        )?;
        Ok((code, goes_on))
    }

    /// The sessions that were opened in this attempt: those whose hook found our
    /// variables, and the one we named, when anything of it is there.
    fn sessions(&self, attempt: u32, since: SystemTime) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(session::folder(self.repo))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if path.extension().is_none_or(|e| e != "jsonl") {
                continue;
            }
            // Read whole, since a session that was resumed says so in its midst; but only
            // what was written meanwhile.
            let written = path.metadata().and_then(|found| found.modified());
            if written.is_ok_and(|written| written < since) {
                continue;
            }
            let mut reader = Reader::open(&path, 0)?;
            while let Some(event) = reader.next_event()? {
                let run = event.fields().get("run").cloned().unwrap_or_default();
                let ours = run["id"] == self.journal.run.as_str()
                    && run["phase"] == self.phase
                    && run["attempt"] == attempt;
                if ours || event.session_id == self.session {
                    found.push(event.session_id);
                    break;
                }
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Tokens and cost of this phase's sessions since `began`, after their
    /// transcripts were read.
    fn used(&self, began: &str) -> Result<(Option<i64>, Option<f64>)> {
        import_known(self.repo, None)?;
        let mut mirror = Mirror::open(self.repo, PATIENCE)?;
        mirror::ingest(self.repo, &mut mirror, None)?;
        drop(mirror);
        Ok(mirror::read_only(self.repo)?.query_row(
            "SELECT sum(json_extract(payload_json, '$.total_tokens')), sum(json_extract(payload_json, '$.cost_usd'))
             FROM harness_by_phase WHERE phase_id = ?1 AND type = 'assistant' AND ts >= ?2",
            params![self.phase, began],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?)
    }
}

/// A random id in the form that agents take for a session.
fn uuid() -> String {
    let hex = id::hash(&[&id::fresh(time::now()), &id::fresh(time::now())]);
    format!(
        "{}-{}-4{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}
