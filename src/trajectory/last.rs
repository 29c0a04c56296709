//! `git trajectory last`: the last run, phase by phase; without a run the newest
//! session, prompt by prompt. Where there is no trace it says so.

use clap::Args;
use rusqlite::{Connection, OptionalExtension, params};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::trajectory::fresh::Freshness;
use crate::trajectory::summary::{self, SUMS, Totals, local, one_line, shown};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    freshness: Freshness,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let db = arguments.freshness.mirror(repo, ui)?;
    let newest = db
        .query_row(
            "SELECT adw_id, adw_name, status, cost_usd FROM runs ORDER BY started_at DESC LIMIT 1",
            [],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<String>>(1)?,
                    row.get::<_, Option<String>>(2)?,
                    row.get::<_, Option<f64>>(3)?,
                ))
            },
        )
        .optional()?;
    if let Some((id, name, status, cost)) = newest {
        writeln!(
            ui.out,
            "run {} ({}) — {} — {} (runner)",
            shown(&id),
            shown(&name.unwrap_or_default()),
            shown(&status.unwrap_or_default()),
            dollars(cost)
        )?;
        phases(&db, &id, ui)?;
        return Ok(Exit::Done);
    }
    let Some(id) = summary::resolve(&db, None)? else {
        ui.note("no session was recorded yet");
        return Ok(Exit::No);
    };
    session(&db, &id, ui)?;
    summary::warn_unprotected(&db, Some(&id), ui)?;
    Ok(Exit::Done)
}

fn phases(db: &Connection, run: &str, ui: &mut Ui) -> Result<()> {
    let mut statement = db.prepare("SELECT phase_id, seq, name, kind, cost_usd FROM phases WHERE adw_id = ?1 ORDER BY seq, started_at")?;
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        let (phase, number): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        let (name, kind): (String, Option<String>) = (row.get(2)?, row.get(3)?);
        let cost: Option<f64> = row.get(4)?;
        let kind = kind.unwrap_or_else(|| "agent".to_owned());
        let head = format!(
            "{:>3}  {}  {}",
            number.unwrap_or(0),
            shown(&name),
            shown(&kind)
        );
        let (events, totals) = db.query_row(
            &format!("SELECT count(*), {SUMS} FROM harness_by_phase h WHERE h.adw_id = ?1 AND h.phase_id = ?2"),
            params![run, phase],
            |row| Ok((row.get::<_, i64>(0)?, Totals::of(row, 1)?)),
        )?;
        match (kind.as_str(), events) {
            ("code", _) => writeln!(ui.out, "{head}  —  code phase")?,
            (_, 0) => writeln!(ui.out, "{head}  —  no harness trace")?,
            _ => writeln!(
                ui.out,
                "{head}  {} (harness) / {} (runner)",
                totals.text(),
                dollars(cost)
            )?,
        }
    }
    Ok(())
}

fn session(db: &Connection, id: &str, ui: &mut Ui) -> Result<()> {
    let (agent, began, totals) = db.query_row(
        &format!(
            "SELECT max(x.agent), min(nullif(h.ts, '')), {SUMS} FROM harness_events h LEFT JOIN harness_extra x USING(event_id) WHERE h.session_id = ?1"
        ),
        [id],
        |row| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?, Totals::of(row, 2)?)),
    )?;
    writeln!(
        ui.out,
        "session {} ({}) — {} — {}",
        shown(id),
        shown(&agent.unwrap_or_default()),
        local(&began.unwrap_or_default()),
        totals.cost_text()
    )?;
    let mut statement = db.prepare(
        "SELECT h.ts, json_extract(h.payload_json, '$.head') FROM harness_events h WHERE h.session_id = ?1 AND h.type = 'prompt' ORDER BY h.ts, h.rowid",
    )?;
    let prompts: Vec<(String, Option<String>)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    if prompts.is_empty() {
        writeln!(ui.out, "  1  {}", traced(&totals))?;
        return Ok(());
    }
    for (n, (from, head)) in prompts.iter().enumerate() {
        // What came before the first prompt belongs to it.
        let from = if n == 0 { "" } else { from };
        let to = prompts.get(n + 1).map_or("~", |(ts, _)| ts);
        let part = db.query_row(
            &format!("SELECT {SUMS} FROM harness_events h WHERE h.session_id = ?1 AND h.ts >= ?2 AND h.ts < ?3"),
            params![id, from, to],
            |row| Totals::of(row, 0),
        )?;
        let head = one_line(head.as_deref().unwrap_or(""), 50);
        writeln!(ui.out, "{:>3}  {head}  prompt  {}", n + 1, traced(&part))?;
    }
    Ok(())
}

/// Numbers where there is something to count, never zeros in their place.
fn traced(totals: &Totals) -> String {
    if totals.turns == 0 && totals.tools == 0 {
        return "—  no harness trace".to_owned();
    }
    totals.text()
}

fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(|| "? $".to_owned(), |cost| format!("~{cost:.4} $"))
}
