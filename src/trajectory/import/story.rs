//! What a transcript tells of one session, in order.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::events::line::{head, masked_arguments, masked_beginning};
use crate::events::{Event, Session, id};
use crate::trajectory::import::call::Billed;

/// The name of the note that a call was billed and recorded nowhere.
pub(crate) const UNRECORDED: &str = "unrecorded";

/// The events of one session.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) session: Session,
    /// Where the agent worked.
    pub(crate) cwd: Option<PathBuf>,
    /// The first instant of the session itself; what is older was copied from another.
    pub(crate) began: Option<i64>,
    /// The session it came from.
    pub(crate) parent: Option<Value>,
    pub(crate) events: Vec<Event>,
    /// Rows that could not be read.
    pub(crate) broken: u64,
}

/// How a tool call ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended {
    pub(crate) outcome: &'static str,
    pub(crate) result: String,
    pub(crate) duration_ms: Option<i64>,
}

impl Story {
    pub(crate) fn new(agent: &str, id: &str) -> Self {
        Story {
            session: Session::new(agent, id),
            cwd: None,
            began: None,
            parent: None,
            events: Vec::new(),
            broken: 0,
        }
    }

    /// Sees an instant of the session itself.
    pub(crate) fn at(&mut self, ts: i64) {
        self.began = Some(self.began.map_or(ts, |began| began.min(ts)));
    }

    fn push(&mut self, event: Event, native: &str, agent_id: Option<&str>) {
        let ordinal = event
            .tool_call_id
            .clone()
            .or_else(|| event.call_key.clone())
            .unwrap_or_default();
        let event_id = id::of(&[
            &self.session.agent,
            &self.session.id,
            &event.kind,
            native,
            &ordinal,
        ]);
        self.events.push(Event {
            event_id: Some(event_id),
            session_id: self.session.id.clone(),
            agent: Some(self.session.agent.clone()),
            agent_id: agent_id.map(str::to_owned),
            ..event
        });
    }

    pub(crate) fn prompt(&mut self, ts: i64, native: &str, text: &str, agent_id: Option<&str>) {
        let event = Event {
            ts,
            ..Event::now("", "prompt", "user")
        }
        .with("chars", text.chars().count())
        .with("head", head(&masked_beginning(text)))
        .with("text", text);
        self.push(event, native, agent_id);
    }

    pub(crate) fn billed(&mut self, ts: i64, mut call: Billed, agent_id: Option<&str>) {
        call.copied |= self.began.is_some_and(|began| ts < began);
        let key = call.key.clone();
        let session = self.session.id.clone();
        self.push(call.event(ts, &session), &key, agent_id);
    }

    pub(crate) fn tool_start(
        &mut self,
        ts: i64,
        call: &str,
        tool: &str,
        arguments: &Value,
        agent_id: Option<&str>,
    ) {
        let event = Event {
            ts,
            tool_call_id: Some(call.to_owned()),
            ..Event::now("", "tool_start", tool)
        }
        .with("tool_call_id", call)
        .with("args", head(&masked_arguments(arguments)))
        .with("args_text", arguments.clone());
        self.push(event, call, agent_id);
    }

    pub(crate) fn tool_end(
        &mut self,
        ts: i64,
        call: &str,
        tool: &str,
        ended: Ended,
        agent_id: Option<&str>,
    ) {
        let is_error = match ended.outcome {
            "unknown" => Value::Null,
            "ok" => false.into(),
            _ => true.into(),
        };
        let event = Event {
            ts,
            tool_call_id: Some(call.to_owned()),
            ..Event::now("", "tool_end", tool)
        }
        .with("tool_call_id", call)
        .with("duration_ms", ended.duration_ms)
        .with("is_error", is_error)
        .with("result_chars", ended.result.chars().count())
        .with("outcome", ended.outcome)
        .with("result_head", head(&masked_beginning(&ended.result)));
        self.push(event, call, agent_id);
    }

    pub(crate) fn compaction(
        &mut self,
        ts: i64,
        native: &str,
        reason: &str,
        before: Option<i64>,
        after: Option<i64>,
    ) {
        let event = Event {
            ts,
            ..Event::now("", "compaction", reason)
        }
        .with("reason", reason)
        .with("tokens_before", before)
        .with("tokens_after", after);
        self.push(event, native, None);
    }

    /// A model call that was billed, and of which the agent keeps no usage: sums are
    /// then less than the bill.
    pub(crate) fn unrecorded(&mut self, ts: i64, native: &str, what: &str) {
        let event = Event {
            ts,
            ..Event::now("", "note", UNRECORDED)
        }
        .with("what", what);
        self.push(event, native, None);
    }

    /// The whole, ready to be written: a beginning, turns, times since the start.
    pub(crate) fn complete(mut self) -> Self {
        let own = |event: &Event| event.payload.get("copied") != Some(&Value::Bool(true));
        let first = self.events.iter().filter(|e| own(e)).map(|e| e.ts).min();
        let began = self.began.or(first).unwrap_or(0);
        let start = Event {
            ts: began,
            ..Event::now("", "session_start", "import")
        }
        .with("source", "import")
        .with(
            "cwd",
            self.cwd.as_ref().map(|p| p.to_string_lossy().into_owned()),
        );
        let mut events = std::mem::take(&mut self.events);
        self.push(start, "start", None);
        number(&mut events);
        self.events.extend(with_turns(events, &self.session));
        for event in &mut self.events {
            event.t_ms = Some((event.ts - began).max(0));
            event.parent.clone_from(&self.parent);
        }
        self
    }
}

/// Gives each event the number of the model answer that it belongs to.
fn number(events: &mut [Event]) {
    let mut turns: HashMap<Option<String>, u32> = HashMap::new();
    let mut of_call: HashMap<String, u32> = HashMap::new();
    for event in events {
        let next = turns.entry(event.agent_id.clone()).or_insert(0);
        if event.kind == "assistant" && event.payload.get("purpose").is_none() {
            event.turn = Some(*next);
            *next += 1;
        } else if let Some(call) = &event.tool_call_id {
            let turn = *of_call
                .entry(call.clone())
                .or_insert(next.saturating_sub(1));
            event.turn = Some(turn);
        }
    }
}

/// Adds the beginning and the end of each answer with its tools.
fn with_turns(events: Vec<Event>, session: &Session) -> Vec<Event> {
    let mut results: HashMap<(Option<String>, u32), (i64, u64)> = HashMap::new();
    for event in &events {
        if let Some(turn) = event.turn {
            let end = results
                .entry((event.agent_id.clone(), turn))
                .or_insert((event.ts, 0));
            end.0 = end.0.max(event.ts);
            end.1 += u64::from(event.kind == "tool_end");
        }
    }
    let mark = |event: &Event, kind: &str, ts: i64, payload: Value| Event {
        event_id: Some(id::of(&[
            &session.agent,
            &session.id,
            kind,
            event.agent_id.as_deref().unwrap_or(""),
            event.call_key.as_deref().unwrap_or(""),
        ])),
        ts,
        session_id: session.id.clone(),
        kind: kind.to_owned(),
        name: format!("turn {}", event.turn.unwrap_or(0)),
        payload: serde_json::from_value(payload).unwrap_or_default(),
        agent: Some(session.agent.clone()),
        agent_id: event.agent_id.clone(),
        turn: event.turn,
        ..Event::default()
    };
    let mut all = Vec::with_capacity(events.len() * 2);
    for event in events {
        match (event.kind.as_str(), event.turn) {
            ("assistant", Some(turn)) => {
                let (end, tools) = results[&(event.agent_id.clone(), turn)];
                let start = mark(&event, "turn_start", event.ts, json!({"turn": turn}));
                let done = mark(
                    &event,
                    "turn_end",
                    end,
                    json!({"turn": turn, "tool_results": tools}),
                );
                all.extend([start, event, done]);
            }
            _ => all.push(event),
        }
    }
    // The end of a turn comes after its tools; equal times keep their order.
    all.sort_by_key(|event| event.ts);
    all
}
