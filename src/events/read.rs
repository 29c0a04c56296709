//! Reads the events of a log, also those of writers with other names for the
//! same things, past lone surrogates and fields of other types.

use std::borrow::Cow;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::events::lines::{Lines, Passed};
use crate::events::{id, time};

/// The longest line that is read.
const LONGEST: usize = 4 << 20;

/// An event as it stands in a log.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Its id; made of file and offset where the line has none.
    pub event_id: String,
    /// RFC 3339; empty when the line has none.
    pub ts: String,
    /// The session; the file's name where the line has none.
    pub session_id: String,
    /// The kind, by its usual name.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The payload as JSON text.
    pub payload: String,
    /// The line's offset in its file.
    pub seq: u64,
    /// Milliseconds since the session began.
    pub t_ms: Option<i64>,
    /// The agent.
    pub agent: Option<String>,
    /// The subagent.
    pub agent_id: Option<String>,
    /// The model answer.
    pub turn: Option<u32>,
    /// The tool call.
    pub tool_call_id: Option<String>,
    /// The billed call.
    pub call_key: Option<String>,
    /// HEAD's commit.
    pub head: Option<String>,
    /// HEAD's branch.
    pub branch: Option<String>,
    /// The worktree's root.
    pub worktree: Option<String>,
    /// The run's id, in lines of a run.
    pub adw_id: Option<String>,
    /// The phase's id, in lines of a run.
    pub phase_id: Option<String>,
}

impl Stored {
    /// The payload, decoded; empty when it is no object.
    pub fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(&self.payload).unwrap_or_default()
    }

    /// When it happened, in milliseconds since the epoch.
    pub fn ms(&self) -> Option<i64> {
        time::parse(&self.ts)
    }
}

/// A log being read.
pub struct Reader {
    lines: Lines,
    stem: String,
    broken: u64,
}

impl Reader {
    /// Reads `path` from offset `from`, which is the beginning of a line. The
    /// stem of the file stands for a session that a line does not name.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, from: u64) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".jsonl").unwrap_or(&name);
        Ok(Reader {
            lines: Lines::open(path, from, LONGEST)?,
            stem: stem.strip_suffix(".import").unwrap_or(stem).to_owned(),
            broken: 0,
        })
    }

    /// What was passed over so far.
    pub fn passed(&self) -> Passed {
        Passed {
            broken: self.broken,
            ..self.lines.passed()
        }
    }

    /// The offset behind the last whole line.
    pub fn offset(&self) -> u64 {
        self.lines.offset()
    }

    /// The next event; `None` at the end, before a line that is not whole yet.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_event(&mut self) -> Result<Option<Stored>> {
        while let Some((start, text)) = self.lines.next_line()? {
            match parse(text, &self.stem, start) {
                Some(event) => return Ok(Some(event)),
                None => self.broken += 1,
            }
        }
        Ok(None)
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    event_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    ts: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    t_ms: Option<i64>,
    agent: Option<String>,
    agent_id: Option<String>,
    turn: Option<u32>,
    tool_call_id: Option<String>,
    call_key: Option<String>,
    git: Option<Git>,
    adw_id: Option<String>,
    phase_id: Option<String>,
}

#[derive(Deserialize)]
struct Git {
    head: Option<String>,
    branch: Option<String>,
    worktree: Option<String>,
}

fn parse(text: &[u8], stem: &str, seq: u64) -> Option<Stored> {
    match serde_json::from_slice::<Raw>(text) {
        Ok(raw) => Some(stored(raw, text, stem, seq)),
        Err(_) => {
            // Half of a surrogate pair, or a field of another kind than ours.
            let mended = mend(&String::from_utf8_lossy(text));
            match serde_json::from_str::<Raw>(&mended) {
                Ok(raw) => Some(stored(raw, mended.as_bytes(), stem, seq)),
                Err(_) => loose(&mended, stem, seq),
            }
        }
    }
}

fn stored(raw: Raw, text: &[u8], stem: &str, seq: u64) -> Stored {
    let git = raw.git;
    let (head, branch, worktree) =
        git.map_or((None, None, None), |g| (g.head, g.branch, g.worktree));
    let payload = match raw.payload {
        Some(payload) if payload.get() != "null" => payload.get().to_owned(),
        _ => flat_payload(text),
    };
    Stored {
        event_id: raw
            .event_id
            .map_or_else(|| id::of(&[stem, &seq.to_string()]), Cow::into_owned),
        ts: raw.ts.map(Cow::into_owned).unwrap_or_default(),
        session_id: raw
            .session_id
            .map_or_else(|| stem.to_owned(), Cow::into_owned),
        kind: usual_kind(&raw.kind.unwrap_or_default()).to_owned(),
        name: raw.name.map(Cow::into_owned).unwrap_or_default(),
        payload,
        seq,
        t_ms: raw.t_ms,
        agent: raw.agent,
        agent_id: raw.agent_id,
        turn: raw.turn,
        tool_call_id: raw.tool_call_id,
        call_key: raw.call_key,
        head,
        branch,
        worktree,
        adw_id: raw.adw_id,
        phase_id: raw.phase_id,
    }
}

/// A line whose fields have other types than ours: what can be read of it.
fn loose(text: &str, stem: &str, seq: u64) -> Option<Stored> {
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    let word = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    Some(Stored {
        event_id: word("event_id").unwrap_or_else(|| id::of(&[stem, &seq.to_string()])),
        ts: word("ts").unwrap_or_default(),
        session_id: word("session_id").unwrap_or_else(|| stem.to_owned()),
        kind: usual_kind(&word("type").unwrap_or_default()).to_owned(),
        name: word("name").unwrap_or_default(),
        payload: match fields.get("payload") {
            Some(payload) => payload.to_string(),
            None => flat_payload(text.as_bytes()),
        },
        seq,
        turn: fields
            .get("turn")
            .and_then(Value::as_u64)
            .and_then(|n| u32::try_from(n).ok()),
        tool_call_id: word("tool_call_id"),
        ..Stored::default()
    })
}

/// Where fields stand beside the type instead of in a payload.
fn flat_payload(text: &[u8]) -> String {
    const OURS: &[&str] = &[
        "event_id",
        "ts",
        "session_id",
        "type",
        "name",
        "payload",
        "v",
        "seq",
        "t_ms",
        "agent",
        "agent_id",
        "turn",
        "call_key",
        "parent",
        "git",
        "adw_id",
        "phase_id",
    ];
    let mut fields: Map<String, Value> = serde_json::from_slice(text).unwrap_or_default();
    fields.retain(|name, _| !OURS.contains(&name.as_str()));
    Value::Object(fields).to_string()
}

/// The names by which other writers of this format call the same things.
pub fn usual_kind(kind: &str) -> &str {
    match kind {
        "start" => "session_start",
        "model" => "assistant",
        "tool" => "tool_end",
        "end" => "session_shutdown",
        other => other,
    }
}

/// Lone halves of surrogate pairs as U+FFFD, which is how a lossy writer would
/// have put them.
fn mend(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        let escaped = rest[..at].bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
        let unit = rest
            .get(at + 2..at + 6)
            .and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let next = rest
            .get(at + 8..at + 12)
            .filter(|_| {
                rest.get(at + 6..)
                    .is_some_and(|tail| tail.starts_with("\\u"))
            })
            .and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let (take, bad) = match (unit, next) {
            _ if escaped => (2, false),
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
            (Some(0xD800..=0xDFFF), _) => (6, true),
            (Some(_), _) => (6, false),
            (None, _) => (2, false),
        };
        mended.push_str(&rest[..at]);
        mended.push_str(if bad { "\\ufffd" } else { &rest[at..at + take] });
        rest = &rest[at + take..];
    }
    mended.push_str(rest);
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_mended_and_pairs_stay() {
        assert_eq!(
            mend(r#"{"a":"\ud83d\ude00 \ud83d \\ud83d"}"#),
            r#"{"a":"\ud83d\ude00 \ufffd \\ud83d"}"#
        );
    }

    #[test]
    fn other_names_and_flat_fields_are_read() {
        let event = parse(
            br#"{"type":"tool","name":"bash","duration_ms":3}"#,
            "stem",
            9,
        )
        .expect("read");
        assert_eq!(
            (event.kind.as_str(), event.session_id.as_str()),
            ("tool_end", "stem")
        );
        assert_eq!(event.payload, r#"{"duration_ms":3}"#);
        assert_eq!(event.event_id, id::of(&["stem", "9"]));
    }

    #[test]
    fn fields_of_other_types_do_not_lose_the_line() {
        let event = parse(
            br#"{"event_id":7,"type":"note","payload":{"a":1},"turn":"x"}"#,
            "s",
            0,
        )
        .expect("read");
        assert_eq!(
            (event.event_id.as_str(), event.payload.as_str()),
            ("7", r#"{"a":1}"#)
        );
    }
}
