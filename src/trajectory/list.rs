//! `git trajectory list`.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::events::{Session, session};
use crate::git::Repo;
use crate::trajectory::fresh::Freshness;
use crate::trajectory::record::State;
use crate::trajectory::summary::{self, Known, local, shown};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// Print an array of JSON objects
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    freshness: Freshness,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let db = arguments.freshness.mirror(repo, ui)?;
    let sessions = summary::all(&db)?;
    let open = |known: &Known| -> usize {
        let folder = session::folder(repo);
        let session = match &known.agent {
            Some(agent) => Session::new(agent, &known.session_id),
            None => return 0,
        };
        let log = session.log(&folder);
        if log.exists() {
            State::load(&session.state(&folder), &log).open.len()
        } else {
            0
        }
    };
    if arguments.json {
        let all: Vec<Value> = sessions
            .iter()
            .map(|known| json(known, open(known)))
            .collect();
        ui.json(&all)?;
        return Ok(Exit::Done);
    }
    for session in &sessions {
        writeln!(
            ui.out,
            "{}  {:8}  {}  {}{}",
            local(&session.began),
            shown(session.agent.as_deref().unwrap_or("?")),
            shown(&session.session_id),
            session.totals.text(),
            match open(session) {
                0 => String::new(),
                calls => format!(", {calls} open"),
            }
        )?;
    }
    summary::warn_unprotected(&db, None, ui)?;
    Ok(Exit::Done)
}

fn json(session: &Known, open: usize) -> Value {
    let mut object = json!({
        "session_id": session.session_id, "agent": session.agent, "began": session.began, "last": session.last, "open": open,
    });
    if let (Value::Object(fields), Value::Object(totals)) = (&mut object, session.totals.json()) {
        fields.extend(totals);
    }
    object
}
