//! The event line: the founding fields, then ours, always in this order.

use serde_json::{Map, Value, json};

use crate::events::mask::{Masked, MaskedJson};
use crate::events::{id, time};

/// The version of the line that we write.
pub const VERSION: u32 = 1;

/// How long a field may be, when nothing else is configured.
pub const MAX_FIELD: usize = 4096;

/// How many characters are kept where only the beginning of a text is.
const HEAD: usize = 120;

/// The beginning of a text, for a field of a payload. Only of masked text there is one: a
/// secret across the cut would lose what it is known by.
pub fn head(text: &Masked) -> Value {
    text.head(HEAD).as_str().into()
}

/// What `head` needs of `text`.
pub fn masked_beginning(text: &str) -> Masked {
    Masked::beginning(text, 4 * HEAD)
}

/// The same of the arguments of a call, as JSON when they are no text.
pub fn masked_arguments(arguments: &Value) -> Masked {
    match arguments {
        Value::String(text) => masked_beginning(text),
        other => masked_beginning(MaskedJson::new(other.clone(), MAX_FIELD).as_str()),
    }
}

/// Something that happened, before it is masked.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// Its id; a fresh one when there is none.
    pub event_id: Option<String>,
    /// Milliseconds since the epoch.
    pub ts: i64,
    /// The agent's id of the session.
    pub session_id: String,
    /// What kind of thing happened; unknown kinds are kept.
    pub kind: String,
    /// The tool, the model, the reason: by kind.
    pub name: String,
    /// The rest, by kind.
    pub payload: Map<String, Value>,
    /// Milliseconds since the session began.
    pub t_ms: Option<i64>,
    /// The agent's short name.
    pub agent: Option<String>,
    /// The subagent; none for the main one.
    pub agent_id: Option<String>,
    /// The model answer this belongs to, from 0.
    pub turn: Option<u32>,
    /// The agent's id of a tool call.
    pub tool_call_id: Option<String>,
    /// One billed model call.
    pub call_key: Option<String>,
    /// The session and call that this session was started by.
    pub parent: Option<Value>,
    /// Where the repository stood.
    pub git: Option<Standing>,
}

/// Where the repository stood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// HEAD's commit.
    pub head: Option<String>,
    /// HEAD's branch, short.
    pub branch: Option<String>,
    /// The root of the worktree.
    pub worktree: Option<String>,
}

/// One line of a log, masked: all but its place in the file, which is known
/// only when it is written.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Set where the line does not tell its place.
    whole: Option<String>,
    before_seq: String,
    after_seq: String,
}

impl Event {
    /// An event of `kind` that happens now.
    pub fn now(session_id: &str, kind: &str, name: &str) -> Self {
        Event {
            ts: time::now(),
            session_id: session_id.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..Event::default()
        }
    }

    /// Adds a field of the payload.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(field.to_owned(), value.into());
        self
    }

    /// The line to write, with no field longer than `limit` bytes.
    pub fn line(self, limit: usize) -> Line {
        let event_id = self.event_id.unwrap_or_else(|| id::fresh(self.ts));
        let mut before = String::with_capacity(512);
        let text = |name: &str, value: Value, to: &mut String| {
            to.push_str(if to.is_empty() { "{\"" } else { ",\"" });
            to.push_str(name);
            to.push_str("\":");
            to.push_str(MaskedJson::field(name, value, limit).as_str());
        };
        text("event_id", event_id.into(), &mut before);
        text("ts", time::text(self.ts).into(), &mut before);
        text("session_id", self.session_id.into(), &mut before);
        text("type", self.kind.into(), &mut before);
        text(
            "name",
            Masked::new(&self.name).cut(limit).as_str().into(),
            &mut before,
        );
        text("payload", Value::Object(self.payload), &mut before);
        text("v", VERSION.into(), &mut before);
        before.push_str(",\"seq\":");
        let mut after = String::with_capacity(256);
        let git = self
            .git
            .map(|git| json!({"head": git.head, "branch": git.branch, "worktree": git.worktree}));
        after.push(',');
        let mut rest = String::new();
        text("t_ms", self.t_ms.into(), &mut rest);
        text("agent", self.agent.into(), &mut rest);
        text("agent_id", self.agent_id.into(), &mut rest);
        text("turn", self.turn.into(), &mut rest);
        text("tool_call_id", self.tool_call_id.into(), &mut rest);
        text("call_key", self.call_key.into(), &mut rest);
        text("parent", self.parent.unwrap_or(Value::Null), &mut rest);
        text("git", git.unwrap_or(Value::Null), &mut rest);
        after.push_str(&rest[1..]);
        after.push_str("}\n");
        Line {
            whole: None,
            before_seq: before,
            after_seq: after,
        }
    }
}

impl Line {
    /// A line that is no session's event: any masked JSON object.
    pub fn of(object: &MaskedJson) -> Self {
        Line {
            whole: Some(format!("{object}\n")),
            ..Line::default()
        }
    }

    /// The bytes of the line at offset `seq`, with its line break.
    pub fn at(&self, seq: u64) -> String {
        match &self.whole {
            Some(line) => line.clone(),
            None => format!("{}{seq}{}", self.before_seq, self.after_seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_is_fixed() {
        let event = Event {
            event_id: Some("hev_1".into()),
            turn: Some(3),
            ..Event::now("s", "note", "n").with("text", "x")
        };
        let line = Event { ts: 0, ..event }.line(MAX_FIELD).at(7);
        assert_eq!(
            line,
            "{\"event_id\":\"hev_1\",\"ts\":\"1970-01-01T00:00:00.000Z\",\"session_id\":\"s\",\"type\":\"note\",\
             \"name\":\"n\",\"payload\":{\"text\":\"x\"},\"v\":1,\"seq\":7,\"t_ms\":null,\"agent\":null,\"agent_id\":null,\
             \"turn\":3,\"tool_call_id\":null,\"call_key\":null,\"parent\":null,\"git\":null}\n"
        );
    }

    #[test]
    fn nothing_gets_past_the_mask() {
        let secret = "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH";
        let mut event = Event::now(secret, secret, secret).with(secret, secret);
        event.agent = Some(secret.into());
        event.tool_call_id = Some(secret.into());
        event.call_key = Some(secret.into());
        event.parent = Some(json!({"session": secret}));
        let line = event.line(MAX_FIELD).at(0);
        assert!(!line.contains(secret), "{line}");
    }
}
