//! Puts a removed shadow back: branch (made, never moved), git's entry, files,
//! index; and what only the trash folder still has.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::Mode;
use gix::objs::Kind;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::head::Head;
use crate::git::quote::{path_of_json, quoted};
use crate::lane::index_restore;
use crate::lane::{Checkpoint, Record};
use crate::shadow::dress::{self, Wanted};
use crate::shadow::entry;
use crate::shadow::process::Process;
use crate::shadow::record::Found;
use crate::shadow::task::{How, Made, Phase, Restoring, Task, short, shown};
use crate::shadow::trash::Place;
use crate::shadow::unmake::unmake;
use crate::shadow::{
    absence, checkout, headlog, left, make, modules, place, ports, sparse, worktree_refs,
};
use crate::snapshot::difference::Trees;
use crate::snapshot::fresh::{self, Content};
use crate::snapshot::index_file;
use crate::snapshot::root::Root;
use crate::state::crash;

/// How it went.
pub(super) enum Answer {
    /// Something has its place; says what to do.
    Taken(String),
    /// The shadow, and what is not quite as it was.
    Done(Box<Task>, Vec<String>),
}

/// What an operation under way consists of, besides its commits.
const OPERATION: &[&str] = &[
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_AUTOSTASH",
    "MERGE_RR",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_NAMES",
];

/// Puts `found` back.
///
/// # Errors
/// When something fails; run again, it finishes.
pub(super) fn put_back(
    repo: &Repo,
    found: &Found,
    path: Option<PathBuf>,
    branch: Option<String>,
) -> Result<Answer> {
    let (task, made) = {
        let _lock = Task::lock(repo)?;
        let half = Task::find(repo, &found.removed.task.task)?;
        match half {
            Some(half)
                if half.is_abandoned()
                    && half.restoring.as_ref().is_some_and(|r| is_of(r, found))
                    && has_index(repo, &half) =>
            {
                (half, true)
            }
            Some(half)
                if half.is_abandoned()
                    && half.phase == Phase::Adding
                    && (half.restoring.is_some() || !has_index(repo, &half)) =>
            {
                unmake(repo, &half)?;
                match register(repo, found, path, branch)? {
                    Ok(task) => (task, false),
                    Err(taken) => return Ok(Answer::Taken(taken)),
                }
            }
            Some(other) => {
                return Ok(Answer::Taken(format!(
                    "there is a shadow '{}' already, at '{}'",
                    other.task,
                    shown(&other.path)
                )));
            }
            None => match register(repo, found, path, branch)? {
                Ok(task) => (task, false),
                Err(taken) => return Ok(Answer::Taken(taken)),
            },
        }
    };
    let mut task = task;
    let mut refused = Vec::new();
    if !made {
        refused = files(found, &task)?;
    } else {
        // Where git writes the files, a kill may have come between index and files.
        let shadow = task.open()?;
        let all = Content::of(&shadow, found.tree)?;
        if fresh::needs_git(&shadow, &all)? {
            files_by_git(&shadow, &Root::open(&task.path)?, found, &all)?;
        }
    }
    let mut warnings = rest(repo, found, &mut task)?;
    warnings.extend(refused.iter().map(|path| {
        let (path, commit) = (quoted(path.as_bstr()), found.commit);
        format!("git writes no file named {path}; its content is in {commit}")
    }));
    Ok(Answer::Done(Box::new(task), warnings))
}

/// Whether a restore that was begun is that of `found`.
fn is_of(begun: &Restoring, found: &Found) -> bool {
    let tip = found.head().unwrap_or(found.commit);
    id(&begun.tree) == Some(found.tree) && id(&begun.tip) == Some(tip)
}

fn id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

fn has_index(repo: &Repo, task: &Task) -> bool {
    task.admin(repo)
        .is_some_and(|admin| admin.join("index").exists())
}

/// Intent, branch and entry. The inner error says what has been taken since.
fn register(
    repo: &Repo,
    found: &Found,
    path: Option<PathBuf>,
    branch: Option<String>,
) -> Result<std::result::Result<Task, String>> {
    let removed = &found.removed;
    let head = found.head();
    let path = match path {
        Some(path) => place::real(&std::path::absolute(path)?),
        None => removed.task.path.clone(),
    };
    place::require_outside_git(repo, &path)?;
    if make::require_free_path(&path).is_err() {
        return Ok(Err(format!(
            "'{}' exists and is not empty\nhint: name another with '--path <folder>'",
            path.display()
        )));
    }
    let full = match &branch {
        Some(name) => Some(format!("refs/heads/{name}")),
        None => removed.branch.clone(),
    };
    let mut makes_branch = false;
    if let Some(full) = &full {
        let elsewhere = checkout::is_in_use(repo, full)?;
        let tip = repo.find_ref(full.as_str().into())?;
        makes_branch = tip.is_none() && head.is_some();
        let is_other = tip.is_some_and(|tip| Some(tip) != head || branch.is_some());
        if is_other || (elsewhere && !makes_branch) {
            return Ok(Err(format!(
                "the branch '{}' has been taken since\nhint: name another with '-b <branch>'",
                short(full)
            )));
        }
    }
    let mut task = Task {
        phase: Phase::Adding,
        owner: Some(Process::this()),
        branch: full.clone(),
        made_branch: removed.task.made_branch || branch.is_some(),
        path,
        above: None,
        entry: None,
        trash: None,
        leaving: None,
        port: None,
        manifest: Vec::new(),
        left_out: Vec::new(),
        excluded: Vec::new(),
        restoring: Some(Restoring {
            tree: found.tree.to_string(),
            tip: head.unwrap_or(found.commit).to_string(),
            makes_branch,
        }),
        ..removed.task.clone()
    };
    task.store(repo)?;
    let entered = enter(repo, &mut task, found, makes_branch);
    if let Err(error) = entered {
        unmake(repo, &task)?;
        return Err(error);
    }
    Ok(Ok(task))
}

fn enter(repo: &Repo, task: &mut Task, found: &Found, makes_branch: bool) -> Result<()> {
    let port = ports::allot(repo, task)?;
    task.port = Some(port);
    let names: Vec<String> = task.ports.keys().cloned().collect();
    task.ports = names.into_iter().zip(port..).collect();
    task.store(repo)?;
    place::prepare(repo, &task.path)?;
    crash::point();
    let head = found.head();
    let commit = head.unwrap_or(found.commit).to_string();
    // git makes no worktree on an unborn branch: it gets there by the way.
    let detached = Task {
        branch: None,
        ..task.clone()
    };
    let as_asked = makes_branch || head.is_some();
    let wanted = if as_asked { &*task } else { &detached };
    let entry = entry::make(repo, wanted, &commit, makes_branch)
        .with_context(|| format!("cannot restore the shadow '{}'", task.task))?;
    task.above = absence::above(&task.path);
    task.entry = Some(make::rename_entry(repo, task, &entry)?);
    if head.is_none()
        && let Some(branch) = &task.branch
    {
        let shadow = task.open()?;
        shadow
            .git_unhooked(["symbolic-ref", "HEAD", branch])
            .stdout()?;
    }
    task.store(repo)
}

/// All files of the snapshot, and the index with the entries that were staged. Gives
/// the paths whose names must never reach a disk.
fn files(found: &Found, task: &Task) -> Result<Vec<BString>> {
    sparse::switch_off(&task.open()?)?;
    let shadow = task.open()?;
    let root = Root::open(&task.path)?;
    let staged = match staged_tree(&shadow, found)? {
        Some(tree) => Content::of(&shadow, tree)?,
        None => Content::of(&shadow, shadow.empty_tree())?,
    };
    let all = Content::of(&shadow, found.tree)?;
    let by_git = fresh::needs_git(&shadow, &all)?;
    let stats = match by_git {
        true => vec![None; all.lines.len()],
        false => fresh::fill(&shadow, &root, &all)?,
    };
    let lines: Vec<_> = staged
        .lines
        .iter()
        .map(|line| {
            let at = all.lines.binary_search(line).ok();
            (line.clone(), at.and_then(|at| stats[at]))
        })
        .collect();
    let bytes = index_file::encode(&lines, Some(&staged.root), shadow.gix().object_hash())?;
    // Where git writes the files, the attributes of the tree decide: they come first.
    crash::point();
    index_file::write(&shadow.index_path(), &bytes)?;
    if by_git {
        files_by_git(&shadow, &root, found, &all)?;
    }
    Ok(all.refused)
}

/// Those files of the snapshot that are not there yet.
fn files_by_git(shadow: &Repo, root: &Root, found: &Found, all: &Content) -> Result<()> {
    let mut missing = Vec::new();
    for line in all.lines.iter().filter(|line| line.mode != Mode::COMMIT) {
        if root.stat(line.path.as_bstr())?.is_none() {
            missing.extend_from_slice(&line.path);
            missing.push(0);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let source = format!("--source={}", found.tree);
    crash::point();
    shadow
        .git_unhooked(["restore", "--worktree", "--overlay", source.as_str()])
        .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
        .env("GIT_LITERAL_PATHSPECS", "1")
        .input(missing)
        .stdout()?;
    Ok(())
}

fn staged_tree(shadow: &Repo, found: &Found) -> Result<Option<ObjectId>> {
    let Some(index) = &found.removed.index else {
        return found.head().map(|head| shadow.tree_of(head)).transpose();
    };
    let commit = ObjectId::from_hex(index.as_bytes()).context("a record has no index")?;
    let tree = shadow.object(shadow.tree_of(commit)?, Kind::Tree)?;
    let tree = gix::objs::TreeRef::from_bytes(&tree, shadow.gix().object_hash())?;
    Ok(tree
        .entries
        .iter()
        .find(|entry| entry.filename == "0")
        .map(|entry| entry.oid.to_owned()))
}

/// Everything after the files; each step can be done again.
fn rest(repo: &Repo, found: &Found, task: &mut Task) -> Result<Vec<String>> {
    let removed = &found.removed;
    let shadow = task.open()?;
    let mut warnings = Vec::new();
    restore_marks(&shadow, found)?;
    let trees = Trees::new(&shadow, Default::default());
    for path in removed.raw.iter().filter_map(path_of_json) {
        if let Some((_, id)) = trees.value(found.tree, path.as_bstr())? {
            let bytes = shadow.object(id, Kind::Blob)?;
            let to = task.path.join(path.to_path_lossy());
            crate::state::file::replace(&to, &bytes, Default::default(), false)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o644))?;
        }
    }
    let place = Place::at(&removed.folder);
    let root = Root::open(&task.path)?;
    // What stood where a link of ours had been comes before that link.
    let linked: Vec<&PathBuf> = removed
        .task
        .manifest
        .iter()
        .filter(|made| made.how == How::Linked)
        .map(|made| &made.path)
        .collect();
    let is_early = |path: &Path| linked.iter().any(|link| path.starts_with(link));
    left::bring_back(&place, &root, &removed.skipped, &mut Vec::new(), is_early);
    copies(removed.task.manifest.as_slice(), repo, task, &mut warnings)?;
    let deps = removed.task.manifest.iter().any(|m| m.how != How::Copied);
    let wanted = Wanted {
        deps,
        copies: false,
    };
    dress::dress(repo, task, wanted)?;
    if let Some(log) = &removed.log {
        headlog::give_back(&shadow, log)?;
    }
    if removed.operation.is_some() {
        operation(&place, &shadow, &mut warnings)?;
    }
    worktree_refs::give_back(&shadow, &removed.refs, &mut warnings)?;
    modules::bring_back(&place, &shadow)?;
    left::bring_back(&place, &root, &removed.skipped, &mut warnings, |_| true);
    modules::connect(repo, &shadow, &removed.task, task)?;
    removed.treeless.give_back(&root)?;
    if let Some(sparse) = &removed.sparse {
        sparse::give_back(&shadow, sparse, &mut warnings)?;
    }
    crash::point();
    if let Some(admin) = task.admin(repo) {
        crate::state::file::remove(&admin.join("locked"))?;
    }
    task.phase = Phase::Ready;
    task.owner = None;
    task.restoring = None;
    task.store(repo)?;
    Ok(warnings)
}

/// The other stages of a conflict, and the flags.
fn restore_marks(shadow: &Repo, found: &Found) -> Result<()> {
    let Some(index) = &found.removed.index else {
        return Ok(());
    };
    let state = Checkpoint {
        name: found.name.clone(),
        commit: found.commit,
        tree: found.tree,
        time: 0,
        record: Record {
            index: ObjectId::from_hex(index.as_bytes()).ok(),
            head: Head {
                branch: None,
                commit: found.head(),
            },
            ..Record::default()
        },
    };
    crash::point();
    index_restore::restore(shadow, &state)
}

/// Notes that the snapshot has brought the copy `made` back; one that was changed is
/// no copy any more.
fn adopt(task: &mut Task, made: &Made, found: &fs::Metadata) {
    let path = task.path.join(&made.path);
    let is_as_made = match &made.id {
        Some(id) => dress::hash_of(&path).is_ok_and(|now| now == *id),
        None => found.is_symlink(),
    };
    if is_as_made {
        task.manifest.push(Made {
            size: found.size(),
            mtime: (
                found.mtime(),
                u32::try_from(found.mtime_nsec()).unwrap_or(0),
            ),
            ino: found.ino(),
            ..made.clone()
        });
    }
}

/// Copied files that were not in the snapshot come from their source again.
fn copies(
    manifest: &[Made],
    repo: &Repo,
    task: &mut Task,
    warnings: &mut Vec<String>,
) -> Result<()> {
    for made in manifest.iter().filter(|m| m.how == How::Copied) {
        let (from, to) = (task.source.join(&made.path), task.path.join(&made.path));
        if task.manifest.iter().any(|m| m.path == made.path) {
            continue;
        }
        if let Ok(found) = to.symlink_metadata() {
            adopt(task, made, &found);
            task.store(repo)?;
            continue;
        }
        let is_same = made
            .id
            .as_ref()
            .is_none_or(|id| dress::hash_of(&from).is_ok_and(|now| now == *id));
        if from.symlink_metadata().is_err() {
            warnings.push(format!("'{}' is gone from its source", shown(&made.path)));
            continue;
        }
        if !is_same {
            warnings.push(format!(
                "'{}' is another in its source now",
                shown(&made.path)
            ));
        }
        dress::copy(repo, task, made.path.clone())?;
    }
    Ok(())
}

fn operation(place: &Place, shadow: &Repo, warnings: &mut Vec<String>) -> Result<()> {
    let entry = place.entry();
    if !entry.exists() {
        warnings
            .push("the operation that was in progress is gone with the trash folder".to_owned());
        return Ok(());
    }
    for name in OPERATION {
        let (from, to) = (entry.join(name), shadow.git_dir().join(name));
        if from.is_dir() {
            crate::shadow::removal::copy_folder(&from, &to)
        } else if from.is_file() {
            fs::copy(&from, &to).map(drop)
        } else {
            continue;
        }
        .with_context(|| format!("cannot bring back '{}'", to.display()))?;
    }
    Ok(())
}
