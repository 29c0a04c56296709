//! What is left of a shadow whose folder somebody deleted by hand: git's entry, the
//! branch, the port.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::lane::durability::writing;
use crate::shadow::entry::Entry;
use crate::shadow::guards::Survey;
use crate::shadow::record;
use crate::shadow::task::Task;
use crate::shadow::trash::{self, Place, Waiting};
use crate::shadow::{absence, checkout, exclude, merged, ports, removal, unmake};
use crate::snapshot::take::{self, take};
use crate::snapshot::tree::Builder;
use crate::ui::Ui;

/// Clears it. What the entry knows (commits, the index, the log of HEAD) goes to the
/// trash, from which a restore brings it back; the branch goes when it is merged.
///
/// # Errors
/// When its disk may be absent, or something cannot be moved.
pub(super) fn clear(repo: &Repo, task: &Task, ui: &mut Ui) -> Result<()> {
    let _lock = Task::lock(repo)?;
    absence::require_present(repo, task)?;
    if let Some(entry) = task.admin(repo).and_then(|admin| Entry::read(&admin)) {
        let is_own = entry.path.as_deref() == Some(&task.path);
        if is_own && entry.locked.is_none() {
            keep(repo, task, &entry)
                .with_context(|| format!("cannot clear what is left of '{}'", task.task))?;
            let _ = fs::remove_dir(repo.common_dir().join("worktrees"));
            if trash::is_kept(repo)? {
                ui.note(format_args!(
                    "what git knew of it is kept: 'git shadow restore {}'",
                    task.task
                ));
            }
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

/// Puts into the trash what git's entry of a shadow without a folder knows: a commit
/// whose files are those that were staged, with HEAD, index and log as any other
/// removal keeps them; and the entry itself.
///
/// # Errors
/// When something cannot be read or written; then the entry is where it was.
pub(super) fn keep(repo: &Repo, task: &Task, entry: &Entry) -> Result<()> {
    absence::require_unmoved(repo, task)?;
    let (place, time) = Place::in_repository(repo, task)?;
    let clock = place.begin()?;
    let found = staged(repo, task, entry, &place, &time).inspect_err(|_| place.abandon())?;
    place.store(&Waiting {
        v: 1,
        repository: repo.common_dir().to_owned(),
        task: task.task.clone(),
        name: found.name,
        tree: found.tree.to_string(),
        clock,
        disposable: Vec::new(),
        stays: Vec::new(),
        keep_entry: true,
        expires: trash::expiry(repo)?,
    })?;
    crate::state::crash::point();
    removal::move_folder(&entry.admin, &place.entry())
}

/// The entry is looked at from a folder without files that stands in for the lost one.
fn staged(
    repo: &Repo,
    task: &Task,
    entry: &Entry,
    place: &Place,
    time: &str,
) -> Result<record::Found> {
    let beside = tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in(repo.shared_state().join("trash"))?;
    let pointer = [b"gitdir: ", entry.admin.as_os_str().as_bytes(), b"\n"].concat();
    let file = beside.path().join(".git");
    crate::state::file::replace(&file, &pointer, Default::default(), false)?;
    let shadow = Repo::at(beside.path())?;
    let request = take::Request {
        writing: writing(repo)?,
        ..take::Request::default()
    };
    let mut snapshot = take(&shadow, &request)?;
    snapshot.changes.clear();
    snapshot.skipped.clear();
    snapshot.raw.clear();
    snapshot.tree = Builder {
        index: snapshot.index.state(),
        stage: 0,
        sink: &snapshot.sink,
        repo: shadow.gix(),
    }
    .build(&[])?;
    let survey = Survey {
        findings: Vec::new(),
        empty: Vec::new(),
        notes: Vec::new(),
        head: snapshot.head.clone(),
        snapshot,
        disposable: Vec::new(),
        copies: Vec::new(),
        nested: Vec::new(),
        operation: shadow.operation(),
    };
    record::put(repo, &shadow, task, survey, time, &place.folder)
}
