//! What has to change, and what must be left alone. Reads, and changes nothing.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;

use crate::error::Result;
use crate::git::Repo;
use crate::git::pathspec::Scope;
use crate::snapshot::difference::{Difference, Trees, Value};
use crate::snapshot::ignore::Ignore;
use crate::snapshot::include;
use crate::snapshot::index::Index;
use crate::snapshot::recased;
use crate::snapshot::root::Root;
use crate::snapshot::scan::Skipped;
use crate::snapshot::stat::FileKind;
use crate::snapshot::take::Snapshot;

/// The state to go back to.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// Its tree.
    pub tree: Option<ObjectId>,
    /// What it could not capture: not captured is not absent.
    pub skipped: Vec<Skipped>,
    /// Paths stored as they are although a conversion applies, sorted.
    pub raw: Vec<BString>,
    /// Pathspecs by which it captured ignored files.
    pub include: Vec<BString>,
    /// When it was taken, in seconds since the epoch, if the rules that are in no tree
    /// (ignore files of the user, `checkpoint.exclude`) were others then.
    pub other_rules_at: Option<i64>,
    /// The tree of the index of then, to know what sparse checkout had left out.
    pub index: Option<ObjectId>,
}

/// One path to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// From the worktree's root.
    pub path: BString,
    /// What is there now, as the safety snapshot has it.
    pub now: Value,
    /// What shall be there.
    pub then: Value,
    /// How it was spelled then, when the file system takes that and `path` for one.
    pub name: Option<BString>,
    /// The same blob, but one of the two is the file as it is and the other git's
    /// form of it.
    pub rewrite: bool,
}

impl Step {
    /// In one word, for people.
    pub fn verb(&self) -> &'static str {
        match (&self.now, &self.then) {
            (None, _) => "deleted",
            (_, None) => "new",
            _ => "modified",
        }
    }

    /// Its path in the tree that is restored.
    pub fn path_then(&self) -> &BStr {
        self.name.as_ref().unwrap_or(&self.path).as_bstr()
    }
}

/// A path that is not changed although it differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftAlone {
    /// From the worktree's root.
    pub path: BString,
    /// Why.
    pub reason: String,
    /// Whether the result is another than was asked for.
    pub against: bool,
}

/// Everything to do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Sorted by path; each path once.
    pub steps: Vec<Step>,
    /// Sorted by path.
    pub left_alone: Vec<LeftAlone>,
}

/// Paths that `target` has and `now` has not, but that are on disk all the same:
/// ignored today. They must be captured before they are overwritten.
///
/// # Errors
/// When the trees cannot be read.
pub fn hidden(
    trees: &Trees<'_>,
    root: &Root,
    target: &Target,
    now: ObjectId,
    in_scope: &mut dyn FnMut(&BStr) -> bool,
) -> Result<Vec<BString>> {
    let Some(tree) = target.tree else {
        return Ok(Vec::new());
    };
    let mut hidden = Vec::new();
    for difference in trees.differences(tree, now)? {
        let path = difference.path.as_bstr();
        if difference.new.is_some() || !in_scope(path) {
            continue;
        }
        match root.stat(path)? {
            Some(stat) if stat.kind != FileKind::Folder => {}
            _ => continue,
        }
        // Another spelling of what is captured is no second file.
        let listed = recased::listed_name(root, path)?;
        if trees.value(now, listed.as_bstr())?.is_none() {
            hidden.push(listed);
        }
    }
    Ok(hidden)
}

/// The plan from `now` to `target` for the paths in scope.
///
/// # Errors
/// When trees or rules cannot be read.
pub fn plan(
    repo: &Repo,
    trees: &Trees<'_>,
    root: &Root,
    target: &Target,
    now: &Snapshot,
    in_scope: &mut dyn FnMut(&BStr) -> bool,
) -> Result<Plan> {
    let Some(tree) = target.tree else {
        return Ok(Plan::default());
    };
    let all: Vec<Difference> = trees.differences(tree, now.tree)?;
    let mut then_ignored = ThenIgnored::new(repo, tree, &all, &now.skipped)?;
    let all = recased::join(root, all)?;
    let mut declared_then = match target.include.is_empty() {
        true => Scope::Only(BTreeSet::new()),
        false => include::scope(repo, &target.include)?,
    };
    let mut plan = Plan::default();
    for (difference, name) in all {
        let path = difference.path.as_bstr();
        if !in_scope(path) && !name.as_ref().is_some_and(|name| in_scope(name.as_bstr())) {
            continue;
        }
        match objection(
            &difference,
            target,
            now,
            root,
            &mut then_ignored,
            &mut declared_then,
        )? {
            Some((reason, against)) => plan.left_alone.push(LeftAlone {
                path: difference.path,
                reason,
                against,
            }),
            None => plan.steps.push(Step {
                path: difference.path,
                now: difference.new,
                then: difference.old,
                name,
                rewrite: false,
            }),
        }
    }
    add_rewrites(trees, tree, target, now, in_scope, &mut plan)?;
    list_uncaptured(trees, tree, target, now, in_scope, &mut plan)?;
    settle_left_out(trees, root, target, now, &mut plan)?;
    plan.steps.sort_by(|a, b| a.path.cmp(&b.path));
    leave_blocked(root, &mut plan);
    plan.left_alone.sort();
    Ok(plan)
}

/// Lists what no snapshot could hold and the target does not know: made since, and
/// it stays.
fn list_uncaptured(
    trees: &Trees<'_>,
    tree: ObjectId,
    target: &Target,
    now: &Snapshot,
    in_scope: &mut dyn FnMut(&BStr) -> bool,
    plan: &mut Plan,
) -> Result<()> {
    for skipped in &now.skipped {
        let path = skipped.path.as_bstr();
        let path = path.strip_suffix(b"/").unwrap_or(path).as_bstr();
        let then = trees.value(tree, path)?;
        let is_known = covering(&target.skipped, path).is_some()
            // Another repository, of which the commit is compared and no more.
            || matches!(then, Some((Mode::COMMIT, _)))
            || plan.left_alone.iter().any(|left| left.path == path);
        if is_known || !in_scope(path) {
            continue;
        }
        // What the target has may be another thing by now.
        let against = then.is_some();
        let reason = match against {
            true => format!("it cannot be captured now: {}", skipped.reason),
            false => format!("not captured, and so not deleted: {}", skipped.reason),
        };
        plan.left_alone.push(LeftAlone {
            path: skipped.path.clone(),
            reason,
            against,
        });
    }
    Ok(())
}

/// Adds files that have the same blob in both, as they are in one and in git's form
/// in the other: other bytes on disk.
fn add_rewrites(
    trees: &Trees<'_>,
    tree: ObjectId,
    target: &Target,
    now: &Snapshot,
    in_scope: &mut dyn FnMut(&BStr) -> bool,
    plan: &mut Plan,
) -> Result<()> {
    let only_then = target
        .raw
        .iter()
        .filter(|p| now.raw.binary_search(p).is_err());
    let only_now = now
        .raw
        .iter()
        .filter(|p| target.raw.binary_search(p).is_err());
    for path in only_then.chain(only_now) {
        if !in_scope(path.as_bstr()) {
            continue;
        }
        let value = trees.value(now.tree, path.as_bstr())?;
        if value.is_some() && value == trees.value(tree, path.as_bstr())? {
            plan.steps.push(Step {
                path: path.clone(),
                now: value,
                then: value,
                name: None,
                rewrite: true,
            });
        }
    }
    Ok(())
}

/// A file that sparse checkout leaves out stands in a snapshot as the index has
/// it. Where it was left out then as well, it stays so; where it was on disk with
/// another content, it comes back.
fn settle_left_out(
    trees: &Trees<'_>,
    root: &Root,
    target: &Target,
    now: &Snapshot,
    plan: &mut Plan,
) -> Result<()> {
    let mut left_out = Vec::new();
    for (at, step) in plan.steps.iter_mut().enumerate() {
        let path = step.path.as_bstr();
        let is_marked = now
            .index
            .state()
            .entry_by_path(path)
            .is_some_and(|e| e.flags.contains(gix::index::entry::Flags::SKIP_WORKTREE));
        if !is_marked || root.stat(path)?.is_some() {
            continue;
        }
        step.now = None;
        let indexed = match target.index {
            Some(index) => trees.value(index, path)?,
            None => None,
        };
        if step.then.is_none() || step.then == indexed {
            left_out.push(at);
        }
    }
    for at in left_out.into_iter().rev() {
        plan.steps.remove(at);
    }
    Ok(())
}

fn objection(
    difference: &Difference,
    target: &Target,
    now: &Snapshot,
    root: &Root,
    then_ignored: &mut ThenIgnored,
    declared_then: &mut Scope<'_>,
) -> Result<Option<(String, bool)>> {
    let path = difference.path.as_bstr();
    let is_commit = |value: &Value| matches!(value, Some((Mode::COMMIT, _)));
    if is_commit(&difference.old) || is_commit(&difference.new) {
        return Ok(Some(("a repository of its own".to_owned(), true)));
    }
    if let Some(skipped) = covering(&target.skipped, path) {
        let reason = format!("the checkpoint did not capture it: {}", skipped.reason);
        return Ok(Some((reason, false)));
    }
    if let Some(skipped) = covering(&now.skipped, path) {
        let reason = format!("it cannot be captured now: {}", skipped.reason);
        return Ok(Some((reason, true)));
    }
    // A path that git tracks now is no ignored file, whatever the rules of then say.
    let is_new = difference.old.is_none() && now.index.state().entry_by_path(path).is_none();
    if is_new && now.included.contains(path.as_bytes().as_bstr()) && !declared_then.includes(path) {
        return Ok(Some((
            "not declared when the checkpoint was taken".to_owned(),
            false,
        )));
    }
    if is_new && then_ignored.covers(path)? && !declared_then.includes(path) {
        return Ok(Some((
            "ignored when the checkpoint was taken".to_owned(),
            false,
        )));
    }
    if is_new
        && let Some(then) = target.other_rules_at
        && born(root, path).is_some_and(|born| born < then)
    {
        return Ok(Some((
            "older than the checkpoint, which was told not to look at it".to_owned(),
            false,
        )));
    }
    Ok(None)
}

/// When the file at `path` was made, in seconds since the epoch.
pub fn born(root: &Root, path: &BStr) -> Option<i64> {
    let born = std::fs::symlink_metadata(root.join(path))
        .ok()?
        .created()
        .ok()?;
    let since = born.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// The skipped path that is `path` or a folder above it.
fn covering<'s>(skipped: &'s [Skipped], path: &BStr) -> Option<&'s Skipped> {
    skipped.iter().find(|s| {
        s.path == path
            || (s.path.ends_with(b"/") && path.starts_with(&s.path))
            || (path.starts_with(&s.path) && path.get(s.path.len()) == Some(&b'/'))
    })
}

/// The ignore rules of a tree.
pub struct ThenIgnored {
    rules: Option<(Index, gix::ThreadSafeRepository)>,
}

impl ThenIgnored {
    /// Those of `tree`, on top of the ones that are in no tree.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub fn of_tree(repo: &Repo, tree: ObjectId) -> Result<Self> {
        let shared = repo.gix().clone().into_sync();
        Ok(ThenIgnored {
            rules: Some((Index::of_tree(repo, tree)?, shared)),
        })
    }

    /// Those of the target's tree, read only when they are not today's, or when nobody
    /// can say what today's are.
    fn new(
        repo: &Repo,
        tree: ObjectId,
        differences: &[Difference],
        skipped: &[Skipped],
    ) -> Result<Self> {
        let is_rule = |path: &BString| {
            path.strip_suffix(b".gitignore")
                .is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
        };
        let changed = differences.iter().map(|d| &d.path);
        let unreadable = skipped.iter().map(|s| &s.path);
        match changed.chain(unreadable).any(is_rule) {
            true => Self::of_tree(repo, tree),
            false => Ok(ThenIgnored { rules: None }),
        }
    }

    /// Whether they ignore the file at `path`, or a folder above it.
    ///
    /// # Errors
    /// When a rule cannot be read.
    pub fn covers(&mut self, path: &BStr) -> Result<bool> {
        let Some((index, shared)) = &self.rules else {
            return Ok(false);
        };
        let ignore = Ignore::in_tree(shared, index.state());
        let mut ruler = ignore.ruler()?;
        let folders = path
            .char_indices()
            .filter(|(_, _, c)| *c == '/')
            .map(|(at, _, _)| path[..at].as_bstr());
        for folder in folders {
            if ruler.is_ignored(folder, true) {
                return Ok(true);
            }
        }
        Ok(ruler.is_ignored(path, false))
    }
}

/// Takes the steps out that something stands in the way of which the plan does
/// not remove: it is in no snapshot, so it must not be removed to make room.
fn leave_blocked(root: &Root, plan: &mut Plan) {
    let deleted: BTreeSet<BString> = plan
        .steps
        .iter()
        .filter(|s| s.then.is_none())
        .map(|s| s.path.clone())
        .collect();
    let mut blocked = Vec::new();
    plan.steps.retain(|step| {
        if step.then.is_none() || step.now.is_some() {
            return true;
        }
        match blocker(root, step.path.as_bstr(), &deleted) {
            None => true,
            Some(blocker) => {
                blocked.push(LeftAlone {
                    path: step.path.clone(),
                    reason: format!("'{blocker}' is in the way and in no checkpoint"),
                    against: true,
                });
                false
            }
        }
    });
    plan.left_alone.extend(blocked);
}

fn blocker(root: &Root, path: &BStr, deleted: &BTreeSet<BString>) -> Option<BString> {
    // A file or link where a folder must be.
    for (at, _) in path
        .char_indices()
        .filter_map(|(at, _, c)| (c == '/').then_some((at, c)))
    {
        let folder = path[..at].as_bstr();
        match root.stat(folder) {
            Ok(Some(stat)) if stat.kind == FileKind::Folder => {}
            Ok(Some(_)) if !deleted.contains(folder.as_bytes().as_bstr()) => {
                return Some(folder.to_owned());
            }
            _ => return None,
        }
    }
    // A folder where a file must be: all that is in it must go.
    match root.stat(path) {
        Ok(Some(stat)) if stat.kind == FileKind::Folder => first_file(root, path)
            .into_iter()
            .find(|file| !deleted.contains(file)),
        _ => None,
    }
}

/// Everything in `folder` that is no folder; a folder that cannot be read counts itself.
fn first_file(root: &Root, folder: &BStr) -> Vec<BString> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(folder.as_bstr())) else {
            files.push(folder);
            continue;
        };
        for entry in entries.flatten() {
            let mut path = folder.clone();
            path.push(b'/');
            path.extend_from_slice(std::os::unix::ffi::OsStrExt::as_bytes(
                entry.file_name().as_os_str(),
            ));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                _ => files.push(path),
            }
        }
    }
    files
}
