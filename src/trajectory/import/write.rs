//! Writes what was imported of a session beside its live log, whole each time.

use crate::error::{Context, Result};
use crate::events::session;
use crate::git::Repo;
use crate::state::file::Replacement;
use crate::trajectory::import::Story;

use std::io::{BufWriter, Write};

/// Replaces the imported log of the story's session; gives the number of events.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(repo: &Repo, story: Story, limit: usize) -> Result<usize> {
    session::require_private(repo)?;
    let path = story.session.import(&session::folder(repo));
    let mut replacement = Replacement::of(&path, repo.sharing())?;
    let count = story.events.len();
    let mut seq = 0;
    {
        let mut out = BufWriter::new(replacement.file());
        for event in story.events {
            let line = event.line(limit).at(seq);
            out.write_all(line.as_bytes())
                .with_context(|| format!("cannot write '{}'", path.display()))?;
            seq += line.len() as u64;
        }
        out.flush()
            .with_context(|| format!("cannot write '{}'", path.display()))?;
    }
    replacement.publish(&path, false)?;
    Ok(count)
}
