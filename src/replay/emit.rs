//! The recorded events once more, in order, without their envelope.

use std::io::Write;

use crate::error::{Context, Result};
use crate::replay::journal::{Journal, write};
use crate::ui::Ui;

/// Writes the events of the first `turns` turns as JSON lines.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn events(journal: &Journal, turns: usize, ui: &mut Ui) -> Result<()> {
    for index in journal
        .turns
        .iter()
        .take(turns)
        .flat_map(|turn| &turn.events)
    {
        let entry = journal.container.entry(*index).unwrap_or_default();
        let event = write::event(entry).with_context(|| journal.container.place(*index))?;
        writeln!(ui.out, "{event}").context("cannot write to standard output")?;
    }
    Ok(())
}
