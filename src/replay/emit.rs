//! The recorded events once more, in order, without their envelope.

use std::io::Write;

use serde_json::Value;

use crate::error::{Context, Result};
use crate::events::line::MAX_FIELD;
use crate::events::session::{folder, require_private};
use crate::events::{Event, Log, Session};
use crate::git::Repo;
use crate::replay::journal::{Journal, write};
use crate::replay::session;
use crate::state::lock::PATIENCE;
use crate::ui::Ui;

/// Names of what was spent, which must not be counted again.
const SPENDING: &[&str] = &["tokens", "usage", "cost", "costUsd", "cost_usd"];

/// Writes the events of the first `turns` turns as JSON lines.
pub(super) fn to_output(journal: &Journal, turns: usize, ui: &mut Ui) -> Result<()> {
    for event in events(journal, turns) {
        writeln!(ui.out, "{}", event?).context("cannot write to standard output")?;
    }
    Ok(())
}

/// Appends them to the trajectory of the session `id` as notes, without what
/// they had cost.
pub(super) fn to_session(repo: &Repo, journal: &Journal, turns: usize, id: &str) -> Result<()> {
    require_private(repo)?;
    // A new session is one of ours.
    let path = match session::stem(repo, id) {
        Ok(stem) => folder(repo).join(format!("{stem}.jsonl")),
        Err(_) => Session::new("replay", id).log(&folder(repo)),
    };
    let limit = repo.config_size("trajectory.maxField", MAX_FIELD as u64)?;
    let limit = usize::try_from(limit).unwrap_or(MAX_FIELD);
    let mut log = Log::open(&path, repo.sharing(), PATIENCE)?;
    for event in events(journal, turns) {
        let mut replayed: Value = serde_json::from_str(&event?)?;
        if let Value::Object(fields) = &mut replayed {
            fields.retain(|name, _| !SPENDING.contains(&name.as_str()));
        }
        let note = Event::now(id, "note", "replayed").with("replayed", replayed);
        log.append(&note.line(limit))?;
    }
    log.sync()
}

fn events(journal: &Journal, turns: usize) -> impl Iterator<Item = Result<String>> {
    let indices = journal
        .turns
        .iter()
        .take(turns)
        .flat_map(|turn| &turn.events);
    indices.map(|index| {
        let entry = journal.container.entry(*index).unwrap_or_default();
        write::event(entry).with_context(|| journal.container.place(*index))
    })
}
