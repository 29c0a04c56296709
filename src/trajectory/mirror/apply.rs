//! Puts events into the tables.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::events::Stored;
use crate::trajectory::mirror::merge::fill;

/// Where an event comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) origin: i64,
    pub(super) is_imported: bool,
}

/// Kinds that a hook reports too: an imported one adds nothing where the
/// session was recorded live.
const LIVE_KNOWS: &[&str] = &["session_start", "session_shutdown", "prompt", "compaction"];

/// Adds `event`, unless its call is there already.
pub(super) fn add(db: &Connection, event: &Stored, source: Source) -> Result<bool> {
    if source.is_imported && LIVE_KNOWS.contains(&event.kind.as_str()) && is_live(db, event)? {
        return Ok(false);
    }
    match (event.kind.as_str(), &event.call_key, &event.tool_call_id) {
        ("assistant", Some(key), _) => {
            if let Some(there) = find(db, "call_key", key, "assistant", None)? {
                return join(db, event, source, &there);
            }
        }
        ("tool_start" | "tool_end", _, Some(call)) => {
            if let Some(there) = find(db, "tool_call_id", call, &event.kind, Some(event))? {
                return join(db, event, source, &there);
            }
        }
        _ => {}
    }
    insert(db, event, source)
}

/// The row that tells of the same call.
struct There {
    event_id: String,
    session_id: String,
    is_imported: bool,
    payload: Map<String, Value>,
}

fn find(
    db: &Connection,
    column: &str,
    value: &str,
    kind: &str,
    session: Option<&Stored>,
) -> Result<Option<There>> {
    let same_session = if session.is_some() {
        "AND h.session_id = ?3 AND x.agent IS ?4"
    } else {
        "AND ?3 IS NULL AND ?4 IS NULL"
    };
    let id = session.map(|event| &event.session_id);
    let agent = session.and_then(|event| event.agent.as_ref());
    let query = format!(
        "SELECT h.event_id, h.session_id, x.imported, h.payload_json FROM harness_extra x JOIN harness_events h USING(event_id)
         WHERE x.{column} = ?1 AND h.type = ?2 {same_session}"
    );
    Ok(db
        .prepare_cached(&query)?
        .query_row(params![value, kind, id, agent], |row| {
            Ok(There {
                event_id: row.get(0)?,
                session_id: row.get(1)?,
                is_imported: row.get(2)?,
                payload: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
            })
        })
        .optional()?)
}

fn join(db: &Connection, event: &Stored, source: Source, there: &There) -> Result<bool> {
    if there.event_id == event.event_id {
        return Ok(false);
    }
    if there.session_id != event.session_id {
        // A fork repeats what its parent paid for. The row of the one that did
        // not copy stays; between equals the smaller name, whatever came first.
        let rank = |payload: &Map<String, Value>, session: &str| {
            (
                payload.get("copied") == Some(&Value::Bool(true)),
                session.to_owned(),
            )
        };
        if rank(&there.payload, &there.session_id) <= rank(&event.fields(), &event.session_id) {
            return Ok(false);
        }
        delete(db, &there.event_id)?;
        return insert(db, event, source);
    }
    // No hook of Codex has the exit code of a command.
    let is_guess = event.kind == "tool_end" && event.agent.as_deref() == Some("codex");
    match (there.is_imported, source.is_imported) {
        // The live line is there: it takes what it lacks.
        (false, true) => {
            let mut payload = there.payload.clone();
            fill(&mut payload, &event.fields(), is_guess);
            db.prepare_cached("UPDATE harness_events SET payload_json = ?2 WHERE event_id = ?1")?
                .execute(params![there.event_id, Value::Object(payload).to_string()])?;
            db.prepare_cached("UPDATE harness_extra SET turn = coalesce(turn, ?2), call_key = coalesce(call_key, ?3), agent_id = coalesce(agent_id, ?4) WHERE event_id = ?1")?
                .execute(params![there.event_id, event.turn, event.call_key, event.agent_id])?;
            Ok(false)
        }
        (true, false) => {
            let mut payload = event.fields();
            fill(&mut payload, &there.payload, is_guess);
            delete(db, &there.event_id)?;
            insert(
                db,
                &Stored {
                    payload: Value::Object(payload).to_string(),
                    ..event.clone()
                },
                source,
            )
        }
        _ => Ok(false),
    }
}

fn is_live(db: &Connection, event: &Stored) -> Result<bool> {
    Ok(db
        .prepare_cached(
            "SELECT 1 FROM harness_events h JOIN harness_extra x USING(event_id)
             WHERE h.session_id = ?1 AND h.type = ?2 AND x.agent IS ?3 AND NOT x.imported LIMIT 1",
        )?
        .exists(params![event.session_id, event.kind, event.agent])?)
}

fn insert(db: &Connection, event: &Stored, source: Source) -> Result<bool> {
    let added = db
        .prepare_cached("INSERT OR IGNORE INTO harness_events(event_id, session_id, type, name, payload_json, ts) VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![event.event_id, event.session_id, event.kind, event.name, event.payload, event.ts])?;
    if added == 0 {
        return Ok(false);
    }
    db.prepare_cached(
        "INSERT OR IGNORE INTO harness_extra(event_id, agent, agent_id, turn, tool_call_id, call_key, head, branch, origin, imported, session_id)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        event.event_id,
        event.agent,
        event.agent_id,
        event.turn,
        event.tool_call_id,
        event.call_key,
        event.head,
        event.branch,
        source.origin,
        source.is_imported,
        event.session_id
    ])?;
    Ok(true)
}

fn delete(db: &Connection, event_id: &str) -> Result<()> {
    db.prepare_cached("DELETE FROM harness_events WHERE event_id = ?1")?
        .execute([event_id])?;
    db.prepare_cached("DELETE FROM harness_extra WHERE event_id = ?1")?
        .execute([event_id])?;
    Ok(())
}

/// Takes out everything that came from `origin`.
pub(super) fn forget(db: &Connection, origin: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM harness_events WHERE event_id IN (SELECT event_id FROM harness_extra WHERE origin = ?1)")?
        .execute([origin])?;
    db.prepare_cached("DELETE FROM harness_extra WHERE origin = ?1")?
        .execute([origin])?;
    Ok(())
}

/// Adds a line of a run, and keeps the tables of runs and phases in step.
pub(super) fn add_run(db: &Connection, event: &Stored) -> Result<bool> {
    let added = db
        .prepare_cached("INSERT OR IGNORE INTO events(event_id, adw_id, phase_id, type, name, payload_json, ts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![event.event_id, event.adw_id, event.phase_id, event.kind, event.name, event.payload, event.ts])?;
    let fields = event.fields();
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    let whole = |name: &str| fields.get(name).and_then(Value::as_i64);
    match event.kind.as_str() {
        "run_start" => {
            db.prepare_cached("INSERT OR IGNORE INTO runs(adw_id, adw_name, status, started_at, request) VALUES(?1, ?2, 'running', ?3, ?4)")?
                .execute(params![event.adw_id, event.name, event.ts, text("request")])?;
        }
        "phase_start" => {
            db.prepare_cached("INSERT OR IGNORE INTO phases(phase_id, adw_id, seq, name, kind, status, started_at) VALUES(?1, ?2, ?3, ?4, ?5, 'running', ?6)")?
                .execute(params![event.phase_id, event.adw_id, whole("seq"), event.name, text("kind"), event.ts])?;
        }
        "phase_attempt" => {
            db.prepare_cached(
                "UPDATE phases SET status = ?2, cost_usd = CASE WHEN ?3 IS NULL THEN cost_usd ELSE coalesce(cost_usd, 0) + ?3 END, ended_at = ?4, attempts = ?5, exit_code = ?6 WHERE phase_id = ?1",
            )?
            .execute(params![event.phase_id, text("status"), number("cost_usd").filter(|_| added > 0), event.ts, whole("attempt"), whole("exit_code")])?;
        }
        "run_finish" => {
            db.prepare_cached(
                "UPDATE runs SET status = ?2, cost_usd = ?3, ended_at = ?4 WHERE adw_id = ?1",
            )?
            .execute(params![
                event.adw_id,
                text("status"),
                number("cost_usd"),
                event.ts
            ])?;
        }
        _ => {}
    }
    Ok(added > 0)
}
