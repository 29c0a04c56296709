//! One event of an agent: the checkpoint first, then, under the lock of the
//! session's log, the lines and the state.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::error::{Context, Result};
use crate::events::line::{self, Standing};
use crate::events::{Event, Log, id, session, time};
use crate::git::Repo;
use crate::git::enclosing::enclosing;
use crate::trajectory::agent::tools::Doing;
use crate::trajectory::agent::{Call, End, Moment, Told, Tools};
use crate::trajectory::import::{canonical, tool_key};
use crate::trajectory::record::closing::{self, Fate, HEAD};
use crate::trajectory::record::guard::{self, Ask, PATIENCE};
use crate::trajectory::record::loops;
use crate::trajectory::record::process;
use crate::trajectory::record::state::{Done, Guarded, Open, State};
use crate::trajectory::record::trouble;

/// What the caller must know of an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// The checkpoint before the write.
    pub(crate) checkpoint: Option<u32>,
    /// Why there is none although there should be.
    pub(crate) error: Option<String>,
    /// `checkpoint.onHook=require`, and there is none.
    pub(crate) refuse: bool,
    /// The session has ended: its stem, and the repository it is in.
    pub(crate) ended: Option<(String, PathBuf)>,
}

/// Writes down what was `told`. `None` outside of any repository.
///
/// # Errors
/// When the log cannot be written; a checkpoint may have been taken nevertheless.
pub(crate) fn record(told: &Told) -> Result<Option<Reply>> {
    if told.session.id.is_empty() {
        return Ok(None);
    }
    let Some(place) = told
        .project
        .as_deref()
        .and_then(enclosing)
        .or_else(|| enclosing(&told.cwd))
    else {
        return Ok(None);
    };
    let repo = Repo::at(&place.worktree)?;
    session::require_private(&repo)?;
    let settings = Settings::of(&repo, &told.session.agent)?;
    let guarded = match &told.moment {
        Moment::Before(call) => Some(guarded(&repo, told, call, &settings)),
        _ => None,
    };
    let mut entry = Entry::open(&repo, told, &settings)?;
    let mut reply = Reply::default();
    if let Some((doing, guard)) = &guarded {
        reply.checkpoint = guard.number;
        reply.error.clone_from(&guard.error);
        reply.refuse = settings.require && guard.error.is_some() && *doing != Doing::Reads;
    }
    let outcome = entry.apply(told, guarded.map(|(_, guard)| guard));
    entry.finish()?;
    outcome?;
    if matches!(told.moment, Moment::SessionEnd(_)) {
        reply.ended = Some((told.session.stem(), place.worktree));
    }
    Ok(Some(reply))
}

struct Settings {
    limit: usize,
    tools: Tools,
    enabled: bool,
    require: bool,
}

impl Settings {
    fn of(repo: &Repo, agent: &str) -> Result<Self> {
        let on_hook = repo.config_text("checkpoint.onHook");
        let also = repo
            .config_all("trajectory.readOnlyTool")
            .iter()
            .map(ToString::to_string)
            .collect();
        Ok(Settings {
            limit: usize::try_from(
                repo.config_size("trajectory.maxField", line::MAX_FIELD as u64)?,
            )
            .unwrap_or(line::MAX_FIELD),
            tools: Tools::new(agent, also),
            enabled: !matches!(on_hook.as_deref(), Some("false" | "no" | "off" | "0")),
            require: on_hook.as_deref() == Some("require"),
        })
    }
}

/// The checkpoint before `call`.
fn guarded(repo: &Repo, told: &Told, call: &Call, settings: &Settings) -> (Doing, Guarded) {
    let doing = settings.tools.doing(call, &told.cwd);
    let name = match &call.id {
        Some(id) => id.clone(),
        None => {
            // The log is not locked while a checkpoint is taken. Calls that write run one
            // after another in agents without ids, so the count cannot move meanwhile.
            let folder = session::folder(repo);
            let mut state = State::load(&told.session.state(&folder), &told.session.log(&folder));
            tool_key(&call.tool, &call.input, state.nth(&call.tool, &call.input))
        }
    };
    let ask = Ask {
        doing: &doing,
        cwd: &told.cwd,
        tool: &call.tool,
        call: &name,
        session: &told.session.id,
        enabled: settings.enabled,
    };
    let guard = guard::before(&ask);
    (doing, guard)
}

/// The log of one session, locked, with its state.
struct Entry<'a> {
    repo: &'a Repo,
    log: Log,
    state: State,
    state_path: PathBuf,
    limit: usize,
    session: crate::events::Session,
    standing: Option<Standing>,
    changed: bool,
    failed: Option<String>,
}

impl<'a> Entry<'a> {
    fn open(repo: &'a Repo, told: &Told, settings: &Settings) -> Result<Self> {
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
            session: told.session.clone(),
            standing: crate::trajectory::summary::standing(repo),
            changed: true,
            failed: None,
        };
        if entry.log.is_empty() && !matches!(told.moment, Moment::SessionStart { .. }) {
            entry.start(told, "unknown", None)?;
        }
        Ok(entry)
    }

    fn apply(&mut self, told: &Told, guarded: Option<Guarded>) -> Result<()> {
        match &told.moment {
            Moment::SessionStart { source, mode } => {
                self.close_all(|_| true)?;
                self.start(told, source, mode.clone())
            }
            Moment::Prompt(text) => {
                self.close_all(|open| open.agent_id.is_none())?;
                self.state.prompts += 1;
                let event = Event::now("", "prompt", "user")
                    .with("chars", text.chars().count())
                    .with("head", text.chars().take(HEAD).collect::<String>())
                    .with("text", text.as_str());
                self.write(event, told)
            }
            Moment::Before(call) => {
                self.begin(told, call, guarded.unwrap_or_default());
                Ok(())
            }
            Moment::Asked(tool) => {
                let waiting = self.state.open.iter_mut().rev();
                if let Some(open) = waiting
                    .into_iter()
                    .find(|o| o.asked.is_none() && (o.tool == *tool || o.call == *tool))
                {
                    open.asked = Some(time::now());
                }
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
                    .insert("events".to_owned(), (self.state.events + 1).into());
                self.write(event, told)?;
                self.log.sync()
            }
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
        let run = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let event = Event::now("", "session_start", source)
            .with("mode", mode)
            .with("model", told.model.clone())
            .with("cwd", told.cwd.to_string_lossy().into_owned())
            .with("session_file", self.state.transcript.clone())
            .with("source", source)
            .with(
                "run",
                run("HARNESS_RUN").map_or(Value::Null, |id| {
                    json!({"id": id, "phase": run("HARNESS_PHASE"), "attempt": run("HARNESS_ATTEMPT").and_then(|n| n.parse::<u64>().ok())})
                }),
            );
        self.write(event, told)
    }

    fn begin(&mut self, told: &Told, call: &Call, guard: Guarded) {
        let nth = if call.id.is_none() {
            self.state.nth(&call.tool, &call.input)
        } else {
            0
        };
        let name = call
            .id
            .clone()
            .unwrap_or_else(|| tool_key(&call.tool, &call.input, nth));
        self.state.open.retain(|open| open.call != name);
        self.state.open.push(Open {
            call: name,
            tool: call.tool.clone(),
            args: shortened(&call.input, self.limit),
            began: guard.taken,
            agent_id: told.agent_id.clone(),
            turn: self.state.turn,
            asked: None,
            guard,
            args_hash: id::hash(&[&canonical(&call.input)])[..16].to_owned(),
        });
    }

    /// The open call that `call` means: by its id, or the first of its kind.
    fn position(&self, call: &Call) -> Option<usize> {
        match &call.id {
            Some(id) => self.state.open.iter().position(|open| open.call == *id),
            None => {
                let hash = &id::hash(&[&canonical(&call.input)])[..16];
                self.state
                    .open
                    .iter()
                    .position(|open| open.tool == call.tool && open.args_hash == hash)
            }
        }
    }

    fn end(&mut self, told: &Told, call: &Call, end: &End) -> Result<()> {
        let open = match self.position(call) {
            Some(at) => self.state.open.remove(at),
            // Its beginning was not seen: nothing was guarded, and that is said.
            None => Open {
                call: call
                    .id
                    .clone()
                    .unwrap_or_else(|| tool_key(&call.tool, &call.input, 0)),
                tool: call.tool.clone(),
                args: shortened(&call.input, self.limit),
                began: time::now(),
                agent_id: told.agent_id.clone(),
                turn: self.state.turn,
                guard: Guarded {
                    taken: time::now(),
                    why: Some("its beginning was not seen".to_owned()),
                    ..Guarded::default()
                },
                ..Open::default()
            },
        };
        let mut fate = Fate::Kept;
        let mut left = Vec::new();
        match end.outcome {
            "denied" => match guard::take_back(&open.guard, &checkpoint_call(&open)) {
                Ok(true) => fate = Fate::TakenBack,
                Ok(false) => {}
                Err(error) => self.failed = Some(format!("{error:#}")),
            },
            "unknown" => {}
            _ if open.guard.number.is_some() => {
                match guard::after(&open.guard, &open.tool, &open.call, &self.session.id) {
                    Ok(found) => left = found,
                    Err(error) => self.failed = Some(format!("{error:#}")),
                }
            }
            _ => {}
        }
        self.write_closed(&open, end, fate)?;
        let done = Done {
            tool: open.tool.clone(),
            args: open.args_hash.clone(),
            // Keyed by the repository, so that the hash of a short secret says nothing elsewhere.
            result: id::hash(&[&self.repo.common_dir().to_string_lossy(), &end.result])[..16]
                .to_owned(),
            failed: end.outcome == "error",
        };
        if end.outcome != "unknown"
            && let Some(event) = loops::seen(&mut self.state, done, &left)
        {
            self.write(event, told)?;
        }
        Ok(())
    }

    fn close_all(&mut self, is_meant: impl Fn(&Open) -> bool) -> Result<()> {
        let (closed, kept): (Vec<Open>, Vec<Open>) = std::mem::take(&mut self.state.open)
            .into_iter()
            .partition(|o| is_meant(o));
        self.state.open = kept;
        for open in closed {
            self.write_closed(
                &open,
                &End {
                    outcome: "unknown",
                    ..End::default()
                },
                Fate::Kept,
            )?;
        }
        Ok(())
    }

    fn write_closed(&mut self, open: &Open, end: &End, fate: Fate) -> Result<()> {
        self.state.tools += 1;
        for event in closing::events(open, end, fate) {
            self.append(event)?;
        }
        Ok(())
    }

    fn write(&mut self, event: Event, told: &Told) -> Result<()> {
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

    fn append(&mut self, event: Event) -> Result<()> {
        let event = Event {
            session_id: self.session.id.clone(),
            agent: Some(self.session.agent.clone()),
            t_ms: Some((event.ts - self.state.began).max(0)),
            git: self.standing.clone(),
            ..event
        };
        self.log.append(&event.line(self.limit))?;
        self.state.events += 1;
        Ok(())
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

    fn finish(&mut self) -> Result<()> {
        if let Some(trouble) = &self.failed {
            trouble::note(Some(self.repo.common_dir()), &self.session.agent, trouble);
        }
        if !self.changed {
            return Ok(());
        }
        self.state
            .store(&self.state_path, self.repo.sharing())
            .context("cannot keep the state of the session")
    }
}

/// The call that the checkpoint of `open` was taken for.
fn checkpoint_call(open: &Open) -> String {
    open.guard_call()
}

impl Open {
    /// What `Harness-Call` of its checkpoint says.
    pub(super) fn guard_call(&self) -> String {
        crate::events::mask::Masked::new(&self.call)
            .cut(200)
            .as_str()
            .to_owned()
    }
}

/// Arguments small enough to be kept between two events.
fn shortened(input: &Value, limit: usize) -> Value {
    match input {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), shortened(value, limit)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::String(text) if text.len() > limit => {
            // Masked before it is cut, so that no half of a secret is left.
            crate::events::mask::Masked::new(text)
                .cut(limit)
                .as_str()
                .into()
        }
        other => other.clone(),
    }
}

/// What Claude Code says in the place of a result when a call was not allowed to run.
fn is_refusal(result: &str) -> bool {
    [
        "haven't granted it",
        "has been denied",
        "was rejected",
        "hook error: ",
        "hook blocked",
        "denied by",
        "doesn't want to proceed",
    ]
    .iter()
    .any(|words| result.contains(words))
        || result.starts_with("PreToolUse:")
}
