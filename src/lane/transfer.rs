//! A checkpoint as one file, a git bundle (gitformat-bundle(5)), and back.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::{CommitRef, Kind as ObjectKind};

use crate::error::{Context, Hint, Result, anyhow, bail};
use crate::git::Repo;
use crate::lane::durability::{Durability, writing};
use crate::lane::find::Checkpoint;
use crate::lane::identity::{CHECKPOINTS, INDEXES};
use crate::lane::publish::{Turn, commit_bytes, now};
use crate::lane::record::Record;
use crate::lane::refs::Refs;
use crate::lane::whole;
use crate::snapshot::sink::Sink;
use crate::state::{crash, file};

/// A header that is longer is none.
const HEADER_AT_MOST: usize = 1 << 20;

/// What stands before the pack, and what the pack must hold.
pub struct Bundle {
    /// The header, with the empty line that ends it.
    pub header: String,
    /// The commits to pack, one a line.
    pub commits: String,
}

/// Prepares the bundle of `checkpoint`: its commit, and its index state without
/// the parent, which would take the whole history along.
///
/// # Errors
/// When its objects cannot be read, or that commit not be written.
pub fn bundle(repo: &Repo, checkpoint: &Checkpoint) -> Result<Bundle> {
    let short = checkpoint
        .name
        .strip_prefix(CHECKPOINTS)
        .unwrap_or(&checkpoint.name);
    let mut refs = vec![(checkpoint.commit, format!("{CHECKPOINTS}{short}"))];
    if let Some(index) = checkpoint.record.index {
        let (tree, message) = tree_and_message(repo, index)?;
        let sink = Sink::new(repo, writing(repo)?);
        let bytes = commit_bytes(tree, None, now(), &message);
        let alone = sink.put(repo.gix(), ObjectKind::Commit, bytes)?;
        sink.finish()?;
        refs.push((alone, format!("{INDEXES}{short}")));
    }
    let mut header = match repo.gix().object_hash() {
        gix::hash::Kind::Sha1 => "# v2 git bundle\n".to_owned(),
        other => format!("# v3 git bundle\n@object-format={other}\n"),
    };
    let mut commits = String::new();
    for (id, name) in &refs {
        header.push_str(&format!("{id} {name}\n"));
        commits.push_str(&format!("{id}\n"));
    }
    header.push('\n');
    Ok(Bundle { header, commits })
}

/// A checkpoint that a bundle holds.
struct Held {
    commit: ObjectId,
    /// `<lane>/<NNN>` where it comes from.
    name: String,
    index: Option<ObjectId>,
}

/// Takes every checkpoint in the bundle `path` into the lane of `turn`. Its
/// objects are checked as those of a fetch from a stranger: a name like `.git`
/// in a tree would else be written by an undo.
///
/// # Errors
/// When it is no bundle of checkpoints, is not whole, or something cannot be written.
pub fn import(repo: &Repo, turn: &Turn, path: &Path) -> Result<Vec<Checkpoint>> {
    let shown = path.display();
    let mut file = File::open(path).with_context(|| format!("cannot open '{shown}'"))?;
    let (held, pack_at) = read_header(repo, &mut file)
        .with_context(|| format!("'{shown}' is no bundle of checkpoints"))?;
    file.seek(SeekFrom::Start(pack_at))?;
    let note = "--keep=git-harness: a checkpoint is being imported";
    let stored = repo
        .git(["index-pack", "--stdin", "--strict", note])
        .input_file(file)
        .stdout()
        .with_context(|| format!("cannot take the objects of '{shown}'"))
        .hint("nothing was imported")?;
    // Kept from every gc until the refs stand.
    let marker = stored
        .strip_prefix(b"keep\t")
        .map(|name| format!("pack-{}.keep", name.trim_ascii().as_bstr()))
        .map(|name| repo.objects_dir().join("pack").join(name));
    let imported = held
        .into_iter()
        .map(|held| publish(repo, turn, held))
        .collect::<Result<Vec<_>>>();
    if let Some(marker) = marker {
        file::remove(&marker)?;
    }
    imported
}

fn publish(repo: &Repo, turn: &Turn, held: Held) -> Result<Checkpoint> {
    let there = Checkpoint::read(repo, &held.name, held.commit)?;
    let number = turn.next_number(repo)?;
    let sink = Sink::new(repo, writing(repo)?);
    let put = |bytes| sink.put(repo.gix(), ObjectKind::Commit, bytes);
    let index = match held.index {
        Some(index) => {
            let (tree, message) = tree_and_message(repo, index)?;
            Some(put(commit_bytes(tree, None, now(), &message))?)
        }
        None => None,
    };
    let record = Record {
        number,
        lane: turn.lane.name.clone(),
        index,
        imported: Some(format!("{} {}", held.commit, held.name)),
        ..there.record
    };
    let commit = put(commit_bytes(
        there.tree,
        None,
        there.time,
        &record.message(),
    ))?;
    let refs = Refs::prepare(
        repo,
        &turn.lane,
        number,
        commit,
        index,
        Durability::of(repo)?,
    )?;
    let _kept = whole::keep(repo, refs.write(sink)?);
    turn.lane.count(repo, number, record.kind)?;
    crash::point();
    refs.publish(repo)?;
    let name = turn.lane.checkpoint_ref(number);
    Checkpoint::read(repo, &name, commit)
}

fn tree_and_message(repo: &Repo, commit: ObjectId) -> Result<(ObjectId, String)> {
    let bytes = repo.object(commit, ObjectKind::Commit)?;
    let parsed = CommitRef::from_bytes(&bytes, repo.gix().object_hash())
        .with_context(|| format!("cannot read the commit {commit}"))?;
    Ok((parsed.tree(), parsed.message.to_str_lossy().into_owned()))
}

/// The checkpoints that the header names, and where the pack begins.
fn read_header(repo: &Repo, file: &mut File) -> Result<(Vec<Held>, u64)> {
    let mut bytes = Vec::new();
    file.take(HEADER_AT_MOST as u64).read_to_end(&mut bytes)?;
    let end = bytes
        .find(b"\n\n")
        .context("it does not begin with a bundle's header")?;
    let mut lines = bytes[..end].lines();
    let mut hash = gix::hash::Kind::Sha1;
    match lines.next() {
        Some(b"# v2 git bundle" | b"# v3 git bundle") => {}
        _ => bail!("it does not begin with a bundle's header"),
    }
    let mut checkpoints: Vec<(ObjectId, String)> = Vec::new();
    let mut indexes: Vec<(ObjectId, String)> = Vec::new();
    for line in lines {
        if let Some(capability) = line.strip_prefix(b"@") {
            hash = match capability {
                b"object-format=sha1" => gix::hash::Kind::Sha1,
                b"object-format=sha256" => gix::hash::Kind::Sha256,
                other => bail!("it needs '{}', which is not known", other.as_bstr()),
            };
            continue;
        }
        if line.starts_with(b"-") {
            bail!("it needs commits that it does not hold");
        }
        let (id, name) = line
            .split_once_str(" ")
            .with_context(|| format!("'{}' names no ref", line.as_bstr()))?;
        let id = ObjectId::from_hex(id).map_err(|_| anyhow!("a ref in it has no object"))?;
        let name = BString::from(name).to_string();
        if let Some(short) = name.strip_prefix(CHECKPOINTS) {
            checkpoints.push((id, short.to_owned()));
        } else if let Some(short) = name.strip_prefix(INDEXES) {
            indexes.push((id, short.to_owned()));
        }
    }
    if hash != repo.gix().object_hash() {
        bail!("its objects are named by {hash}, those of this repository are not");
    }
    if checkpoints.is_empty() {
        bail!("it holds no checkpoint");
    }
    let held = checkpoints
        .into_iter()
        .map(|(commit, name)| Held {
            index: indexes
                .iter()
                .find(|(_, other)| *other == name)
                .map(|(id, _)| *id),
            commit,
            name,
        })
        .collect();
    Ok((held, end as u64 + 2))
}
