//! The log of one session under its lock, and the lines that each moment makes.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::error::{Context, Result};
use crate::events::line::{Standing, head, masked_beginning};
use crate::events::{Event, Lines, Log, session, time};
use crate::git::Repo;
use crate::trajectory::agent::{End, Moment, Told};
use crate::trajectory::import::UNRECORDED;
use crate::trajectory::record::guard::PATIENCE;
use crate::trajectory::record::process;
use crate::trajectory::record::recorder::Settings;
use crate::trajectory::record::state::{Guarded, State};
use crate::trajectory::record::trouble;

/// The log of one session, locked, with its state.
pub(super) struct Entry<'a> {
    pub(super) repo: &'a Repo,
    pub(super) log: Log,
    pub(super) state: State,
    pub(super) state_path: PathBuf,
    pub(super) limit: usize,
    pub(super) key: crate::events::Key,
    pub(super) session: crate::events::Session,
    /// Where the repository stands, once a line asks for it.
    pub(super) standing: Option<Option<Standing>>,
    pub(super) changed: bool,
    pub(super) failed: Option<String>,
}

impl<'a> Entry<'a> {
    pub(super) fn open(repo: &'a Repo, told: &Told, settings: &Settings) -> Result<Self> {
        let folder = session::folder(repo);
        let path = told.session.log(&folder);
        let log = Log::open(&path, repo.sharing(), PATIENCE)?;
        let state_path = told.session.state(&folder);
        let mut state = State::load(&state_path, &path);
        if log.is_empty() {
            state = State {
                began: time::now(),
                ..State::default()
            };
        }
        if state.pid.is_none() || matches!(told.moment, Moment::SessionStart { .. }) {
            state.pid = process::agent();
            state.pid_began = state.pid.and_then(process::began);
            state.ended = false;
        }
        if told.transcript.is_some() {
            state.transcript.clone_from(&told.transcript);
        }
        let mut entry = Entry {
            repo,
            log,
            state,
            state_path,
            limit: settings.limit,
            key: settings.key.clone(),
            session: told.session.clone(),
            standing: None,
            changed: true,
            failed: None,
        };
        let run = process::run();
        let is_start = matches!(told.moment, Moment::SessionStart { .. });
        if !run.is_null() && entry.state.run != run {
            entry.state.run = run.clone();
            // An agent that goes on with a session says nothing of a beginning.
            if !entry.log.is_empty() && !is_start {
                entry.write(Event::now("", "note", "phase").with("run", run), told)?;
            }
        }
        if entry.log.is_empty() && !matches!(told.moment, Moment::SessionStart { .. }) {
            entry.start(told, "unknown", None)?;
        }
        Ok(entry)
    }

    pub(super) fn apply(&mut self, told: &Told, guarded: Option<Guarded>) -> Result<()> {
        match &told.moment {
            Moment::SessionStart { source, mode } => {
                self.close_all(|_| true)?;
                self.start(told, source, mode.clone())
            }
            Moment::Prompt(text) => {
                self.close_all(|open| open.agent_id.is_none())?;
                let event = Event::now("", "prompt", "user")
                    .with("chars", text.chars().count())
                    .with("head", head(&masked_beginning(text)))
                    .with("text", text.as_str());
                self.write(event, told)
            }
            Moment::Before(call) => {
                self.begin(told, call, guarded.unwrap_or_default());
                Ok(())
            }
            Moment::Asked(call) => {
                self.asked(call);
                Ok(())
            }
            Moment::After(call, end) => self.end(told, call, end),
            Moment::Batch(results) => {
                for (call, result) in results {
                    if self.position(call).is_some() {
                        let outcome = if is_refusal(result) {
                            "denied"
                        } else {
                            "unknown"
                        };
                        self.end(
                            told,
                            call,
                            &End {
                                outcome,
                                result: result.clone(),
                                exec_ms: None,
                            },
                        )?;
                    }
                }
                Ok(())
            }
            Moment::TurnStart(turn) => {
                self.state.turn = Some(*turn);
                self.write(
                    Event::now("", "turn_start", &format!("turn {turn}")).with("turn", *turn),
                    told,
                )
            }
            Moment::TurnEnd { turn, tool_results } => {
                let event = Event::now("", "turn_end", &format!("turn {turn}"))
                    .with("turn", *turn)
                    .with("tool_results", *tool_results);
                self.write(event, told)
            }
            Moment::Answer(call) => {
                if self.state.answers.contains(&call.key) {
                    self.changed = false;
                    return Ok(());
                }
                self.state.answers.push(call.key.clone());
                self.state.turns += 1;
                if told.session.agent == "opencode" {
                    self.state.turn = Some(self.state.turn.map_or(0, |turn| turn + 1));
                }
                if let Some(total) = call.total() {
                    self.state.tokens = Some(self.state.tokens.unwrap_or(0) + total);
                }
                if let Some(cost) = call.cost_usd {
                    self.state.cost_usd = Some(self.state.cost_usd.unwrap_or(0.0) + cost);
                }
                self.write(call.clone().event(time::now(), ""), told)
            }
            Moment::Compaction { reason, before } => {
                let event = Event::now("", "compaction", reason)
                    .with("reason", reason.as_str())
                    .with("tokens_before", *before)
                    .with("tokens_after", Value::Null);
                self.write(event, told)
            }
            Moment::Settled { aborted } => {
                if told.session.agent == "gemini" {
                    self.close_all(|_| true)?;
                }
                let name = if *aborted { "aborted" } else { "idle" };
                let totals = self.totals();
                self.write(
                    Event {
                        payload: totals,
                        ..Event::now("", "agent_settled", name)
                    },
                    told,
                )
            }
            Moment::Interrupted => {
                self.close_all(|open| open.agent_id.is_none())?;
                self.write(Event::now("", "note", "interrupted"), told)
            }
            Moment::SessionEnd(reason) => {
                self.close_all(|_| true)?;
                self.state.ended = true;
                let mut event = Event {
                    payload: self.totals(),
                    ..Event::now("", "session_shutdown", reason)
                };
                event
                    .payload
                    .insert("reason".to_owned(), reason.as_str().into());
                event
                    .payload
                    .insert("events".to_owned(), (self.count()? + 1).into());
                self.write(event, told)?;
                self.log.sync()
            }
            Moment::Unreadable => Ok(()),
            Moment::Note(name, payload) => {
                let payload = serde_json::from_value(payload.clone()).unwrap_or_default();
                self.write(
                    Event {
                        payload,
                        ..Event::now("", "note", name)
                    },
                    told,
                )
            }
        }
    }

    fn start(&mut self, told: &Told, source: &str, mode: Option<String>) -> Result<()> {
        let event = Event::now("", "session_start", source)
            .with("mode", mode)
            .with("model", told.model.clone())
            .with("cwd", told.cwd.to_string_lossy().into_owned())
            .with("session_file", self.state.transcript.clone())
            .with("source", source)
            .with("run", process::run());
        self.write(event, told)?;
        if told.session.agent == "opencode" && told.parent.is_none() && source != "resume" {
            // It asks for a title of each new session, and tells nobody.
            let note = Event::now("", "note", UNRECORDED).with("what", "title");
            self.write(note, told)?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, event: Event, told: &Told) -> Result<()> {
        let parent = told
            .parent
            .as_ref()
            .map(|id| json!({"session": id, "call": null}));
        self.append(Event {
            agent_id: told.agent_id.clone(),
            turn: event.turn.or(self.state.turn),
            parent,
            ..event
        })
    }

    pub(super) fn append(&mut self, event: Event) -> Result<()> {
        let repo = self.repo;
        let standing = self
            .standing
            .get_or_insert_with(|| crate::trajectory::summary::standing(repo))
            .clone();
        let event = Event {
            session_id: self.session.id.clone(),
            agent: Some(self.session.agent.clone()),
            t_ms: Some((event.ts - self.state.began).max(0)),
            git: standing,
            ..event
        };
        self.log.append(&event.line(self.limit))?;
        Ok(())
    }

    /// How many lines the log has.
    fn count(&self) -> Result<u64> {
        let mut lines = Lines::open(self.log.path(), 0, usize::MAX)?;
        let mut count = 0;
        while lines.next_line()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    fn totals(&self) -> serde_json::Map<String, Value> {
        // Hooks of some agents tell of no answers: then nothing is known of them.
        let turns = if self.state.turns > 0 {
            json!(self.state.turns)
        } else {
            Value::Null
        };
        let totals = json!({"turns": turns, "tools": self.state.tools, "tokens": self.state.tokens, "cost_usd": self.state.cost_usd});
        serde_json::from_value(totals).unwrap_or_default()
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        if let Some(trouble) = &self.failed {
            trouble::note(Some(self.repo.common_dir()), &self.session.agent, trouble);
        }
        if !self.changed {
            return Ok(());
        }
        self.state
            .store(&self.state_path, self.repo.sharing(), self.limit)
            .context("cannot keep the state of the session")
    }
}

/// What Claude Code says in the place of a result when a call was not allowed to run:
/// whole messages, since a result may quote any words.
fn is_refusal(result: &str) -> bool {
    let is = |begins: &str, ends: &str| result.starts_with(begins) && result.ends_with(ends);
    is("Permission to use ", " has been denied.")
        || is(
            "Claude requested permissions to ",
            ", but you haven't granted it yet.",
        )
        || is("The user doesn't want to proceed with this tool use.", "")
        || (result
            .strip_prefix("PreToolUse:")
            .and_then(|rest| rest.split_once(' '))
            .is_some_and(|(_, rest)| rest.starts_with("hook error: ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_quotes_a_refusal_is_none() {
        for text in [
            "Permission to use Bash with command git push origin main has been denied.",
            "Claude requested permissions to write to /a, but you haven't granted it yet.",
            "PreToolUse:Bash hook error: [x]: blocked\n",
        ] {
            assert!(is_refusal(text), "{text}");
            assert!(!is_refusal(&format!("log: {text} indeed")), "{text}");
        }
        assert!(!is_refusal(
            "the request was rejected, denied by the server"
        ));
    }
}
