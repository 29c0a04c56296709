//! What an agent tells, in one vocabulary.

use std::path::PathBuf;

use serde_json::Value;

use crate::events::Session;
use crate::trajectory::import::Billed;

/// A tool call as an agent names it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    /// The agent's id; some give none.
    pub(crate) id: Option<String>,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// How a call ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    /// `ok`, `error`, `denied`, `cancelled` or `unknown`.
    pub(crate) outcome: &'static str,
    pub(crate) result: String,
    /// What the agent measured: the tool alone.
    pub(crate) exec_ms: Option<i64>,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Moment {
    SessionStart {
        source: String,
        mode: Option<String>,
    },
    Prompt(String),
    /// A call is about to be allowed or refused, and to run.
    Before(Call),
    /// A person is asked whether the call may run.
    Asked(Call),
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
    /// Nobody can say what; it may be a write.
    Unreadable,
    /// Anything else worth a line.
    Note(&'static str, Value),
}

/// A moment, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) session: Session,
    pub(crate) cwd: PathBuf,
    /// Where the project is, when the agent says so; `cwd` may have moved on.
    pub(crate) project: Option<PathBuf>,
    pub(crate) agent_id: Option<String>,
    pub(crate) transcript: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) moment: Moment,
}

impl Told {
    pub(super) fn new(agent: &str, session: &str, cwd: &str, moment: Moment) -> Self {
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

pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

pub(super) fn owned(value: &Value, name: &str) -> Option<String> {
    text(value, name).map(str::to_owned)
}

/// All text in a result: a string, blocks with `text`, or JSON.
pub(super) fn plain(value: &Value) -> String {
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
