//! What a command wrote outside of where it may is put back.

use gix::bstr::{BStr, BString};

use crate::checkpoint::others::Others;
use crate::checkpoint::restore::{Outcome, Wish, restore};
use crate::checkpoint::undo::finish;
use crate::error::Result;
use crate::git::Repo;
use crate::git::pathspec::Scope;
use crate::lane::Checkpoint;
use crate::ui::Ui;

/// What became of changes outside the fence.
#[derive(Default)]
pub(super) struct Fenced {
    /// By the command, and as they were again.
    pub(super) put_back: Vec<BString>,
    /// Doubtful, or not to be put back: as they are.
    pub(super) left: Vec<BString>,
}

/// Restores `before` for the paths that `allowed` does not have.
pub(super) fn put_back(
    repo: &Repo,
    before: &Checkpoint,
    allowed: &mut Scope<'_>,
    ui: &mut Ui,
) -> Result<Fenced> {
    let outside = |path: &BStr| !allowed.includes(path);
    let outcome = restore(
        repo,
        Wish {
            others: Others::Keep,
            ..Wish::to(before.clone(), Scope::Where(Box::new(outside)))
        },
        ui,
    )?;
    let Outcome::Restored(restored) = outcome else {
        return Ok(Fenced::default());
    };
    finish(repo)?;
    let mut fenced = Fenced {
        put_back: [restored.written, restored.deleted].concat(),
        left: restored.kept,
    };
    let against = restored.left_alone.into_iter().filter(|left| left.against);
    fenced.left.extend(against.map(|left| left.path));
    fenced.put_back.sort();
    fenced.left.sort();
    Ok(fenced)
}
