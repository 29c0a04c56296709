//! opencode: one SQLite database of all sessions. A fork copies messages under
//! new ids; what stays is when they were made and what they used.

use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::error::{Context, Result};
use crate::events::id;
use crate::trajectory::import::call::Billed;
use crate::trajectory::import::rows::{ms, plain, text};
use crate::trajectory::import::story::{Ended, Story};

/// Reads the sessions in the databases `files`.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Story>> {
    let mut stories = Vec::new();
    for file in files {
        let shown = file.display();
        let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .with_context(|| format!("cannot open '{shown}'"))?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        stories.extend(sessions(&db).with_context(|| format!("cannot read '{shown}'"))?);
    }
    Ok(stories)
}

fn sessions(db: &Connection) -> Result<Vec<Story>> {
    let mut statement = db.prepare(
        "SELECT id, parent_id, directory, time_created, title FROM session ORDER BY time_created, id",
    )?;
    let mut rows = statement.query([])?;
    let mut stories = Vec::new();
    while let Some(row) = rows.next()? {
        let session: String = row.get(0)?;
        let mut story = Story::new("opencode", &session);
        story.parent = row
            .get::<_, Option<String>>(1)?
            .map(|parent| serde_json::json!({"session": parent, "call": null}));
        story.cwd = row.get::<_, Option<String>>(2)?.map(PathBuf::from);
        story.at(row.get(3)?);
        let title = row.get::<_, Option<String>>(4)?.unwrap_or_default();
        if has_title(story.parent.is_some(), &title) {
            let began = story.began.unwrap_or(0);
            story.unrecorded(began, "title", "title");
        }
        messages(db, &session, &mut story)?;
        stories.push(story.complete());
    }
    Ok(stories)
}

/// Whether a model was asked for a title, which is recorded nowhere: not for the
/// session of a subagent, nor for a fork, which takes its parent's.
fn has_title(is_child: bool, title: &str) -> bool {
    !is_child && !title.contains(" (fork #")
}

fn messages(db: &Connection, session: &str, story: &mut Story) -> Result<()> {
    let mut statement = db.prepare_cached("SELECT id, data, time_created FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
        let Ok(info) = serde_json::from_str::<Value>(&data) else {
            story.broken += 1;
            continue;
        };
        let made = ms(&info["time"], "created").unwrap_or(row.get(2)?);
        let parts = parts(db, &id, story)?;
        let is_copy = story.began.is_some_and(|began| made < began);
        match text(&info, "role") {
            Some("user") if !is_copy => user(story, made, &id, &parts),
            Some("assistant") => {
                let chars: usize = parts
                    .iter()
                    .filter(|p| text(p, "type") == Some("text"))
                    .map(|p| plain(&p["text"]).chars().count())
                    .sum();
                let uses = parts
                    .iter()
                    .filter(|p| text(p, "type") == Some("tool"))
                    .count();
                if let Some(call) = billed(&info) {
                    let call = Billed {
                        tool_calls: Some(uses as u64),
                        chars: Some(chars as u64),
                        ..call
                    };
                    story.billed(made, call, None);
                }
                if !is_copy {
                    parts.iter().for_each(|part| tool(story, made, part));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn parts(db: &Connection, message: &str, story: &mut Story) -> Result<Vec<Value>> {
    let mut statement =
        db.prepare_cached("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")?;
    let mut rows = statement.query([message])?;
    let mut parts = Vec::new();
    while let Some(row) = rows.next()? {
        match serde_json::from_str(&row.get::<_, String>(0)?) {
            Ok(part) => parts.push(part),
            Err(_) => story.broken += 1,
        }
    }
    Ok(parts)
}

fn user(story: &mut Story, ts: i64, id: &str, parts: &[Value]) {
    if parts.iter().any(|p| text(p, "type") == Some("compaction")) {
        story.compaction(ts, id, "auto", None, None);
        return;
    }
    let said: Vec<&str> = parts
        .iter()
        .filter(|p| {
            text(p, "type") == Some("text") && p.get("synthetic") != Some(&Value::Bool(true))
        })
        .filter_map(|p| text(p, "text"))
        .collect();
    if !said.is_empty() {
        story.prompt(ts, id, unquoted(&said.join("\n")), None);
    }
}

/// `opencode run "two words"` stores the quotes too.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .unwrap_or(text)
}

/// The call that an assistant message was paid for with.
pub(crate) fn billed(info: &Value) -> Option<Billed> {
    let tokens = &info["tokens"];
    let number = |name: &str| tokens.get(name).and_then(Value::as_u64);
    let model = format!(
        "{}/{}",
        text(info, "providerID").unwrap_or_default(),
        text(info, "modelID").unwrap_or_default()
    );
    let made = ms(&info["time"], "created")?;
    let call = Billed {
        key: id::hash(&["opencode", &made.to_string(), &model, &canonical(tokens)])[..24]
            .to_owned(),
        model,
        input: number("input"),
        cache_read: tokens["cache"]["read"].as_u64(),
        cache_write_5m: tokens["cache"]["write"].as_u64(),
        // Their output does not contain the reasoning.
        output: number("output").map(|out| out + number("reasoning").unwrap_or(0)),
        reasoning: number("reasoning"),
        cost_usd: info.get("cost").and_then(Value::as_f64),
        stop_reason: text(info, "finish").map(str::to_owned),
        purpose: (text(info, "mode") == Some("compaction")).then_some("compaction"),
        ..Billed::default()
    };
    call.total().is_some_and(|total| total > 0).then_some(call)
}

/// The numbers of a usage in one order.
fn canonical(tokens: &Value) -> String {
    let number = |value: &Value| value.as_u64().unwrap_or(0).to_string();
    [
        &tokens["input"],
        &tokens["output"],
        &tokens["reasoning"],
        &tokens["cache"]["read"],
        &tokens["cache"]["write"],
    ]
    .map(number)
    .join(" ")
}

fn tool(story: &mut Story, made: i64, part: &Value) {
    let (Some("tool"), Some(call), Some(name)) =
        (text(part, "type"), text(part, "callID"), text(part, "tool"))
    else {
        return;
    };
    let state = &part["state"];
    let began = ms(&state["time"], "start").unwrap_or(made);
    story.tool_start(began, call, name, &state["input"], None);
    let (outcome, result) = match text(state, "status") {
        Some("completed") => {
            let failed = state["metadata"]["exit"]
                .as_i64()
                .is_some_and(|code| code != 0)
                || name == "invalid";
            (if failed { "error" } else { "ok" }, plain(&state["output"]))
        }
        Some("error") => {
            let why = plain(&state["error"]);
            (refusal(&why), why)
        }
        _ => return,
    };
    let ended = ms(&state["time"], "end").unwrap_or(began);
    // Their times contain the hooks and the wait for permission.
    story.tool_end(
        ended,
        call,
        name,
        Ended {
            outcome,
            result,
            duration_ms: None,
        },
        None,
    );
}

/// What an error of a tool means.
pub(crate) fn refusal(why: &str) -> &'static str {
    // The beginnings of its own messages: a tool's error may quote any words.
    if why.starts_with("The user has specified a rule which prevents ")
        || why.starts_with("The user rejected permission to use ")
    {
        "denied"
    } else if why.contains("aborted") {
        "cancelled"
    } else {
        "error"
    }
}
