//! `git trajectory show`: the events of a session, in order.

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::events::{Reader, Stored, session, time};
use crate::git::Repo;
use crate::trajectory::fresh::Freshness;
use crate::trajectory::record::State;
use crate::trajectory::summary::{self, one_line, shown};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The session: its id, or the beginning of it; the newest when none is named
    session: Option<String>,
    /// Print the lines that come as they come
    #[arg(short, long)]
    follow: bool,
    /// Print one JSON object an event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    freshness: Freshness,
}

/// How often a followed log is looked at.
const INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let db = arguments.freshness.mirror(repo, ui)?;
    let Some(id) = summary::resolve(&db, arguments.session.as_deref())? else {
        ui.note("no session was recorded yet");
        return Ok(Exit::No);
    };
    let log = summary::find(repo, &id)
        .ok()
        .map(|s| s.log(&session::folder(repo)))
        .filter(|path| path.exists());
    // What the mirror shows is what the file held before it was read.
    let seen = log
        .as_deref()
        .and_then(|path| path.metadata().ok())
        .map_or(0, |m| m.len());
    let shown = in_order(events(&db, &id)?);
    let is_over = shown
        .last()
        .is_some_and(|event| event.kind == "session_shutdown");
    for event in &shown {
        print(event, arguments.json, ui)?;
    }
    for event in open_calls(repo, &id) {
        print(&event, arguments.json, ui)?;
    }
    summary::warn_unprotected(&db, Some(&id), ui)?;
    if let (true, Some(path)) = (arguments.follow && !is_over, log) {
        follow(&path, seen, arguments.json, ui)?;
    }
    Ok(Exit::Done)
}

fn events(db: &Connection, id: &str) -> Result<Vec<Stored>> {
    let mut statement = db.prepare(
        "SELECT h.event_id, h.ts, h.type, h.name, h.payload_json, x.agent, x.agent_id, x.turn, x.tool_call_id, x.call_key
         FROM harness_events h LEFT JOIN harness_extra x USING(event_id) WHERE h.session_id = ?1 ORDER BY h.ts, x.origin, h.rowid",
    )?;
    let rows = statement.query_map(params![id], |row| {
        Ok(Stored {
            event_id: row.get(0)?,
            ts: row.get(1)?,
            session_id: id.to_owned(),
            kind: row.get(2)?,
            name: row.get(3)?,
            payload: row.get(4)?,
            agent: row.get(5)?,
            agent_id: row.get(6)?,
            turn: row.get(7)?,
            tool_call_id: row.get(8)?,
            call_key: row.get(9)?,
            ..Stored::default()
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Permission, checkpoint and start of a call stand together, in this order: a
/// checkpoint is older than the permission when a person was asked.
fn in_order(events: Vec<Stored>) -> Vec<Stored> {
    let rank = |kind: &str| {
        ["permission", "checkpoint", "tool_start"]
            .iter()
            .position(|k| *k == kind)
    };
    let mut first: HashMap<String, String> = HashMap::new();
    for event in &events {
        if let (Some(call), Some(_)) = (&event.tool_call_id, rank(&event.kind)) {
            let known = first
                .entry(call.clone())
                .or_insert_with(|| event.ts.clone());
            if event.ts < *known {
                known.clone_from(&event.ts);
            }
        }
    }
    let mut keyed: Vec<(String, usize, Stored)> = events
        .into_iter()
        .map(|event| {
            let rank = rank(&event.kind).filter(|_| event.name != "dropped");
            let together = event
                .tool_call_id
                .as_ref()
                .filter(|_| rank.is_some())
                .and_then(|call| first.get(call));
            (
                together.unwrap_or(&event.ts).clone(),
                rank.map_or(0, |n| n + 1),
                event,
            )
        })
        .collect();
    keyed.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    keyed.into_iter().map(|(_, _, event)| event).collect()
}

/// The calls that were begun and not closed, which stand in no log yet.
fn open_calls(repo: &Repo, id: &str) -> Vec<Stored> {
    let folder = session::folder(repo);
    let Ok(session) = summary::find(repo, id) else {
        return Vec::new();
    };
    let state = State::load(&session.state(&folder), &session.log(&folder));
    let event = |open: &crate::trajectory::record::Open| Stored {
        ts: time::text(open.began),
        session_id: id.to_owned(),
        kind: "open".to_owned(),
        name: open.tool.clone(),
        payload:
            json!({"tool_call_id": open.call, "args": open.args, "checkpoint": open.guard.number})
                .to_string(),
        agent: Some(session.agent.clone()),
        agent_id: open.agent_id.clone(),
        turn: open.turn,
        tool_call_id: Some(open.call.clone()),
        ..Stored::default()
    };
    state.open.iter().map(event).collect()
}

fn follow(path: &std::path::Path, from: u64, json: bool, ui: &mut Ui) -> Result<()> {
    let mut at = from;
    loop {
        ui.flush()?;
        std::thread::sleep(INTERVAL);
        if path.metadata().map_or(0, |m| m.len()) <= at {
            continue;
        }
        let mut reader = Reader::open(path, at)?;
        while let Some(event) = reader.next_event()? {
            print(&event, json, ui)?;
            if event.kind == "session_shutdown" {
                return ui.flush();
            }
        }
        at = reader.offset();
    }
}

fn print(event: &Stored, as_json: bool, ui: &mut Ui) -> Result<()> {
    let fields = event.fields();
    if as_json {
        return ui.json(&json!({
            "event_id": event.event_id, "ts": event.ts, "session_id": event.session_id, "type": event.kind,
            "name": event.name, "payload": fields, "agent": event.agent, "agent_id": event.agent_id, "turn": event.turn,
            "tool_call_id": event.tool_call_id, "call_key": event.call_key,
        }));
    }
    let time = summary::local(&event.ts);
    let time = time.split(' ').next_back().unwrap_or("-");
    let turn = event.turn.map_or_else(|| "-".to_owned(), |t| t.to_string());
    let child = event
        .agent_id
        .as_deref()
        .map_or_else(String::new, |id| format!(" [{}]", shown(id)));
    writeln!(
        ui.out,
        "{time}  {turn:>3}  {:16} {}{child}  {}",
        shown(&event.kind),
        shown(&event.name),
        one_line(&detail(&event.kind, &fields), 100)
    )?;
    Ok(())
}

/// What one wants to know of an event on one line.
fn detail(kind: &str, fields: &Map<String, Value>) -> String {
    let word = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    match kind {
        "prompt" => word("head"),
        "assistant" => format!(
            "{} tokens, {}",
            known(&word("total_tokens")),
            word("stop_reason")
        ),
        "tool_start" | "open" => word("args"),
        "tool_end" => format!(
            "{} {} ms  {}",
            known(&word("outcome")),
            known(&word("duration_ms")),
            word("result_head")
        ),
        "permission" => format!("{} {}", word("decision"), word("by")),
        "checkpoint" => match (word("number"), word("error"), word("why")) {
            (number, _, _) if !number.is_empty() => format!("{number:0>3}"),
            (_, error, _) if !error.is_empty() => format!("none: {error}"),
            (_, _, why) => format!("none: {why}"),
        },
        "session_shutdown" | "agent_settled" => format!(
            "{} turns, {} tools, {} tokens",
            known(&word("turns")),
            known(&word("tools")),
            known(&word("tokens"))
        ),
        "loop" => format!("{} × {}", word("count"), word("tool")),
        _ => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, _)| format!("{name}={}", word(name)))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn known(text: &str) -> &str {
    if text.is_empty() { "?" } else { text }
}
