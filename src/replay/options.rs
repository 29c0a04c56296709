//! What several subcommands share: opening a journal with the configured bound.

use std::path::Path;

use crate::error::Result;
use crate::git::Repo;
use crate::replay::journal::{Journal, Limits};
use crate::ui::Ui;

/// The bounds of a journal: those of Outpost, or `journal.maxSize`.
///
/// # Errors
/// When the configuration is no size.
pub(super) fn limits(repo: Option<&Repo>) -> Result<Limits> {
    let mut limits = Limits::default();
    if let Some(repo) = repo {
        limits.bytes = repo.config_size("journal.maxSize", limits.bytes)?;
    }
    Ok(limits)
}

/// The journal at `path`; a torn end is said.
///
/// # Errors
/// When it cannot be read or is malformed.
pub(super) fn open(path: &Path, limits: Limits, ui: &mut Ui) -> Result<Journal> {
    let journal = Journal::open(path, limits)?;
    if let Some(line) = journal.torn() {
        ui.warn(format_args!(
            "'{}': line {line} is torn (its writer was killed) and left out",
            path.display()
        ));
    }
    Ok(journal)
}
