//! The recorded events once more, in order, without their envelope.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

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

/// The trajectory that takes them.
pub(super) struct Trajectory<'a> {
    path: PathBuf,
    id: &'a str,
    /// Bytes of a field.
    limit: usize,
}

impl<'a> Trajectory<'a> {
    /// The trajectory of the session `id`, which may be a new one. Nothing is
    /// written yet.
    ///
    /// # Errors
    /// When it is not clear which one is meant, or it could not be written.
    pub(super) fn of(repo: &Repo, id: &'a str) -> Result<Self> {
        require_private(repo)?;
        let folder = folder(repo);
        // A new session is one of ours.
        let path = match session::find(repo, id)? {
            Some(stem) => folder.join(format!("{stem}.jsonl")),
            None => Session::new("replay", id).log(&folder),
        };
        let cannot = || format!("cannot write the trajectory '{}'", path.display());
        if path.exists() {
            File::options()
                .append(true)
                .open(&path)
                .with_context(cannot)?;
        } else if let Some(there) = path.ancestors().skip(1).find(|place| place.exists()) {
            tempfile::tempfile_in(there).with_context(cannot)?;
        }
        let limit = repo.config_size("trajectory.maxField", MAX_FIELD as u64)?;
        let limit = usize::try_from(limit).unwrap_or(MAX_FIELD);
        Ok(Trajectory { path, id, limit })
    }

    /// Appends the events of the first `turns` turns as notes, without what they
    /// had cost.
    ///
    /// # Errors
    /// When an event cannot be read, or the trajectory not be written.
    pub(super) fn take(&self, repo: &Repo, journal: &Journal, turns: usize) -> Result<()> {
        let mut notes = Vec::new();
        for event in events(journal, turns) {
            let mut replayed: Value = serde_json::from_str(&event?)?;
            if let Value::Object(fields) = &mut replayed {
                fields.retain(|name, _| !SPENDING.contains(&name.as_str()));
            }
            notes.push(Event::now(self.id, "note", "replayed").with("replayed", replayed));
        }
        if notes.is_empty() {
            return Ok(());
        }
        let mut log = Log::open(&self.path, repo.sharing(), PATIENCE)?;
        for note in notes {
            log.append(&note.line(self.limit))?;
        }
        log.sync()
    }
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
