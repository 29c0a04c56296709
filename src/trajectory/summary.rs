//! Sessions by their numbers: how many turns and tools, what it cost. Unknown
//! stays unknown.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use crate::error::{Context, Result, hinted};
use crate::events::line::Standing;
use crate::events::session::{self, Session};
use crate::git::Repo;
use crate::ui::Ui;

/// The counters of a session, or of a part of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) prompts: i64,
    pub(super) turns: i64,
    pub(super) tools: i64,
    pub(super) tokens: Option<i64>,
    pub(super) cost_usd: Option<f64>,
    /// Model calls whose price nobody named.
    pub(super) unpriced: i64,
    /// Model calls that are known to be billed, and that no usage is known of.
    pub(super) unrecorded: i64,
}

/// What is summed, over rows `h` of the mirror. A session that has expired has only
/// its sums left.
pub(super) const SUMS: &str = "
  count(CASE WHEN h.type = 'prompt' THEN 1 END),
  count(CASE WHEN h.type = 'assistant' THEN 1 END) + coalesce(sum(CASE WHEN h.type = 'summary' AND h.name = 'pruned' THEN json_extract(h.payload_json, '$.turns') END), 0),
  count(CASE WHEN h.type = 'tool_end' THEN 1 END) + coalesce(sum(CASE WHEN h.type = 'summary' AND h.name = 'pruned' THEN json_extract(h.payload_json, '$.tools') END), 0),
  sum(CASE WHEN h.type = 'assistant' THEN json_extract(h.payload_json, '$.total_tokens')
           WHEN h.type = 'summary' AND h.name = 'pruned' THEN json_extract(h.payload_json, '$.tokens') END),
  sum(CASE WHEN h.type = 'assistant' OR (h.type = 'summary' AND h.name = 'pruned') THEN json_extract(h.payload_json, '$.cost_usd') END),
  count(CASE WHEN h.type = 'assistant' AND json_extract(h.payload_json, '$.cost_usd') IS NULL THEN 1 END),
  count(CASE WHEN h.type = 'note' AND h.name = 'unrecorded' THEN 1 END)
    + coalesce(sum(CASE WHEN h.type = 'summary' AND h.name = 'pruned' THEN json_extract(h.payload_json, '$.unrecorded') END), 0)";

impl Totals {
    /// Reads the sums that begin at column `at`.
    pub(super) fn of(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Self> {
        Ok(Totals {
            prompts: row.get(at)?,
            turns: row.get(at + 1)?,
            tools: row.get(at + 2)?,
            tokens: row.get(at + 3)?,
            cost_usd: row.get(at + 4)?,
            unpriced: row.get(at + 5)?,
            unrecorded: row.get(at + 6)?,
        })
    }

    /// `5 turns, 4 tools, 16640 tokens, ~0.02 $`, with `?` for what is unknown.
    pub(super) fn text(&self) -> String {
        format!(
            "{} turns, {} tools, {} tokens, {}",
            self.turns_text(),
            self.tools,
            self.tokens_text(),
            self.cost_text()
        )
    }

    /// Every session has an answer: none is one that nobody told of.
    pub(super) fn turns_text(&self) -> String {
        match self.turns {
            0 => "?".to_owned(),
            turns => turns.to_string(),
        }
    }

    /// `16640`; `≥ 16640` when something billed is recorded nowhere; `?`.
    pub(super) fn tokens_text(&self) -> String {
        match self.tokens {
            Some(tokens) if self.unrecorded > 0 => format!("≥ {tokens}"),
            Some(tokens) => tokens.to_string(),
            None => "?".to_owned(),
        }
    }

    /// `~0.02 $`; `≥ 0.02 $` when a part has no price or no record; `? $` when nothing has.
    pub(super) fn cost_text(&self) -> String {
        match self.cost_usd {
            Some(cost) if self.unpriced > 0 || self.unrecorded > 0 => format!("≥ {cost:.4} $"),
            Some(cost) => format!("~{cost:.4} $"),
            None => "? $".to_owned(),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "prompts": self.prompts, "turns": (self.turns > 0).then_some(self.turns), "tools": self.tools, "tokens": self.tokens,
            "cost_usd": self.cost_usd, "unpriced_calls": self.unpriced,
            "at_least": self.unrecorded > 0,
        })
    }
}

/// A session as the mirror has it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) session_id: String,
    pub(super) agent: Option<String>,
    pub(super) began: String,
    pub(super) last: String,
    pub(super) totals: Totals,
}

/// All sessions, the newest last.
pub(super) fn all(db: &Connection) -> Result<Vec<Known>> {
    let query = format!(
        "SELECT h.session_id, x.agent, min(nullif(h.ts, '')), max(h.ts), {SUMS}
         FROM harness_events h LEFT JOIN harness_extra x USING(event_id) GROUP BY h.session_id, x.agent ORDER BY 3, 1, 2"
    );
    let mut statement = db.prepare(&query)?;
    let rows = statement.query_map([], |row| {
        Ok(Known {
            session_id: row.get(0)?,
            agent: row.get(1)?,
            began: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
            last: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            totals: Totals::of(row, 4)?,
        })
    })?;
    rows.collect::<rusqlite::Result<_>>()
        .context("cannot read the mirror")
}

/// The id of the session that `name` means: an id, the beginning of one, or a
/// log's name; without a name the newest.
pub(super) fn resolve(db: &Connection, name: Option<&str>) -> Result<Option<String>> {
    let Some(name) = name else {
        return Ok(all(db)?
            .into_iter()
            .next_back()
            .map(|known| known.session_id));
    };
    let exact: Option<String> = db
        .query_row(
            "SELECT session_id FROM harness_events WHERE session_id = ?1 LIMIT 1",
            [name],
            |row| row.get(0),
        )
        .optional()?;
    if exact.is_some() {
        return Ok(exact);
    }
    let mut statement = db.prepare(
        "SELECT DISTINCT h.session_id FROM harness_events h LEFT JOIN harness_extra x USING(event_id)
         WHERE substr(h.session_id, 1, length(?1)) = ?1 OR x.agent || '-' || h.session_id = ?1",
    )?;
    let found: Vec<String> = statement
        .query_map(params![name], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    match found.as_slice() {
        [one] => Ok(Some(one.clone())),
        [] => Err(hinted(
            format!("there is no session '{name}'"),
            "'git trajectory list' shows them",
        )),
        several => Err(hinted(
            format!("'{name}' means {} sessions", several.len()),
            "give more of its id",
        )),
    }
}

/// The session that `id` names among the logs on disk.
///
/// # Errors
/// When no log is of that session.
pub(super) fn find(repo: &Repo, id: &str) -> Result<Session> {
    session::find(repo, id).with_context(|| format!("there is no log of a session '{id}'"))
}

/// The stem of the log of session `id`.
///
/// # Errors
/// When there is none.
pub(super) fn stem(repo: &Repo, id: &str) -> Result<String> {
    find(repo, id).map(|session| session.stem())
}

/// Where the repository stands; nothing where that cannot be read.
pub(super) fn standing(repo: &Repo) -> Option<Standing> {
    let head = repo.head().ok()?;
    let short = |name: gix::bstr::BString| {
        let name = name.to_string();
        name.strip_prefix("refs/heads/")
            .map(str::to_owned)
            .unwrap_or(name)
    };
    Some(Standing {
        head: head.commit.map(|id| id.to_string()),
        branch: head.branch.map(short),
        worktree: repo
            .worktree()
            .map(|root| root.to_string_lossy().into_owned()),
    })
}

/// The local time of an instant, short.
pub(super) fn local(ts: &str) -> String {
    match ts.parse::<jiff::Timestamp>() {
        Ok(instant) => instant
            .to_zoned_datetime(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        Err(_) => "-".to_owned(),
    }
}

/// A name for people: what would steer a terminal is shown as an escape.
pub(super) fn shown(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() || is_invisible(character) {
            text.extend(character.escape_unicode());
        } else {
            text.push(character);
        }
    }
    text
}

/// Marks that turn or hide what stands behind them (Unicode, bidirectional formatting).
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Text on one line, at most `count` characters.
pub(super) fn one_line(text: &str, count: usize) -> String {
    let flat: String = text
        .chars()
        .map(|c| {
            if c.is_control() || is_invisible(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    let flat = flat.trim();
    if flat.chars().count() <= count {
        return flat.to_owned();
    }
    let head: String = flat.chars().take(count.saturating_sub(1)).collect();
    format!("{head}…")
}

/// Says how many writes were let through without a checkpoint.
pub(super) fn warn_unprotected(
    db: &Connection,
    session_id: Option<&str>,
    ui: &mut Ui,
) -> Result<()> {
    let count: i64 = db.query_row(
        "SELECT count(*) FROM harness_events WHERE type = 'checkpoint' AND json_extract(payload_json, '$.error') IS NOT NULL
         AND (?1 IS NULL OR session_id = ?1)",
        [session_id],
        |row| row.get(0),
    )?;
    match count {
        0 => {}
        1 => ui.warn("1 write without a checkpoint"),
        more => ui.warn(format_args!("{more} writes without a checkpoint")),
    }
    Ok(())
}
