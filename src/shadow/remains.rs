//! What is left of a shadow whose folder somebody deleted by hand: git's entry, the
//! branch, the port.

use std::fs;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::entry::Entry;
use crate::shadow::task::{Task, shown};
use crate::shadow::{checkout, exclude, merged, ports, removal, unmake};
use crate::ui::Ui;

/// Clears it. The entry, which has the index and the log of HEAD, is kept in the
/// repository's own trash; the branch goes when it is merged.
///
/// # Errors
/// When something cannot be moved.
pub(super) fn clear(repo: &Repo, task: &Task, ui: &mut Ui) -> Result<()> {
    let _lock = Task::lock(repo)?;
    if let Some(entry) = task.admin(repo).and_then(|admin| Entry::read(&admin)) {
        let is_own = entry.path.as_deref() == Some(&task.path);
        if is_own && entry.locked.is_none() {
            let moment = jiff::Timestamp::now()
                .strftime("%Y%m%dT%H%M%SZ")
                .to_string();
            let trash = repo.shared_state().join("trash");
            let to = trash.join(format!("{}-{moment}-entry", task.slug));
            crate::state::file::make_folder(&trash, repo.sharing())?;
            crate::state::crash::point();
            removal::move_folder(&entry.admin, &to)
                .with_context(|| format!("cannot clear what is left of '{}'", task.task))?;
            let _ = fs::remove_dir(repo.common_dir().join("worktrees"));
            ui.note(format_args!("git's entry is kept in '{}'", shown(&to)));
        }
    }
    if task.made_branch
        && let Some(branch) = &task.branch
        && let Some(tip) = repo.find_ref(branch.as_str().into())?
        && merged::way(repo, task, tip)?.is_some()
        && !checkout::is_in_use(repo, branch)?
    {
        unmake::delete_branch(repo, branch, tip)?;
    }
    exclude::sync(repo, Some(&task.slug))?;
    ports::release(repo, &task.slug)?;
    task.forget(repo)?;
    ui.note(format_args!("cleared what was left of {}", task.task));
    Ok(())
}
