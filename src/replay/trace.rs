//! The events of a run in a form in which two runs can be compared: without
//! what is different in every run.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::replay::journal::{Journal, Prompt, write};

/// Kinds that say how a run was measured and carried, not what it did.
const INCIDENTAL: &[&str] = &[
    "conversation",
    "usage",
    "message-usage",
    "raw",
    "text-delta",
    "model-request",
    "model-response",
    "model-retry",
    "stderr",
    "step",
];

/// Names that are made up anew in every run.
const NAMES: &[&str] = &[
    "id",
    "callId",
    "parentCallId",
    "subagentId",
    "durationMs",
    "resetAt",
    "messageId",
];

/// The prompts and events of all turns, in order.
///
/// # Errors
/// When an entry cannot be read.
pub(super) fn of(journal: &Journal) -> Result<Vec<Value>> {
    let mut events = Vec::new();
    for turn in &journal.turns {
        let Prompt { text, incomparable } = &turn.prompt;
        events.push(json!({"kind": "prompt", "text": text, "incomparable": incomparable}));
        for index in &turn.events {
            let text = write::event(journal.container.entry(*index).unwrap_or_default())?;
            let event: Value = serde_json::from_str(&text)?;
            let is_incidental = event["kind"]
                .as_str()
                .is_some_and(|kind| INCIDENTAL.contains(&kind));
            if let (false, Value::Object(fields)) = (is_incidental, event) {
                events.push(Value::Object(lasting(fields)));
            }
        }
    }
    Ok(events)
}

/// Whether two events say the same, as far as both were recorded.
pub(super) fn agree(left: Option<&Value>, right: Option<&Value>) -> bool {
    let is_open = |event: &Value| event["kind"] == "prompt" && !event["incomparable"].is_null();
    match (left, right) {
        (Some(a), Some(b)) if a["kind"] == b["kind"] && (is_open(a) || is_open(b)) => true,
        _ => left == right,
    }
}

fn lasting(fields: Map<String, Value>) -> Map<String, Value> {
    fields
        .into_iter()
        .filter(|(name, _)| !NAMES.contains(&name.as_str()))
        .collect()
}
