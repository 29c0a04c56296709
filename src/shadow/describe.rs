//! How a shadow stands: the words of `list` and `show`, and their JSON.

use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use serde_json::{Value, json};

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::shadow::base::commit_time;
use crate::shadow::entry::Entry;
use crate::shadow::process::Process;
use crate::shadow::task::{How, Phase, Task, path_json, short};
use crate::shadow::{absence, lease};
use crate::snapshot::glance::glance;

/// What can be said of a shadow now.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// One word: clean, dirty, conflict, rebase (or another operation), running,
    /// adding, removing, broken, absent.
    pub(super) state: &'static str,
    /// Why it is broken.
    pub(super) reason: Option<String>,
    pub(super) head: Option<ObjectId>,
    pub(super) branch: Option<String>,
    /// Commits that it has and its target has not, and the other way round.
    pub(super) ahead: Option<u64>,
    pub(super) behind: Option<u64>,
    /// When anything in it last changed.
    pub(super) changed: Option<i64>,
    pub(super) running: Option<Process>,
    pub(super) locked: Option<String>,
}

impl Standing {
    /// Looks. Nothing that is wrong with the shadow is an error.
    pub(super) fn of(repo: &Repo, task: &Task) -> Self {
        Self::look(repo, task).unwrap_or_else(|error| Standing {
            state: "broken",
            reason: Some(format!("{error:#}")),
            ..Standing::default()
        })
    }

    fn look(repo: &Repo, task: &Task) -> Result<Self> {
        let unfinished = match task.phase {
            Phase::Adding => Some("adding"),
            Phase::Removing => Some("removing"),
            Phase::Finished => return finished(repo, task),
            Phase::Ready => None,
        };
        if let Some(state) = unfinished {
            let reason = task
                .is_abandoned()
                .then(|| format!("{state} was cut short"));
            return Ok(Standing {
                state: if reason.is_some() { "broken" } else { state },
                reason,
                ..Standing::default()
            });
        }
        if let Some(why) = absence::of(repo, task) {
            return Ok(Standing {
                state: "absent",
                reason: Some(format!("{why}; {}", absence::HINT)),
                ..Standing::default()
            });
        }
        let entry = healthy_entry(repo, task)?;
        let shadow = task.open()?;
        let head = shadow.head()?;
        let seen = glance(&shadow)?;
        let running = lease::running(repo, task)?;
        let state = match (&running, shadow.operation()) {
            (Some(_), _) => "running",
            (None, _) if seen.conflicted => "conflict",
            (None, Some(operation)) => operation,
            (None, None) if !seen.is_clean() => "dirty",
            _ => "clean",
        };
        let (ahead, behind) = counts(repo, task, head.commit);
        let committed = head.commit.and_then(|id| commit_time(repo, id).ok());
        Ok(Standing {
            state,
            reason: None,
            head: head.commit,
            branch: head.branch.map(|b| b.to_string()),
            ahead,
            behind,
            changed: seen.newest.max(committed),
            running,
            locked: entry.locked,
        })
    }
}

/// A shadow that is only a branch now.
fn finished(repo: &Repo, task: &Task) -> Result<Standing> {
    let branch = task.branch.as_ref().context("it had no branch")?;
    let head = repo.find_ref(branch.as_str().into())?;
    let head = head.with_context(|| format!("its branch '{}' is gone", short(branch)))?;
    let (ahead, behind) = counts(repo, task, Some(head));
    Ok(Standing {
        state: "finished",
        head: Some(head),
        ahead,
        behind,
        changed: commit_time(repo, head).ok(),
        ..Standing::default()
    })
}

/// git's entry of the shadow, when it and the folder name each other.
///
/// # Errors
/// Says what is missing.
pub(super) fn healthy_entry(repo: &Repo, task: &Task) -> Result<Entry> {
    if task.phase == Phase::Finished {
        crate::error::bail!("it is finished: its folder is gone, its branch waits for a merge");
    }
    let entry = task
        .admin(repo)
        .and_then(|admin| Entry::read(&admin))
        .context("git has no entry of its worktree any more")?;
    if !task.path.is_dir() {
        crate::error::bail!("its folder '{}' is gone", task.path.display());
    }
    if !entry.points_both_ways(&task.path) {
        crate::error::bail!("its folder and git's entry do not name each other");
    }
    Ok(entry)
}

/// That nothing is under way in the shadow, and HEAD is at its branch: what is done
/// with HEAD (`verb`) is then done with that branch.
///
/// # Errors
/// When it is not so, or HEAD cannot be read.
pub(super) fn require_own_branch(task: &Task, verb: &str) -> Result<()> {
    let shadow = task.open()?;
    if let Some(operation) = shadow.operation() {
        return Err(hinted(
            format!(
                "cannot {verb} '{}': a {operation} is in progress",
                task.task
            ),
            "end it in the shadow first",
        ));
    }
    let Some(own) = task.short_branch() else {
        return Ok(());
    };
    let head = shadow.head()?.branch.map(|branch| branch.to_string());
    if head == task.branch {
        return Ok(());
    }
    let found = match &head {
        Some(other) => format!("the branch '{}' is checked out in it", short(other)),
        None => "HEAD is detached in it".to_owned(),
    };
    Err(hinted(
        format!("cannot {verb} '{}': {found}, not '{own}'", task.task),
        format!("check out '{own}' in the shadow first"),
    ))
}

/// Ahead of and behind the branch it will be merged into; of the base, when that is gone.
fn counts(repo: &Repo, task: &Task, head: Option<ObjectId>) -> (Option<u64>, Option<u64>) {
    let Some(head) = head else {
        return (None, None);
    };
    let target = task
        .into
        .as_ref()
        .and_then(|into| repo.find_ref(into.as_str().into()).ok().flatten())
        .or_else(|| task.base_commit().ok());
    let Some(target) = target else {
        return (None, None);
    };
    if target == head {
        return (Some(0), Some(0));
    }
    let counted = repo
        .git(["rev-list", "--count", "--left-right"])
        .arg(format!("{target}...{head}"))
        .stdout();
    let numbers = counted.ok().and_then(|line| {
        let (left, right) = line.trim_ascii().split_once_str(b"\t")?;
        Some((
            left.to_str().ok()?.parse().ok()?,
            right.to_str().ok()?.parse().ok()?,
        ))
    });
    match numbers {
        Some((behind, ahead)) => (Some(ahead), Some(behind)),
        None => (None, None),
    }
}

/// What `--json` prints of a shadow.
///
/// # Errors
/// None today; what is unknown is null.
pub(super) fn task_json(repo: &Repo, task: &Task) -> Result<Value> {
    let standing = Standing::of(repo, task);
    Ok(json_of(task, &standing))
}

pub(super) fn json_of(task: &Task, standing: &Standing) -> Value {
    let mut deps: Vec<Value> = Vec::new();
    let mut copied: Vec<Value> = Vec::new();
    for made in &task.manifest {
        match made.how {
            How::Copied => copied.push(path_json(&made.path)),
            how => deps.push(json!({"path": path_json(&made.path), "how": how.word()})),
        }
    }
    for left in &task.left_out {
        deps.push(json!({
            "path": path_json(&left.path), "how": "left out", "reason": left.reason,
        }));
    }
    let setup: Vec<Value> = task
        .setup
        .iter()
        .map(|s| json!({"command": s.command, "exit": s.exit}))
        .collect();
    let owner = standing
        .running
        .as_ref()
        .map(|process| json!({"pid": process.pid, "since": rfc3339(process.since)}));
    let branch = standing.branch.as_deref().or(task.branch.as_deref());
    json!({
        "task": task.task,
        "branch": branch.map(short),
        "path": path_json(&task.path),
        "base": task.base,
        "head": standing.head.map(|id| id.to_string()),
        "state": standing.state,
        "reason": standing.reason,
        "locked": standing.locked,
        "ahead": standing.ahead,
        "behind": standing.behind,
        "changed": standing.changed.map(rfc3339),
        "port": task.port,
        "ports": task.ports,
        "deps": deps,
        "copied": copied,
        "setup": setup,
        "created": rfc3339(task.created),
        "owner": owner,
    })
}

/// A moment as RFC 3339, in UTC.
pub(super) fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_string()
}

/// Bytes on disk of all in `folder` that no other name shares: links and what is
/// hard-linked elsewhere are not counted.
pub(super) fn exclusive_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) if found.nlink() == 1 => sum += found.blocks() * 512,
                _ => {}
            }
        }
    }
    sum
}
