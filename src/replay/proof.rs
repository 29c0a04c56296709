//! The proof of a new journal: read as any journal and rebuilt once, before
//! it is written.

use crate::error::{Result, report};
use crate::git::Repo;
use crate::replay::journal::{Journal, Limits};
use crate::replay::rebuild::{Wish, replay};
use crate::replay::room::Place;

/// What cannot be rebuilt from the journal `text`, in sentences; empty when
/// every tree and every id is as recorded.
///
/// # Errors
/// When the repository cannot be read.
pub(super) fn of(repo: &Repo, text: &str, shows_progress: bool) -> Result<Vec<String>> {
    let limits = Limits {
        bytes: u64::MAX,
        entries: usize::MAX,
    };
    let journal = Journal::read("new".into(), text.as_bytes().to_vec(), limits)?;
    let wish = Wish {
        warn: true,
        shows_progress,
        ..Wish::default()
    };
    Ok(match replay(repo, &journal, &wish, Place::Outside) {
        Err(error) => {
            let why = report(&error);
            let why = why.strip_prefix("fatal: ").unwrap_or(&why);
            vec![format!("cannot be rebuilt: {why}")]
        }
        Ok((verdict, _)) => verdict
            .divergences
            .iter()
            .map(|divergence| format!("cannot be rebuilt: {}", divergence.line()))
            .collect(),
    })
}
