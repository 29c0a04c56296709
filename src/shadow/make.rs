//! Makes a shadow: the intent on disk, branch and entry under our lock; files,
//! copies and set-up outside it, under git's worktree lock.

use std::fs;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::{Context, Result, bail, hinted};
use crate::git::Repo;
use crate::git::head::Head;
use crate::shadow::base::Base;
use crate::shadow::dress::{self, Wanted};
use crate::shadow::entry::{self, Entry, MAKING};
use crate::shadow::process::{Process, now};
use crate::shadow::task::{Phase, Task, shown};
use crate::shadow::unmake::unmake;
use crate::shadow::{absence, hook, name, place, ports};
use crate::snapshot::index_file;
use crate::snapshot::root::Root;
use crate::snapshot::{fresh, index::Index};
use crate::state::crash;

/// What is wanted of a new shadow.
pub(super) struct Wish<'w> {
    pub(super) task: &'w str,
    /// The branch to make, without `refs/heads/`; `None` for a detached HEAD.
    pub(super) branch: Option<String>,
    pub(super) path: Option<PathBuf>,
    pub(super) base: &'w Base,
    pub(super) head: &'w Head,
    /// The tree of the files when it is not that of the base.
    pub(super) files: Option<ObjectId>,
    pub(super) full: bool,
    pub(super) wanted: Wanted,
    pub(super) setup: bool,
}

/// What came of it, besides the shadow.
#[derive(Default)]
pub(super) struct Story {
    /// An `add` that was killed has been continued.
    pub(super) continued: bool,
    /// What was asked for another way now than by that one.
    pub(super) otherwise: Vec<&'static str>,
    /// The hook that ran, and its exit code.
    pub(super) hook: Option<(PathBuf, Option<i32>)>,
}

/// Checks everything that can be refused, and gives the shadow as it would be.
///
/// # Errors
/// In words, when it cannot be made.
pub(super) fn plan(repo: &Repo, wish: &Wish<'_>) -> Result<Task> {
    name::require_valid(wish.task)?;
    let all = Task::all(repo)?;
    if let Some(found) = all.iter().find(|t| t.task == wish.task) {
        return Err(hinted(
            format!(
                "there is a shadow '{}' already, at '{}'",
                wish.task,
                shown(&found.path)
            ),
            "take another name, or 'git shadow remove' that one",
        ));
    }
    if Task::unreadable(repo)?.iter().any(|slug| slug == wish.task) {
        bail!(
            "the record of a shadow '{}' is there and cannot be read",
            wish.task
        );
    }
    let mut taken: Vec<String> = all.iter().map(|t| t.slug.clone()).collect();
    let entries = Entry::all(repo);
    taken.extend(entries.iter().map(|e| e.name.clone()));
    let slug = name::slug(wish.task, &taken);
    let branch = match &wish.branch {
        Some(branch) => {
            require_free_branch(repo, branch)?;
            Some(format!("refs/heads/{branch}"))
        }
        None => None,
    };
    let path = match &wish.path {
        Some(path) => place::real(&std::path::absolute(path)?),
        None => place::default(repo, &slug, wish.branch.as_deref().unwrap_or(wish.task))?,
    };
    place::require_outside_git(repo, &path)?;
    require_free_path(&path)?;
    require_space(repo, &path)?;
    Ok(Task {
        v: Task::version(),
        task: wish.task.to_owned(),
        slug,
        phase: Phase::Adding,
        made_branch: branch.is_some(),
        branch,
        base: wish.base.commit.to_string(),
        base_name: wish.base.name.clone(),
        into: wish.head.branch.as_ref().map(ToString::to_string),
        source: repo
            .worktree()
            .unwrap_or_else(|| repo.common_dir())
            .to_owned(),
        path,
        above: None,
        entry: None,
        created: now(),
        port: None,
        ports: Default::default(),
        manifest: Vec::new(),
        excluded: Vec::new(),
        left_out: Vec::new(),
        setup: Vec::new(),
        owner: Some(Process::this()),
        trash: None,
        leaving: None,
        restoring: None,
    })
}

/// Makes it.
///
/// # Errors
/// When it cannot be made; then nothing of it is left.
pub(super) fn make(repo: &Repo, wish: &Wish<'_>) -> Result<(Task, Story)> {
    let mut story = Story::default();
    let mut task = {
        let _lock = Task::lock(repo)?;
        match Task::find(repo, wish.task)?.filter(Task::is_abandoned) {
            Some(half) if half.restoring.is_some() => {
                return Err(hinted(
                    format!("the restore of the shadow '{}' was cut short", half.task),
                    format!("'git shadow restore {}' finishes it", half.task),
                ));
            }
            Some(half) if has_index(repo, &half) && half.phase == Phase::Adding => {
                story.continued = true;
                story.otherwise = otherwise(&half, wish);
                Task {
                    owner: Some(Process::this()),
                    ..half
                }
            }
            Some(half) if half.phase == Phase::Adding => {
                story.continued = true;
                unmake(repo, &half)?;
                register(repo, wish)?
            }
            _ => register(repo, wish)?,
        }
    };
    let done = fill(repo, wish, &mut task).and_then(|()| finish(repo, wish, &mut task, &mut story));
    if let Err(error) = done {
        let _lock = Task::lock(repo)?;
        return Err(match unmake(repo, &task) {
            Ok(()) => error,
            Err(left) => error.context(format!("{left:#}; and before that")),
        });
    }
    Ok((task, story))
}

/// In what the wish differs from the `add` that it continues.
fn otherwise(half: &Task, wish: &Wish<'_>) -> Vec<&'static str> {
    let path = wish
        .path
        .as_ref()
        .and_then(|path| std::path::absolute(path).ok());
    [
        ("base", half.base_commit().ok() != Some(wish.base.commit)),
        ("branch", half.short_branch() != wish.branch.as_deref()),
        (
            "path",
            path.is_some_and(|path| place::real(&path) != half.path),
        ),
    ]
    .into_iter()
    .filter_map(|(what, differs)| differs.then_some(what))
    .collect()
}

fn has_index(repo: &Repo, task: &Task) -> bool {
    task.admin(repo)
        .is_some_and(|admin| admin.join("index").exists())
}

/// The intent, then branch, entry and port. The caller holds the lock.
fn register(repo: &Repo, wish: &Wish<'_>) -> Result<Task> {
    let mut task = plan(repo, wish)?;
    task.store(repo)?;
    let made = add_entry(repo, &mut task);
    if let Err(error) = made {
        unmake(repo, &task)?;
        return Err(error);
    }
    Ok(task)
}

fn add_entry(repo: &Repo, task: &mut Task) -> Result<()> {
    let port = ports::allot(repo, task)?;
    task.port = Some(port);
    let names = crate::shadow::deps::words(repo, "shadow.ports").unwrap_or_default();
    let block = repo.config_size("shadow.portBlock", 10)?;
    if names.len() as u64 > block {
        bail!("shadow.ports has more names than shadow.portBlock has ports ({block})");
    }
    task.ports = names.into_iter().zip(port..).collect();
    task.store(repo)?;
    place::prepare(repo, &task.path)?;
    crash::point();
    let entry = entry::make(repo, task, &task.base, task.made_branch)
        .with_context(|| format!("cannot make the shadow '{}'", task.task))?;
    task.above = absence::above(&task.path);
    task.entry = Some(rename_entry(repo, task, &entry)?);
    task.store(repo)
}

/// git names an entry after the folder; ours is named after the task.
///
/// # Errors
/// When it cannot be renamed.
pub(super) fn rename_entry(repo: &Repo, task: &Task, entry: &Entry) -> Result<String> {
    let wanted = repo.common_dir().join("worktrees").join(&task.slug);
    if entry.name == task.slug || wanted.exists() {
        return Ok(entry.name.clone());
    }
    let file = task.path.join(".git");
    let text = fs::read(&file).context("cannot read the new worktree's '.git'")?;
    let old = entry
        .admin
        .file_name()
        .unwrap_or_default()
        .as_encoded_bytes();
    let Some(kept) = text.trim_ascii_end().strip_suffix(old) else {
        return Ok(entry.name.clone());
    };
    // Between the two steps the entry names a worktree that names it no more; it is
    // locked, so that no prune takes it.
    fs::rename(&entry.admin, &wanted).context("cannot name git's entry after the task")?;
    let text = [kept, task.slug.as_bytes(), b"\n"].concat();
    let mut beside = tempfile::NamedTempFile::new_in(&task.path)?;
    std::io::Write::write_all(&mut beside, &text)?;
    fs::set_permissions(beside.path(), fs::metadata(&file)?.permissions())?;
    beside.persist(&file).map_err(|e| e.error)?;
    Ok(task.slug.clone())
}

/// The files and the index.
fn fill(repo: &Repo, wish: &Wish<'_>, task: &mut Task) -> Result<()> {
    if has_index(repo, task) {
        return Ok(());
    }
    let shadow = task.open()?;
    let tree = shadow.tree_of(task.base_commit()?)?;
    let files = wish.files.unwrap_or(tree);
    let is_sparse = shadow.config_bool("core.sparseCheckout", false)?;
    let staged = fresh::Content::of(&shadow, tree);
    let by_git = is_sparse
        || match &staged {
            // git refuses a name in its own words.
            Ok(content) => !content.refused.is_empty() || fresh::needs_git(&shadow, content)?,
            Err(_) => true,
        };
    crash::point();
    if by_git {
        return fill_by_git(&shadow, wish, files, tree);
    }
    let staged = staged?;
    let other = match files == tree {
        true => None,
        false => Some(fresh::Content::of(&shadow, files)?),
    };
    let content = other.as_ref().unwrap_or(&staged);
    let root = Root::open(&task.path)?;
    let stats = fresh::fill(&shadow, &root, content)?;
    let lines: Vec<_> = staged
        .lines
        .iter()
        .map(|line| {
            let found = content.lines.binary_search(line).ok();
            (line.clone(), found.and_then(|at| stats[at]))
        })
        .collect();
    let bytes = index_file::encode(&lines, Some(&staged.root), shadow.gix().object_hash())?;
    crash::point();
    index_file::write(&shadow.index_path(), &bytes)
}

/// Through git: sparse patterns, filters, encodings, a partial clone.
fn fill_by_git(shadow: &Repo, wish: &Wish<'_>, files: ObjectId, tree: ObjectId) -> Result<()> {
    let workers = ["-c", "checkout.workers=0"];
    if wish.full && shadow.config_bool("core.sparseCheckout", false)? {
        shadow
            .git_unhooked(["sparse-checkout", "disable"])
            .stdout()?;
    }
    shadow
        .git_unhooked(workers)
        .args(["reset", "--hard", "-q"])
        .stdout()?;
    if files != tree {
        let child = shadow.git_unhooked(workers).args(["restore", "--worktree"]);
        let source = format!("--source={files}");
        child
            .args(["--no-overlay", source.as_str(), "--", ":/"])
            .stdout()?;
    }
    Ok(())
}

/// Copies, links, hook, set-up; then it is ready.
fn finish(repo: &Repo, wish: &Wish<'_>, task: &mut Task, story: &mut Story) -> Result<()> {
    dress::dress(repo, task, wish.wanted)?;
    let shadow = task.open()?;
    if repo.config_bool("shadow.hooks", true)?
        && let Some(hook) = hook::post_checkout(&shadow)
    {
        let exit = hook::run_post_checkout(&task.path, task.base_commit()?)?;
        story.hook = Some((hook, exit));
    }
    if wish.setup {
        task.setup.clear();
        hook::run_setup(repo, task)?;
    }
    crash::point();
    if let Some(entry) = task.admin(repo).and_then(|admin| Entry::read(&admin))
        && entry.locked.as_deref() == Some(MAKING)
    {
        crate::state::file::remove(&entry.admin.join("locked"))?;
    }
    task.phase = Phase::Ready;
    task.owner = None;
    task.store(repo)
}

fn require_free_branch(repo: &Repo, branch: &str) -> Result<()> {
    let other = "name another with '-b <branch>', or take none with '--detach'";
    let full = format!("refs/heads/{branch}");
    if gix::validate::reference::name(full.as_bytes().as_bstr()).is_err() {
        return Err(hinted(
            format!("'{branch}' cannot be the name of a branch"),
            other,
        ));
    }
    if repo.find_ref(full.as_str().into())?.is_some() {
        return Err(hinted(format!("a branch '{branch}' exists already"), other));
    }
    for (at, _) in branch.match_indices('/') {
        let above = &branch[..at];
        if repo
            .find_ref(format!("refs/heads/{above}").as_str().into())?
            .is_some()
        {
            return Err(hinted(
                format!("the branch '{above}' is in the way of '{branch}'"),
                format!("{other}; 'git config shadow.branchPrefix <prefix>/' sets another prefix"),
            ));
        }
    }
    if let Some((below, _)) = repo.refs_below(&format!("{full}/"))?.first() {
        return Err(hinted(
            format!("the branch '{}' is in the way of '{branch}'", below),
            other,
        ));
    }
    if repo.config_bool("core.ignoreCase", false)? {
        for (name, _) in repo.refs_below("refs/heads/")? {
            if falls_together(&full, &name.to_str_lossy()) {
                return Err(hinted(
                    format!("'{name}' differs from '{branch}' only by case"),
                    other,
                ));
            }
        }
    }
    Ok(())
}

/// Whether two refs, or folders above them, are one where case does not count: git
/// finds the one under the other's name, until it packs them.
fn falls_together(one: &str, other: &str) -> bool {
    let mut pairs = one.split('/').zip(other.split('/'));
    pairs
        .find(|(a, b)| a != b)
        .is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
}

/// # Errors
/// When something is at `path` already.
pub(super) fn require_free_path(path: &std::path::Path) -> Result<()> {
    let is_free = match path.symlink_metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => true,
        Err(e) => return Err(e).with_context(|| format!("cannot look at '{}'", path.display())),
        Ok(found) => found.is_dir() && fs::read_dir(path)?.next().is_none(),
    };
    match is_free {
        true => Ok(()),
        false => Err(hinted(
            format!("'{}' exists and is not an empty folder", path.display()),
            "name another with '--path <folder>'",
        )),
    }
}

/// The developer's own files say about how much a checkout takes.
fn require_space(repo: &Repo, path: &std::path::Path) -> Result<()> {
    let Some(existing) = path.ancestors().find(|p| p.exists()) else {
        return Ok(());
    };
    if repo.worktree().is_none() {
        return Ok(());
    }
    let index = Index::load(repo)?;
    let needed: u64 = index
        .state()
        .entries()
        .iter()
        .map(|entry| u64::from(entry.stat.size).next_multiple_of(4096))
        .sum();
    let free = rustix::fs::statvfs(existing).map_or(u64::MAX, |s| s.f_bavail * s.f_frsize);
    if free < needed {
        return Err(hinted(
            format!(
                "'{}' has room for {} MiB, the files take about {} MiB",
                existing.display(),
                free >> 20,
                needed >> 20
            ),
            "free some, or name a place on another disk with '--path <folder>'",
        ));
    }
    Ok(())
}
