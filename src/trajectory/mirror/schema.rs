//! The tables. `harness_events`, `runs`, `phases`, `events` and the view are
//! what outside readers query; the rest is ours.

/// Raised whenever what is stored or how it is derived changes: another version
/// on disk is rebuilt from the logs.
pub(super) const VERSION: i64 = 1;

pub(super) const TABLES: &str = "
CREATE TABLE harness_events(
  event_id TEXT PRIMARY KEY, session_id TEXT, type TEXT, name TEXT, payload_json TEXT, ts TEXT);
CREATE INDEX harness_events_session ON harness_events(session_id, ts);
CREATE TABLE harness_extra(
  event_id TEXT PRIMARY KEY, agent TEXT, agent_id TEXT, turn INTEGER, tool_call_id TEXT, call_key TEXT,
  head TEXT, branch TEXT, origin INTEGER, imported INTEGER, session_id TEXT);
CREATE INDEX harness_extra_call ON harness_extra(call_key) WHERE call_key IS NOT NULL;
CREATE INDEX harness_extra_tool ON harness_extra(tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX harness_extra_origin ON harness_extra(origin);
CREATE TABLE runs(
  adw_id TEXT PRIMARY KEY, adw_name TEXT, status TEXT, cost_usd REAL, started_at TEXT, ended_at TEXT, request TEXT);
CREATE TABLE phases(
  phase_id TEXT PRIMARY KEY, adw_id TEXT, seq INTEGER, name TEXT, kind TEXT, status TEXT, cost_usd REAL,
  started_at TEXT, ended_at TEXT, attempts INTEGER, exit_code INTEGER);
CREATE TABLE events(
  event_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, type TEXT, name TEXT, payload_json TEXT, ts TEXT);
CREATE INDEX events_type ON events(type, adw_id);
CREATE TABLE harness_marks(
  origin INTEGER PRIMARY KEY, path TEXT UNIQUE, inode INTEGER, size INTEGER, changed INTEGER, read_to INTEGER,
  head TEXT, broken INTEGER);
CREATE VIEW harness_by_phase AS
  SELECT DISTINCT p.adw_id, p.phase_id, h.event_id, h.session_id, h.type, h.name, h.payload_json, h.ts
  FROM (SELECT adw_id, phase_id, json_extract(payload_json, '$.session_id') AS session
        FROM events WHERE type = 'phase_session') AS p
  JOIN harness_events AS h ON h.session_id = p.session;
";
