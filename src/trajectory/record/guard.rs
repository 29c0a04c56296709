//! A checkpoint before a call that may write, and what the call left behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Result;
use crate::events::mask::{Masked, secrets};
use crate::events::time;
use crate::git::{BString, ByteSlice, Repo};
use crate::lane::record::Kind;
use crate::lane::save::{self, Request};
use crate::lane::wrote::{self, Wrote};
use crate::lane::{Lane, find, refused};
use crate::snapshot::asked::ids_of;
use crate::trajectory::agent::tools::Doing;
use crate::trajectory::record::place::{self, worktree_of};
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

/// Takes the checkpoints, one in each worktree that may be written; an error is part of
/// the answer.
pub(super) fn before(ask: &Ask<'_>) -> Guarded {
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
    let places = places(ask);
    let mut guards = places.iter().map(|(root, paths)| in_one(ask, root, paths));
    match (guards.next(), ask.doing) {
        (Some(first), _) => Guarded {
            also: guards.collect(),
            ..first
        },
        (None, Doing::Writes(_)) => none("the path is outside every worktree"),
        (None, _) => none("the folder is outside every worktree"),
    }
}

/// The worktrees that may be written, each with those of the paths that it holds.
fn places(ask: &Ask<'_>) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let mut places: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
    let (paths, is_known) = match ask.doing {
        Doing::Writes(paths) => (paths.as_slice(), true),
        Doing::Unknown(paths) => (paths.as_slice(), false),
        _ => (&[][..], false),
    };
    if !is_known {
        // In doubt it writes where it stands.
        places.extend(worktree_of(ask.here, ask.cwd).map(|root| (root, Vec::new())));
    }
    for path in paths {
        let Some(root) = worktree_of(ask.here, path) else {
            continue;
        };
        let named = is_known.then(|| path.clone());
        match places.iter_mut().find(|(known, _)| *known == root) {
            Some((_, held)) => held.extend(named),
            None => places.push((root, named.into_iter().collect())),
        }
    }
    places
}

fn in_one(ask: &Ask<'_>, worktree: &Path, paths: &[PathBuf]) -> Guarded {
    let mut guarded = Guarded {
        taken: time::now(),
        worktree: Some(worktree.to_string_lossy().into_owned()),
        paths: paths
            .iter()
            .map(|p| p.to_string_lossy().into_owned())
            .collect(),
        ..Guarded::default()
    };
    if let Doing::Runs(command) = ask.doing {
        guarded.is_command = true;
        guarded.command = Some(Masked::new(command).cut(1000).as_str().to_owned());
    }
    match take(worktree, paths, ask, guarded.command.clone()) {
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
    guarded.keep_first_paths();
    guarded
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
        other = place::open(worktree)?;
        &other
    };
    let request = Request {
        kind: match ask.doing {
            Doing::Writes(_) => Kind::BeforeWrite,
            _ => Kind::BeforeCommand,
        },
        tool: Some(label(ask.tool)),
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
        call: Some(label(ask.call)),
        session: Some(label(ask.session)),
        command: command
            .or_else(|| matches!(ask.doing, Doing::Unknown(_)).then(|| label(ask.tool))),
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

/// Gives the guards of a call that ends all of their paths again.
pub(super) fn recall(guarded: &mut Guarded) {
    let also = guarded.also.iter_mut();
    for one in also {
        recall_one(one);
    }
    recall_one(guarded);
}

/// A checkpoint that is gone leaves the first paths.
fn recall_one(guarded: &mut Guarded) {
    let (Some(name), Some(worktree)) = (&guarded.name, &guarded.worktree) else {
        return;
    };
    if guarded.path_count <= guarded.paths.len() {
        return;
    }
    let root = Path::new(worktree);
    let found = place::open(root).and_then(|repo| find::by_text(&repo, name));
    if let Ok(checkpoint) = found {
        let paths = checkpoint.record.paths.iter();
        guarded.paths = paths
            .map(|path| root.join(path.to_os_str_lossy()))
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
    }
}

/// Records what a call left: the blobs of the paths it named, or a snapshot
/// after a command. Gives each path with the id left there.
pub(super) fn after(
    guarded: &Guarded,
    tool: &str,
    call: &str,
    session: &str,
) -> Result<Vec<(String, String)>> {
    let mut left = Vec::new();
    for one in guarded.all().filter(|one| one.number.is_some()) {
        left.extend(after_one(one, tool, call, session)?);
    }
    Ok(left)
}

fn after_one(
    guarded: &Guarded,
    tool: &str,
    call: &str,
    session: &str,
) -> Result<Vec<(String, String)>> {
    let Some(worktree) = &guarded.worktree else {
        return Ok(Vec::new());
    };
    let repo = place::open(Path::new(worktree))?;
    if guarded.paths.is_empty() {
        let request = Request {
            kind: Kind::AfterCommand,
            tool: Some(label(tool)),
            call: Some(label(call)),
            session: Some(label(session)),
            after: guarded.number,
            command: guarded.command.clone().or_else(|| Some(label(tool))),
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
    let wrote = |(path, id)| Wrote {
        path,
        id,
        session: Some(label(session)),
    };
    let left: Vec<Wrote> = paths.into_iter().zip(ids).map(wrote).collect();
    let _lock = lane.lock(&repo, PATIENCE)?;
    wrote::append(&repo, &left)?;
    let named = |wrote: &Wrote| (wrote.path.to_string(), wrote.left());
    Ok(left.iter().map(named).collect())
}

/// What a checkpoint says of `text`.
fn label(text: &str) -> String {
    Masked::new(text).cut(200).as_str().to_owned()
}

/// Takes the checkpoints of a refused call back, and remembers which are gone.
pub(super) fn take_back(guarded: &mut Guarded, call: &str) -> Result<()> {
    let also = guarded.also.iter_mut().map(|one| take_one_back(one, call));
    also.collect::<Result<()>>()?;
    take_one_back(guarded, call)
}

fn take_one_back(guarded: &mut Guarded, call: &str) -> Result<()> {
    if let (Some(worktree), Some(number)) = (&guarded.worktree, guarded.number) {
        let repo = place::open(Path::new(worktree))?;
        guarded.is_taken_back = refused::take_back(&repo, number, call, PATIENCE)?;
    }
    Ok(())
}
