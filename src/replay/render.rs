//! The patches of a journal as a person reads them: rebuilt where the base is
//! here, else as they were recorded.

use crate::error::{Result, report};
use crate::git::Repo;
use crate::replay::diffs;
use crate::replay::journal::{Commit, Journal};
use crate::replay::rebuild::{Wish, replay};
use crate::replay::room::Place;
use crate::ui::Ui;

/// One patch for each recorded commit, in order; what cannot be rendered is
/// said and given as it was recorded.
///
/// # Errors
/// When git cannot be asked.
pub(super) fn patches(repo: Option<&Repo>, journal: &Journal, ui: &mut Ui) -> Result<Vec<Vec<u8>>> {
    let commits: Vec<&Commit> = commits(journal).collect();
    let recorded = || {
        commits
            .iter()
            .map(|commit| commit.patch.clone().into_bytes())
            .collect()
    };
    let Some(repo) = repo else {
        ui.note("outside a repository the patches are shown as they were recorded");
        return Ok(recorded());
    };
    match rebuilt(repo, journal)? {
        Ok(patches) if patches.len() == commits.len() => Ok(patches),
        Ok(_) => Ok(recorded()),
        Err(why) => {
            ui.note(format_args!(
                "the patches are shown as they were recorded: {why}"
            ));
            Ok(recorded())
        }
    }
}

/// All recorded commits of `journal`, in order.
pub(super) fn commits(journal: &Journal) -> impl Iterator<Item = &Commit> {
    journal
        .turns
        .iter()
        .filter_map(|turn| turn.workspace.as_ref())
        .flat_map(|w| &w.commits)
}

/// Readable patches of all commits, or why they cannot be rebuilt here.
///
/// # Errors
/// When git cannot be asked.
pub(super) fn rebuilt(
    repo: &Repo,
    journal: &Journal,
) -> Result<std::result::Result<Vec<Vec<u8>>, String>> {
    let wish = Wish {
        warn: true,
        ..Wish::default()
    };
    let (verdict, mut store) = match replay(repo, journal, &wish, Place::Outside) {
        Ok(found) => found,
        Err(error) => return Ok(Err(report(&error).replace("fatal: ", ""))),
    };
    if let Some(divergence) = verdict.divergences.first().filter(|_| !verdict.is_exact()) {
        return Ok(Err(divergence.line()));
    }
    store.show_git()?;
    let pairs: Vec<_> = verdict
        .commits
        .iter()
        .map(|c| (c.parent_tree, c.tree))
        .collect();
    diffs::readable(store.room()?, &pairs).map(Ok)
}
