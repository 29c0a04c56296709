//! `git trajectory log`: one event of a harness of one's own.

use std::io::Read;

use clap::Args;
use serde_json::{Map, Value};

use crate::cli::Exit;
use crate::error::{Context, Hint, Result, bail};
use crate::events::{Event, Log, Reader, Session, line, read, session, time};
use crate::git::Repo;
use crate::state::lock::PATIENCE;
use crate::trajectory::record;
use crate::trajectory::summary;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// What kind of thing happened: prompt, assistant, tool_end, note, …
    #[arg(value_name = "type")]
    kind: String,
    /// The tool, the model, the reason
    name: Option<String>,
    /// The session; without it HARNESS_SESSION, or the agent's own variable
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// The payload, a JSON object; `-` reads it from standard input
    #[arg(long, value_name = "json", allow_hyphen_values = true)]
    payload: Option<String>,
}

/// The variables that name a session, and whose it is.
const VARIABLES: &[(&str, Option<&str>)] = &[
    ("HARNESS_SESSION", None),
    ("CLAUDE_CODE_SESSION_ID", Some("claude")),
    ("GEMINI_SESSION_ID", Some("gemini")),
];

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    session::require_private(repo)?;
    let Some(session) = session_of(repo, arguments.session) else {
        ui.say("error: no session is named");
        ui.say("hint: give --session, or set HARNESS_SESSION");
        return Ok(Exit::Code(129));
    };
    let payload = payload(arguments.payload)?;
    let mut log = Log::open(
        &session.log(&session::folder(repo)),
        repo.sharing(),
        PATIENCE,
    )?;
    let mut event = Event::now(
        &session.id,
        read::usual_kind(&arguments.kind),
        arguments.name.as_deref().unwrap_or(""),
    );
    let began = if log.is_empty() {
        Some(event.ts)
    } else {
        began(&log)
    };
    event.t_ms = began.map(|began| (event.ts - began).max(0));
    event.tool_call_id = word(&payload, "tool_call_id");
    event.call_key = word(&payload, "call_key");
    event.turn = payload
        .get("turn")
        .and_then(Value::as_u64)
        .and_then(|n| u32::try_from(n).ok());
    event.payload = payload;
    let run = record::run();
    if !run.is_null() {
        event.payload.entry("run").or_insert(run);
    }
    event.agent = Some(session.agent);
    event.git = summary::standing(repo);
    let limit = usize::try_from(repo.config_size("trajectory.maxField", line::MAX_FIELD as u64)?)
        .unwrap_or(line::MAX_FIELD);
    let is_end = event.kind == "session_shutdown";
    log.append(&event.line(limit))?;
    if is_end {
        log.sync()?;
    }
    Ok(Exit::Done)
}

fn session_of(repo: &Repo, named: Option<String>) -> Option<Session> {
    let known = |id: String, agent: Option<&str>| match agent {
        Some(agent) => Session::new(agent, id),
        // A log of that session may be there under its agent's name.
        None => match summary::find(repo, &id) {
            Ok(found) => found,
            Err(_) => Session::new("harness", id),
        },
    };
    if let Some(id) = named {
        return Some(known(id, None));
    }
    for (variable, agent) in VARIABLES {
        if let Some(id) = std::env::var(variable).ok().filter(|id| !id.is_empty()) {
            return Some(known(id, *agent));
        }
    }
    None
}

fn payload(given: Option<String>) -> Result<Map<String, Value>> {
    let text = match given.as_deref() {
        None => return Ok(Map::new()),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("cannot read the payload")?;
            text
        }
        Some(text) => text.to_owned(),
    };
    match serde_json::from_str(&text)
        .context("cannot read the payload")
        .hint("a JSON object is expected")?
    {
        Value::Object(fields) => Ok(fields),
        _ => bail!("the payload is no JSON object"),
    }
}

/// When the session began: the time of the log's first line.
fn began(log: &Log) -> Option<i64> {
    let first = Reader::open(log.path(), 0).ok()?.next_event().ok()??;
    time::parse(&first.ts)
}

fn word(payload: &Map<String, Value>, name: &str) -> Option<String> {
    payload.get(name).and_then(Value::as_str).map(str::to_owned)
}
