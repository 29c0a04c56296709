//! The one function that removes a shadow, with every guard inside it.

use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::lane::durability::writing;
use crate::shadow::describe::healthy_entry;
use crate::shadow::entry::{Entry, MAKING, is_same};
use crate::shadow::guards::{Finding, Survey, Weight, default_branch, nested, survey};
use crate::shadow::lease::Lease;
use crate::shadow::process::Process;
use crate::shadow::record::{self, Found};
use crate::shadow::task::{BranchFate, How, Leaving, Phase, Stored, Task};
use crate::shadow::trash::{self, Place, Waiting};
use crate::shadow::{absence, checkout, dress, environment, exclude, merged, place, ports, unmake};
use crate::snapshot::root::Root;
use crate::snapshot::sink::Writing;
use crate::state::{crash, file};
use crate::ui::{self, Ui, listed};

/// How a removal is meant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wish {
    /// What is kept of it until it is done.
    pub(super) leaving: Leaving,
    pub(super) force: bool,
    pub(super) yes: bool,
    pub(super) dry_run: bool,
}

/// How it went.
pub(super) enum Outcome {
    /// It stays; what stands against it.
    Stays(Vec<Finding>),
    /// A dry run: it would go.
    WouldGo(Vec<Finding>),
    Gone(Box<Gone>),
    /// It had never become ready; what there was of it is taken back.
    NeverWas,
    /// It was finished and is no longer known; the branch, if it was deleted, and why.
    Forgotten(Option<(String, String)>),
}

/// What was done.
pub(super) struct Gone {
    pub(super) trash: Found,
    pub(super) findings: Vec<Finding>,
    /// The branch, and why it was deleted; `None` when it was kept.
    pub(super) branch_deleted: Option<(String, String)>,
}

/// Removes the shadow `task`, or says why not.
///
/// # Errors
/// When it may never be removed, or the removal fails; then it is there, or a
/// second try finishes.
pub(super) fn remove(repo: &Repo, task: &Task, wish: Wish, ui: &mut Ui) -> Result<Outcome> {
    let deletes = wish.leaving.branch == BranchFate::Delete;
    absence::require_present(repo, task)?;
    if wish.dry_run {
        let found = survey(repo, task, Writing::Nothing, deletes)?;
        found.notes.iter().for_each(|note| ui.note(note));
        let refused = found.findings.iter().any(|f| f.weight == Weight::Refuse);
        return Ok(match refused {
            true => Outcome::Stays(found.findings),
            false => Outcome::WouldGo(found.findings),
        });
    }
    let mut agreed: Option<Vec<Finding>> = None;
    loop {
        let (place, time) = Place::new(repo, task)?;
        let clock = place.begin()?;
        let found = survey(repo, task, writing(repo)?, deletes).inspect_err(|_| place.abandon())?;
        let open: Vec<Finding> = found
            .findings
            .iter()
            .filter(|f| !wish.answers(f))
            .cloned()
            .collect();
        if open.is_empty() || agreed.as_ref() == Some(&open) {
            // A command that came in meanwhile is a finding of the next look.
            let Ok(_bar) = Lease::bar(repo, task)? else {
                place.abandon();
                continue;
            };
            found.notes.iter().for_each(|note| ui.note(note));
            return carry_out(repo, task, wish, found, &place, &time, clock)
                .map(|gone| Outcome::Gone(Box::new(gone)));
        }
        place.abandon();
        let refused = open.iter().any(|f| f.weight == Weight::Refuse);
        if refused || !ui::can_ask() {
            return Ok(Outcome::Stays(open));
        }
        ui.say(describe(&open));
        let question = match trash::is_kept(repo)? {
            true => format!("Remove '{}' (all of this can be restored)?", task.task),
            false => format!("Remove '{}' for good (shadow.trashExpire)?", task.task),
        };
        if !ui::confirm(&question)? {
            return Ok(Outcome::Stays(open));
        }
        agreed = Some(open);
    }
}

/// Whether a removal that was cut short has moved the folder to the trash already, or
/// somebody has taken it away: whatever stands in its place by now.
pub(super) fn is_moved(repo: &Repo, task: &Task) -> bool {
    if in_trash(task) || !task.path.exists() {
        return true;
    }
    healthy_entry(repo, task).is_err() && absence::of(repo, task).is_none()
}

fn in_trash(task: &Task) -> bool {
    let moved = |trash: &Stored| Place::at(&trash.0).tree().exists();
    task.trash.as_ref().is_some_and(moved)
}

/// Finishes a removal that was killed after its folder had gone.
///
/// # Errors
/// When its snapshot cannot be found, or a step fails again.
pub(super) fn resume(repo: &Repo, task: &Task) -> Result<Gone> {
    if !in_trash(task) {
        absence::require_present(repo, task)?;
    }
    let trash = Found::all(repo)?
        .into_iter()
        .rev()
        .find(|f| task.trash.as_ref().is_some_and(|t| t.0 == f.removed.folder))
        .with_context(|| format!("the snapshot of the shadow '{}' is gone", task.task))?;
    let branch = trash.removed.branch.clone();
    let leaving = task.leaving.unwrap_or_default();
    let branch_deleted = finish(repo, task, branch, trash.head(), leaving)?;
    Ok(Gone {
        trash,
        findings: Vec::new(),
        branch_deleted,
    })
}

impl Wish {
    /// Whether the options answer `finding` without a question.
    fn answers(self, finding: &Finding) -> bool {
        match finding.weight {
            Weight::Refuse => false,
            Weight::Ask => self.yes,
            Weight::Dirty => self.yes || self.force,
        }
    }
}

/// The findings as lines.
pub(super) fn describe(findings: &[Finding]) -> String {
    let texts: Vec<String> = findings
        .iter()
        .map(|finding| match finding.items.is_empty() {
            true => finding.what.clone(),
            false => format!("{}:\n{}", finding.what, listed(&finding.items)),
        })
        .collect();
    texts.join("\n")
}

fn carry_out(
    repo: &Repo,
    task: &Task,
    wish: Wish,
    survey: Survey,
    place: &Place,
    time: &str,
    clock: (i64, i64),
) -> Result<Gone> {
    let findings = survey.findings.clone();
    let head = survey.head.clone();
    let keeps = survey.operation.is_some() || !survey.nested.is_empty();
    let copies = survey.copies.clone();
    let mut stays = survey.nested.clone();
    stays.extend(survey.snapshot.skipped.iter().map(|skipped| {
        let path = skipped.path.as_slice();
        BString::from(path.strip_suffix(b"/").unwrap_or(path))
    }));
    let mut disposable = survey.disposable.clone();
    let root = Root::open(&task.path)?;
    disposable.extend(linked(task, &root));
    let trash = record::put(repo, &task.open()?, task, survey, time, &place.folder)?;
    place.store(&Waiting {
        v: 1,
        repository: repo.common_dir().to_owned(),
        task: task.task.clone(),
        name: trash.name.clone(),
        tree: trash.tree.to_string(),
        clock,
        disposable: trash::stored(&disposable),
        stays: trash::stored(&stays),
        keep_entry: keeps,
        expires: trash::expiry(repo)?,
    })?;
    let leaving = Task {
        phase: Phase::Removing,
        owner: Some(Process::this()),
        trash: Some(Stored(place.folder.clone())),
        leaving: Some(wish.leaving),
        ..task.clone()
    };
    leaving.store(repo)?;
    // Secrets first: whatever happens next, they are gone.
    for copy in &copies {
        crash::point();
        dress::remove(&root, &copy.to_path_lossy())?;
    }
    let branch = head.branch.map(|b| b.to_string());
    let done = finish(repo, &leaving, branch, head.commit, wish.leaving);
    if done.is_err() && !is_moved(repo, &leaving) {
        stay(repo, task, &copies, place, &trash)?;
    }
    let branch_deleted = done?;
    Ok(Gone {
        trash,
        findings,
        branch_deleted,
    })
}

/// Undoes what a removal has done whose folder cannot be moved.
fn stay(repo: &Repo, task: &Task, copies: &[BString], place: &Place, trash: &Found) -> Result<()> {
    let is_half = task.phase == Phase::Adding;
    let mut back = Task {
        phase: if is_half { Phase::Adding } else { Phase::Ready },
        owner: None,
        trash: None,
        leaving: None,
        ..task.clone()
    };
    for copy in copies {
        let path = copy.to_path_lossy().into_owned();
        back.manifest.retain(|made| made.path != path);
        dress::copy(repo, &mut back, path)?;
    }
    if let Some(entry) = task.admin(repo).and_then(|admin| Entry::read(&admin))
        && entry.locked.as_deref() == Some(MAKING)
        && !is_half
    {
        file::remove(&entry.admin.join("locked"))?;
    }
    back.store(repo)?;
    repo.delete_ref(&trash.name, trash.commit)?;
    place.abandon();
    Ok(())
}

/// Our links, which are not followed. What took the place of one is none.
fn linked(task: &Task, root: &Root) -> Vec<BString> {
    task.manifest
        .iter()
        .filter(|m| m.how == How::Linked && m.is_untouched(root, &task.source))
        .map(|m| crate::snapshot::root::bytes_of(&m.path))
        .collect()
}

/// The steps after the snapshot; each can be done again.
fn finish(
    repo: &Repo,
    task: &Task,
    branch: Option<String>,
    tip: Option<ObjectId>,
    leaving: Leaving,
) -> Result<Option<(String, String)>> {
    let trash = task
        .trash
        .as_ref()
        .context("a removal has no trash folder")?;
    let place = Place::at(&trash.0);
    if let Some(entry) = task.admin(repo).and_then(|admin| Entry::read(&admin)) {
        // Between the two renames the entry has no folder: no prune shall take it.
        if entry.locked.is_none() {
            let lock = entry.admin.join("locked");
            file::replace(&lock, MAKING.as_bytes(), repo.sharing(), false)?;
        }
        crash::point();
        if task.path.is_dir() && entry.points_both_ways(&task.path) {
            fs::rename(&task.path, place.tree()).with_context(|| {
                format!(
                    "cannot move '{}' to the trash beside it",
                    task.path.display()
                )
            })?;
        }
        crash::point();
        if entry
            .path
            .as_deref()
            .is_some_and(|p| is_same(p, &task.path) || !p.exists())
        {
            move_folder(&entry.admin, &place.entry())?;
            let _ = fs::remove_dir(repo.common_dir().join("worktrees"));
        }
    }
    crash::point();
    let deleted = {
        let _lock = Task::lock(repo)?;
        let deleted = match (&branch, tip) {
            (Some(branch), Some(tip)) => delete_branch(repo, task, branch, tip, leaving.branch)?,
            _ => None,
        };
        exclude::sync(repo, Some(&task.slug))?;
        ports::release(repo, &task.slug)?;
        // Its own temporary folder, which nothing but a repository outlives.
        let temporary = environment::temporary(repo, task);
        if nested::has_repository(&temporary) {
            move_folder(&temporary, &place.temporary())?;
        } else {
            let _ = fs::remove_dir_all(temporary);
        }
        if leaving.finished && branch.is_some() && task.branch.is_some() {
            finished(task).store(repo)?;
        } else {
            task.forget(repo)?;
        }
        deleted
    };
    place::tidy(&task.path);
    trash::sweep_in_background(&place);
    Ok(deleted)
}

/// The shadow as it is known between `finish` and `merge`.
fn finished(task: &Task) -> Task {
    Task {
        phase: Phase::Finished,
        owner: None,
        entry: None,
        port: None,
        ports: Default::default(),
        manifest: Vec::new(),
        excluded: Vec::new(),
        left_out: Vec::new(),
        trash: None,
        leaving: None,
        ..task.clone()
    }
}

/// Forgets a finished shadow; its branch goes as that of any other would.
///
/// # Errors
/// When the branch cannot be deleted.
pub(super) fn forget_finished(
    repo: &Repo,
    task: &Task,
    wish: Wish,
) -> Result<Option<(String, String)>> {
    let _lock = Task::lock(repo)?;
    let tip = match &task.branch {
        Some(branch) => repo.find_ref(branch.as_str().into())?,
        None => None,
    };
    let fate = wish.leaving.branch;
    let deleted = match (&task.branch, tip) {
        (Some(branch), Some(tip)) => {
            // The snapshot of its folder does not have what came later.
            let kept = match fate {
                BranchFate::Delete => Some(record::put_branch(repo, task, branch, tip)?),
                _ => None,
            };
            let deleted = delete_branch(repo, task, branch, tip, fate)?;
            if let (None, Some(kept)) = (&deleted, kept) {
                repo.delete_ref(&kept.name, kept.commit)?;
            }
            deleted
        }
        _ => None,
    };
    task.forget(repo)?;
    Ok(deleted)
}

/// Deletes the branch when we made it and its work is elsewhere, or when that was
/// asked for; gives its name and why.
fn delete_branch(
    repo: &Repo,
    task: &Task,
    branch: &str,
    tip: ObjectId,
    fate: BranchFate,
) -> Result<Option<(String, String)>> {
    let is_ours = task.made_branch && task.branch.as_deref() == Some(branch);
    if !is_ours
        || checkout::is_in_use(repo, branch)?
        || fate == BranchFate::Keep
        || repo.find_ref(branch.into())? != Some(tip)
        || default_branch(repo)?.as_deref() == Some(branch)
    {
        return Ok(None);
    }
    let why = match merged::way(repo, task, tip)? {
        Some(way) => format!("merged: {}", way.words()),
        None if fate == BranchFate::Delete => "as asked".to_owned(),
        None => return Ok(None),
    };
    unmake::delete_branch(repo, branch, tip)?;
    Ok(Some((branch.to_owned(), why)))
}

/// Renames a folder, or copies it where that is another disk.
///
/// # Errors
/// When something cannot be read, written or removed.
pub(super) fn move_folder(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("cannot move '{}' to the trash", from.display());
    match fs::rename(from, to) {
        Err(e) if e.kind() == std::io::ErrorKind::CrossesDevices => {
            copy_folder(from, to).with_context(context)?;
            fs::remove_dir_all(from).with_context(context)
        }
        outcome => outcome.with_context(context),
    }
}

/// Copies a folder with all in it, links as links; sockets and pipes, which hold
/// nothing, are left out. Killed, it can be done again.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            let _ = fs::remove_file(&target);
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            // One that a killed copy has left may be read-only.
            let _ = fs::remove_file(&target);
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
