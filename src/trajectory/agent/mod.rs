//! What agents tell a hook, in one vocabulary: one file an agent.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
pub(super) mod tools;

use std::path::PathBuf;

use serde_json::Value;

use crate::events::Session;
use crate::trajectory::import::Billed;

pub(super) use tools::Tools;

/// The agents that can be hooked.
pub(super) const AGENTS: &[&str] = &["claude", "codex", "gemini", "opencode", "pi"];

/// A tool call as an agent names it.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    /// The agent's id; some give none.
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) input: Value,
}

/// How a call ended.
#[derive(Debug, Clone, Default)]
pub(super) struct End {
    /// `ok`, `error`, `denied`, `cancelled` or `unknown`.
    pub(super) outcome: &'static str,
    pub(super) result: String,
    /// What the agent measured: the tool alone.
    pub(super) exec_ms: Option<i64>,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(super) enum Moment {
    SessionStart {
        source: String,
        mode: Option<String>,
    },
    Prompt(String),
    /// A call is about to be allowed or refused, and to run.
    Before(Call),
    /// A person is asked whether the tool may run.
    Asked(String),
    After(Call, End),
    /// The results of one answer's calls, refusals too.
    Batch(Vec<(Call, String)>),
    TurnStart(u32),
    TurnEnd {
        turn: u32,
        tool_results: u64,
    },
    Answer(Billed),
    Compaction {
        reason: String,
        before: Option<i64>,
    },
    /// The agent has stopped and waits.
    Settled {
        aborted: bool,
    },
    Interrupted,
    SessionEnd(String),
    /// Anything else worth a line.
    Note(&'static str, Value),
}

/// A moment, and whose it is.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) session: Session,
    pub(super) cwd: PathBuf,
    /// Where the project is, when the agent says so; `cwd` may have moved on.
    pub(super) project: Option<PathBuf>,
    pub(super) agent_id: Option<String>,
    pub(super) transcript: Option<String>,
    pub(super) model: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) moment: Moment,
}

impl Told {
    fn new(agent: &str, session: &str, cwd: &str, moment: Moment) -> Self {
        Told {
            session: Session::new(agent, session),
            cwd: cwd.into(),
            project: None,
            agent_id: None,
            transcript: None,
            model: None,
            parent: None,
            moment,
        }
    }
}

/// What the payload `data` of a hook of `agent` tells; `None` for what is of no interest.
pub(super) fn told(agent: &str, data: &Value) -> Option<Told> {
    match agent {
        "claude" => claude::told(data),
        "codex" => codex::told(data),
        "gemini" => gemini::told(data),
        _ => None,
    }
}

/// What a line of the stream of `agent`'s extension tells: event, session, folder, data.
pub(super) fn streamed(
    agent: &str,
    event: &str,
    session: &str,
    cwd: &str,
    data: &Value,
) -> Option<Told> {
    match agent {
        "pi" => pi::told(event, session, cwd, data),
        "opencode" => opencode::told(event, session, cwd, data),
        _ => None,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn owned(value: &Value, name: &str) -> Option<String> {
    text(value, name).map(str::to_owned)
}

/// All text in a result: a string, blocks with `text`, or JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) if blocks.iter().any(|b| text(b, "text").is_some()) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|b| text(b, "text")).collect();
            texts.join("\n")
        }
        other => other.to_string(),
    }
}
