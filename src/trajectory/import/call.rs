//! One billed model call, in one vocabulary. Agents disagree on whether input
//! contains the cache and output the reasoning; here it never and always does.

use serde_json::{Map, Value};

use crate::events::{Event, Key};

/// What a call used. `input` is what was neither read from nor written to a
/// cache; `output` contains `reasoning`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Billed {
    /// What makes it one call, wherever it is told again.
    pub(crate) key: String,
    pub(crate) model: String,
    pub(crate) input: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write_5m: Option<u64>,
    pub(crate) cache_write_1h: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    /// What the agent says it cost.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) tool_calls: Option<u64>,
    pub(crate) chars: Option<u64>,
    /// Told again by a fork.
    pub(crate) copied: bool,
    /// What it was for, when it was no answer: a summary, a compaction.
    pub(crate) purpose: Option<&'static str>,
}

impl Billed {
    /// The sum of all tokens, when the sums are known.
    pub(crate) fn total(&self) -> Option<u64> {
        let parts = [
            self.input,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.output,
        ];
        parts
            .iter()
            .any(Option::is_some)
            .then(|| parts.iter().map(|p| p.unwrap_or(0)).sum())
    }

    /// The event that tells of it.
    pub(crate) fn event(self, ts: i64, session_id: &str) -> Event {
        let mut payload = Map::new();
        let mut put = |name: &str, value: Value| payload.insert(name.to_owned(), value);
        put("input", self.input.into());
        put("output", self.output.into());
        put("cache_read", self.cache_read.into());
        let written = match (self.cache_write_5m, self.cache_write_1h) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        put("cache_write", written.into());
        put("total_tokens", self.total().into());
        put("cost_usd", self.cost_usd.into());
        put(
            "cost_status",
            if self.cost_usd.is_some() {
                "reported"
            } else {
                "unpriced"
            }
            .into(),
        );
        put("stop_reason", self.stop_reason.into());
        put("tool_calls", self.tool_calls.into());
        put("chars", self.chars.into());
        put("cache_write_5m", self.cache_write_5m.into());
        put("cache_write_1h", self.cache_write_1h.into());
        put("reasoning", self.reasoning.into());
        put("model", self.model.as_str().into());
        if self.copied {
            put("copied", true.into());
        }
        if let Some(purpose) = self.purpose {
            put("purpose", purpose.into());
        }
        Event {
            ts,
            session_id: session_id.to_owned(),
            kind: "assistant".to_owned(),
            name: self.model,
            payload,
            call_key: Some(self.key),
            ..Event::default()
        }
    }
}

/// A name for a tool call of an agent that gives none: its tool and arguments,
/// and the how manieth such call it is.
pub(crate) fn tool_key(key: &Key, tool: &str, arguments: &Value, nth: u64) -> String {
    format!("call-{}-{nth}", key.hash(&[tool, &canonical(arguments)]))
}

/// `value` as JSON whose keys are sorted: agents write the same arguments in
/// different orders at different places.
pub(crate) fn canonical(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}
