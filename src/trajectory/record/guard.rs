//! A checkpoint before a call that may write, and what the call left behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Result;
use crate::events::mask::{Masked, secrets};
use crate::events::time;
use crate::git::enclosing::enclosing;
use crate::git::{BString, Repo};
use crate::lane::record::Kind;
use crate::lane::save::{self, Request};
use crate::lane::{Lane, refused, wrote};
use crate::snapshot::take::ids_of;
use crate::trajectory::agent::tools::Doing;
use crate::trajectory::record::state::Guarded;

/// How long a hook waits for a lock before it lets the agent go on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What is to be guarded.
pub(super) struct Ask<'a> {
    /// The repository of the session, which most writes are in.
    pub(super) here: &'a Repo,
    pub(super) doing: &'a Doing,
    pub(super) cwd: &'a Path,
    pub(super) tool: &'a str,
    pub(super) call: &'a str,
    pub(super) session: &'a str,
    pub(super) enabled: bool,
}

/// Takes the checkpoint; an error is part of the answer.
pub(super) fn before(ask: &Ask<'_>) -> Guarded {
    let mut guarded = Guarded {
        taken: time::now(),
        ..Guarded::default()
    };
    let none = |why: &str| Guarded {
        taken: time::now(),
        why: Some(why.to_owned()),
        ..Guarded::default()
    };
    if *ask.doing == Doing::Reads {
        return none("it only reads");
    }
    if !ask.enabled {
        return none("checkpoint.onHook is false");
    }
    let (worktree, paths) = match ask.doing {
        Doing::Writes(paths) => match home_of(paths) {
            Some(found) => found,
            None => return none("the path is outside every worktree"),
        },
        _ => match enclosing(ask.cwd) {
            Some(found) => (found.worktree, Vec::new()),
            None => return none("the folder is outside every worktree"),
        },
    };
    guarded.worktree = Some(worktree.to_string_lossy().into_owned());
    guarded.paths = paths
        .iter()
        .map(|p| p.to_string_lossy().into_owned())
        .collect();
    if let Doing::Runs(command) = ask.doing {
        guarded.is_command = true;
        guarded.command = Some(Masked::new(command).cut(1000).as_str().to_owned());
    }
    match take(&worktree, &paths, ask, guarded.command.clone()) {
        Ok(Some(checkpoint)) => {
            guarded.number = Some(checkpoint.record.number);
            guarded.name = Some(checkpoint.name);
            guarded.commit = Some(checkpoint.commit.to_string());
        }
        Ok(None) => guarded.why = Some("nothing is new since the last one".to_owned()),
        Err(error) => {
            guarded.error = Some(
                Masked::new(&format!("{error:#}"))
                    .cut(1000)
                    .as_str()
                    .to_owned(),
            )
        }
    }
    guarded
}

/// The worktree that holds the first of `paths` that is in one, and those of
/// them that it holds.
fn home_of(paths: &[PathBuf]) -> Option<(PathBuf, Vec<PathBuf>)> {
    let worktree = paths.iter().find_map(|path| enclosing(path))?.worktree;
    let inside = paths
        .iter()
        .filter(|path| enclosing(path).is_some_and(|e| e.worktree == worktree))
        .cloned()
        .collect();
    Some((worktree, inside))
}

fn take(
    worktree: &Path,
    paths: &[PathBuf],
    ask: &Ask<'_>,
    command: Option<String>,
) -> Result<Option<crate::lane::Checkpoint>> {
    let other;
    let repo = if ask.here.worktree() == Some(worktree) {
        ask.here
    } else {
        other = Repo::at(worktree)?;
        &other
    };
    let request = Request {
        kind: match ask.doing {
            Doing::Writes(_) => Kind::BeforeWrite,
            _ => Kind::BeforeCommand,
        },
        tool: Some(Masked::new(ask.tool).cut(200).as_str().to_owned()),
        // The name of a file may be a secret; its tree has it, a label need not.
        paths: in_worktree(repo, paths)?
            .into_iter()
            .map(|path| {
                if secrets(&path).is_empty() {
                    path
                } else {
                    Masked::from_bytes(&path).as_str().into()
                }
            })
            .collect(),
        call: Some(Masked::new(ask.call).cut(200).as_str().to_owned()),
        session: Some(Masked::new(ask.session).cut(200).as_str().to_owned()),
        command: command.or_else(|| {
            matches!(ask.doing, Doing::Unknown)
                .then(|| Masked::new(ask.tool).cut(200).as_str().to_owned())
        }),
        only_if_changed: true,
        ..Request::default()
    };
    save::save(repo, request, PATIENCE)
}

fn in_worktree(repo: &Repo, paths: &[PathBuf]) -> Result<Vec<BString>> {
    let mut found = Vec::new();
    for path in paths {
        found.extend(repo.path_in_worktree(path)?);
    }
    Ok(found)
}

/// Records what a call left: the blobs of the paths it named, or a snapshot
/// after a command. Gives each path with the id left there.
pub(super) fn after(
    guarded: &Guarded,
    tool: &str,
    call: &str,
    session: &str,
) -> Result<Vec<(String, String)>> {
    let Some(worktree) = &guarded.worktree else {
        return Ok(Vec::new());
    };
    let repo = Repo::at(Path::new(worktree))?;
    if guarded.paths.is_empty() {
        let Some(number) = guarded.number else {
            return Ok(Vec::new());
        };
        let request = Request {
            kind: Kind::AfterCommand,
            tool: Some(tool.to_owned()),
            call: Some(call.to_owned()),
            session: Some(session.to_owned()),
            after: Some(number),
            command: guarded.command.clone().or_else(|| Some(tool.to_owned())),
            ..Request::default()
        };
        save::save(&repo, request, PATIENCE)?;
        return Ok(Vec::new());
    }
    let paths: Vec<PathBuf> = guarded.paths.iter().map(PathBuf::from).collect();
    let paths = in_worktree(&repo, &paths)?;
    let Some(lane) = Lane::find(&repo)? else {
        return Ok(Vec::new());
    };
    let ids = ids_of(&repo, &paths)?;
    let left: Vec<wrote::Wrote> = paths.into_iter().zip(ids).collect();
    let _lock = lane.lock(&repo, PATIENCE)?;
    wrote::append(&repo, &left, Some(session))?;
    let named = |(path, id): &wrote::Wrote| {
        (
            path.to_string(),
            id.map_or_else(|| "absent".to_owned(), |id| id.to_string()),
        )
    };
    Ok(left.iter().map(named).collect())
}

/// Takes the checkpoint of a refused call back; says whether it is gone.
pub(super) fn take_back(guarded: &Guarded, call: &str) -> Result<bool> {
    match (&guarded.worktree, guarded.number) {
        (Some(worktree), Some(number)) => {
            refused::take_back(&Repo::at(Path::new(worktree))?, number, call, PATIENCE)
        }
        _ => Ok(false),
    }
}
