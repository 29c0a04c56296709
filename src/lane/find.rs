//! Finding checkpoints: by number, by lane and number, by ref, by age.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::{CommitRef, Kind as ObjectKind};

use crate::error::{Context, Result, anyhow, bail, hinted};
use crate::git::Repo;
use crate::git::quote::unquoted;
use crate::lane::identity::{self, CHECKPOINTS, Lane};
use crate::lane::record::{LINES_AT_MOST, Record, parse_skipped};
use crate::snapshot::difference::Trees;
use crate::snapshot::scan::Skipped;

/// A checkpoint that was found.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its ref.
    pub name: String,
    /// Its commit.
    pub commit: ObjectId,
    /// The tree of its working tree.
    pub tree: ObjectId,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// What it says about itself.
    pub record: Record,
}

impl Checkpoint {
    /// Reads the checkpoint that the ref `name` gives as `commit`.
    ///
    /// # Errors
    /// When its commit is missing or none of ours.
    pub fn read(repo: &Repo, name: &str, commit: ObjectId) -> Result<Self> {
        Self::read_record(repo, name, commit)?.with_context(|| format!("'{name}' is no checkpoint"))
    }

    /// The same; `None` when the commit, which is there, is none of ours.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_if_ours(repo: &Repo, name: &str, commit: ObjectId) -> Result<Option<Self>> {
        Ok(Self::read_record(repo, name, commit)?.ok())
    }

    /// The same; the inner error says why the commit, which is there, is none of ours.
    fn read_record(repo: &Repo, name: &str, commit: ObjectId) -> Result<Result<Self>> {
        let shown = name.strip_prefix(CHECKPOINTS).unwrap_or(name);
        let bytes = repo
            .object(commit, ObjectKind::Commit)
            .with_context(|| format!("cannot read checkpoint {shown}"))?;
        let parsed = CommitRef::from_bytes(&bytes, repo.gix().object_hash())
            .with_context(|| format!("cannot read checkpoint {shown}"))?;
        Ok(Record::parse(parsed.message).map(|record| Checkpoint {
            name: name.to_owned(),
            commit,
            tree: parsed.tree(),
            time: parsed.author().map_or(0, |author| author.seconds()),
            record,
        }))
    }

    /// Its number, as it is shown: at least three digits.
    pub fn number(&self) -> String {
        format!("{:03}", self.record.number)
    }

    /// `<lane>/<NNN>`.
    pub fn lane_and_number(&self) -> String {
        format!("{}/{}", self.record.lane, self.number())
    }
}

/// The newest checkpoints of `lane`, newest first, at most `count`.
///
/// # Errors
/// When one cannot be read.
pub fn newest(repo: &Repo, lane: &Lane, count: usize) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    let mut misses = 0;
    let mut number = lane.highest(repo)?;
    // One look-up each is cheaper than listing ten thousand refs, until drops and
    // prunes have left holes.
    while found.len() < count && number > 0 && misses < 32 {
        match by_number(repo, &lane.name, number)? {
            Some(checkpoint) => found.push(checkpoint),
            None => misses += 1,
        }
        number -= 1;
    }
    if found.len() < count && number > 0 {
        let older = identity::numbers(repo, &lane.name)?;
        for (n, commit) in older.into_iter().rev().filter(|(n, _)| *n <= number) {
            if found.len() == count {
                break;
            }
            let name = identity::checkpoint_ref(&lane.name, n);
            found.push(Checkpoint::read(repo, &name, commit)?);
        }
    }
    Ok(found)
}

/// All checkpoints of `lane` from number `first` on, ascending. A ref that somebody
/// else put among ours is passed over.
///
/// # Errors
/// When one cannot be read.
pub fn from_number(repo: &Repo, lane: &str, first: u32) -> Result<Vec<Checkpoint>> {
    identity::numbers(repo, lane)?
        .into_iter()
        .filter(|(number, _)| *number >= first)
        .filter_map(|(number, commit)| {
            let name = identity::checkpoint_ref(lane, number);
            match Checkpoint::read_record(repo, &name, commit) {
                Ok(ours) => ours.ok().map(Ok),
                Err(unreadable) => Some(Err(unreadable)),
            }
        })
        .collect()
}

/// The names of all lanes that have checkpoints.
///
/// # Errors
/// When the refs cannot be read.
pub fn lanes(repo: &Repo) -> Result<Vec<String>> {
    let mut names: Vec<String> = repo
        .refs_below(CHECKPOINTS)?
        .into_iter()
        .filter_map(|(name, _)| {
            let rest: BString = name.strip_prefix(CHECKPOINTS.as_bytes())?.into();
            let (lane, _) = rest.split_once_str("/")?;
            Some(lane.to_str().ok()?.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Checkpoint `number` of `lane`, if it is there.
///
/// # Errors
/// When it cannot be read.
pub fn by_number(repo: &Repo, lane: &str, number: u32) -> Result<Option<Checkpoint>> {
    let name = identity::checkpoint_ref(lane, number);
    match repo.find_ref(name.as_str().into())? {
        Some(commit) => Checkpoint::read(repo, &name, commit).map(Some),
        None => Ok(None),
    }
}

/// The checkpoint before `checkpoint` in its lane.
///
/// # Errors
/// When it cannot be read.
pub fn before(repo: &Repo, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>> {
    let lane = &checkpoint.record.lane;
    if let Some(number) = checkpoint.record.number.checked_sub(1)
        && let Some(found) = by_number(repo, lane, number)?
    {
        return Ok(Some(found));
    }
    let older = identity::numbers(repo, lane)?
        .into_iter()
        .rev()
        .find(|(number, _)| *number < checkpoint.record.number);
    match older {
        Some((number, _)) => by_number(repo, lane, number),
        None => Ok(None),
    }
}

/// The checkpoint that a user means by `text`: a number of this lane,
/// `<lane>/<N>`, a ref, or `@{n}`, the n-th newest.
///
/// # Errors
/// When there is no such checkpoint; says which there are.
pub fn by_text(repo: &Repo, text: &str) -> Result<Checkpoint> {
    let own = Lane::find(repo)?;
    let lane = || own.as_ref().context("this worktree has no checkpoint yet");
    if let Ok(number) = text.parse::<u32>() {
        let lane = lane()?;
        return by_number(repo, &lane.name, number)?.ok_or_else(|| missing(text, &lane.name));
    }
    if let Some(back) = text.strip_prefix("@{").and_then(|t| t.strip_suffix('}')) {
        let back: usize = back
            .parse()
            .map_err(|_| anyhow!("'{text}' is no checkpoint: a number stands in @{{…}}"))?;
        let lane = lane()?;
        return newest(repo, lane, back.saturating_add(1))?
            .into_iter()
            .nth(back)
            .ok_or_else(|| missing(text, &lane.name));
    }
    if text.starts_with("refs/") {
        if !text.starts_with(CHECKPOINTS) {
            bail!("'{text}' is no checkpoint: those are below {CHECKPOINTS}");
        }
        let commit = repo
            .find_ref(text.into())?
            .with_context(|| format!("there is no checkpoint '{text}'"))?;
        return Checkpoint::read(repo, text, commit);
    }
    if let Some((lane, number)) = text.split_once('/')
        && let Ok(number) = number.parse::<u32>()
    {
        return by_number(repo, lane, number)?.ok_or_else(|| missing(text, lane));
    }
    Err(hinted(
        format!("'{text}' is no checkpoint"),
        "name it by number (3), lane and number (main/3), ref, or age (@{0} is the newest)",
    ))
}

/// Everything that `checkpoint` could not capture, also where its message has
/// only the beginning.
///
/// # Errors
/// When the full list cannot be read.
pub fn all_skipped(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<Skipped>> {
    match long_list(repo, checkpoint, checkpoint.record.skipped.len(), "skipped")? {
        Some(lines) => Ok(lines
            .lines()
            .filter_map(|line| parse_skipped(line.as_bstr()))
            .collect()),
        None => Ok(checkpoint.record.skipped.clone()),
    }
}

/// Every path that `checkpoint` stores as it is, sorted.
///
/// # Errors
/// When the full list cannot be read.
pub fn all_raw(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<BString>> {
    let mut raw = match long_list(repo, checkpoint, checkpoint.record.raw.len(), "raw")? {
        Some(lines) => lines
            .lines()
            .filter_map(|line| unquoted(line.as_bstr()))
            .collect(),
        None => checkpoint.record.raw.clone(),
    };
    raw.sort();
    Ok(raw)
}

/// The tree of the index when `checkpoint` was taken: stage 0 of its index state,
/// or HEAD's tree when the index was that.
///
/// # Errors
/// When an object cannot be read.
pub fn index_tree(repo: &Repo, checkpoint: &Checkpoint) -> Result<Option<ObjectId>> {
    let record = &checkpoint.record;
    if let Some(index) = record.index {
        let bytes = repo.object(repo.tree_of(index)?, ObjectKind::Tree)?;
        let tree = gix::objs::TreeRef::from_bytes(&bytes, repo.gix().object_hash())
            .context("cannot read an index state")?;
        let staged = tree.entries.iter().find(|e| e.filename == "0");
        return Ok(staged.map(|e| e.oid.to_owned()));
    }
    record.head.commit.map(|id| repo.tree_of(id)).transpose()
}

/// The blob `name` of the index commit, when the message's list was cut.
fn long_list(
    repo: &Repo,
    checkpoint: &Checkpoint,
    in_message: usize,
    name: &str,
) -> Result<Option<Vec<u8>>> {
    let (LINES_AT_MOST.., Some(index)) = (in_message, checkpoint.record.index) else {
        return Ok(None);
    };
    let trees = Trees::new(repo, HashMap::new());
    match trees.value(repo.tree_of(index)?, name.into())? {
        Some((_, blob)) => repo.object(blob, ObjectKind::Blob).map(Some),
        None => Ok(None),
    }
}

/// Whether a tool or a command was ever announced in `lane`.
///
/// # Errors
/// When a checkpoint cannot be read.
pub fn any_evidence(repo: &Repo, lane: &str) -> Result<bool> {
    if let Some(known) = identity::had_agents(repo, lane)? {
        return Ok(known);
    }
    // From the newest on: where agents work, one of the last says so.
    for (number, commit) in identity::numbers(repo, lane)?.into_iter().rev() {
        let name = identity::checkpoint_ref(lane, number);
        if identity::is_evidence(Checkpoint::read(repo, &name, commit)?.record.kind) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn missing(text: &str, lane: &str) -> crate::error::Error {
    hinted(
        format!("there is no checkpoint '{text}' in lane '{lane}'"),
        "'git checkpoint list' shows those there are, '--all' those of every lane",
    )
}
