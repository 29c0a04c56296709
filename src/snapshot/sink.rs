//! Where new objects go: loose files while they are few, one pack as soon as
//! they are many, so that making them durable is one sync and not one each.
//! The objects exist when [`Sink::finish`] returns, and not before.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::objs::Kind;
use tempfile::NamedTempFile;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::snapshot::pack::{Pack, PackWriter, clear_abandoned};
use crate::snapshot::workers;
use crate::state::file::{self, explain};

/// Above this many objects, a pack.
const LOOSE_AT_MOST: usize = 8;
/// Or above this many bytes, so that memory stays flat.
const PENDING_BYTES_AT_MOST: usize = 4 << 20;

/// What a sink does with objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writing {
    /// Computes ids only; nothing is written.
    #[default]
    Nothing,
    /// Writes, and leaves it to the system when it reaches the disk.
    Fast,
    /// Writes, and syncs everything once in [`Sink::finish`].
    Synced,
}

/// A place for the objects of one snapshot, used from many threads.
pub struct Sink {
    objects: PathBuf,
    hash: gix::hash::Kind,
    writing: Writing,
    /// Objects that the anchor checkpoint keeps: no need to look.
    kept: HashSet<ObjectId>,
    state: Mutex<State>,
    /// A gc is under way and may be about to prune what nothing names yet:
    /// everything goes into a pack that it must keep.
    defensive: bool,
    remembers: bool,
    /// Where packs are marked as ours while they are.
    markers: PathBuf,
}

#[derive(Default)]
struct State {
    seen: HashSet<ObjectId>,
    trees: HashMap<ObjectId, Vec<u8>>,
    pending: Vec<(ObjectId, Kind, Vec<u8>)>,
    pending_bytes: usize,
    pack: Option<PackWriter>,
    written: Vec<ObjectId>,
    /// A large object went into a loose file of its own.
    streamed: bool,
}

/// What a finished sink has written. Dropped, it frees its pack for git's gc,
/// so it must live until a ref names the objects.
#[derive(Debug, Default)]
pub struct Written {
    /// New objects, and old ones that only we may be using.
    pub objects: Vec<ObjectId>,
    /// The content of those that are loose files now.
    loose: Vec<(ObjectId, Kind, Vec<u8>)>,
    pack: Option<Pack>,
    all_packed: bool,
    folder: PathBuf,
    hash: Option<gix::hash::Kind>,
}

impl Written {
    /// Whether every object is on disk now.
    pub fn all_there(&self) -> bool {
        let hash = self.hash.unwrap_or(gix::hash::Kind::Sha1);
        are_there(&self.folder, hash, self.objects.iter().copied())
    }

    /// Whether these objects of `repo` are on disk now.
    pub fn are_there(repo: &Repo, ids: impl Iterator<Item = ObjectId>) -> bool {
        are_there(&repo.objects_dir(), repo.gix().object_hash(), ids)
    }

    /// The object `id` and what it is, if it is still in memory.
    pub fn content(&self, id: ObjectId) -> Option<(Kind, &[u8])> {
        let found = self.loose.iter().find(|(other, ..)| *other == id);
        found.map(|(_, kind, bytes)| (*kind, bytes.as_slice()))
    }

    /// The name of the pack that was written, `pack-<hash>`, if it was one.
    pub fn pack_name(&self) -> Option<&str> {
        self.pack.as_ref().and_then(Pack::name)
    }

    /// Whether no gc can take any of the objects: all of them, also those that
    /// were there before, are in a pack of ours that is marked to be kept.
    pub fn is_kept(&self) -> bool {
        self.all_packed && self.pack.is_some()
    }
}

impl Sink {
    /// A sink into the object store of `repo`.
    pub fn new(repo: &Repo, writing: Writing) -> Self {
        Sink {
            objects: repo.objects_dir(),
            hash: repo.gix().object_hash(),
            writing,
            kept: HashSet::new(),
            state: Mutex::new(State::default()),
            defensive: repo.gc_runs(),
            remembers: false,
            markers: repo.shared_state().join("keep"),
        }
    }

    /// Objects that need no look-up, since a ref of ours keeps them.
    pub fn trust(&mut self, kept: impl IntoIterator<Item = ObjectId>) {
        self.kept.extend(kept);
    }

    /// Puts new objects into `folder`, which git reads beside the repository's own.
    pub fn write_apart(&mut self, folder: &Path) {
        self.objects = folder.to_owned();
    }

    /// Puts everything into a kept pack, also what exists already.
    pub fn be_defensive(&mut self) {
        self.defensive = true;
    }

    /// The id of an object, without writing it.
    ///
    /// # Errors
    /// When the hash detects an attack on SHA-1.
    pub fn id(&self, kind: Kind, bytes: &[u8]) -> Result<ObjectId> {
        gix::objs::compute_hash(self.hash, kind, bytes).context("cannot hash an object")
    }

    /// Takes an object, and gives its id. `repo` is the calling thread's handle.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, repo: &gix::Repository, kind: Kind, bytes: Vec<u8>) -> Result<ObjectId> {
        let id = self.id(kind, &bytes)?;
        if kind == Kind::Tree {
            // Kept only where someone will read them before they are written.
            let kept = if self.remembers {
                bytes.clone()
            } else {
                Vec::new()
            };
            self.state().trees.insert(id, kept);
        }
        if self.writing == Writing::Nothing || self.kept.contains(&id) {
            return Ok(id);
        }
        if !self.state().seen.insert(id) {
            return Ok(id);
        }
        if !self.defensive {
            if freshen(&self.loose_path(id)) {
                self.state().written.push(id);
                return Ok(id);
            }
            // gix finds an empty tree where there is none; git's fsck does not.
            let is_virtual = id == ObjectId::empty_tree(self.hash);
            if !is_virtual && repo.has_object(id) {
                self.state().written.push(id);
                return Ok(id);
            }
        }
        self.add(id, kind, bytes)?;
        Ok(id)
    }

    /// Takes an object that cannot be there yet: to find that out, gix would read the
    /// list of packs again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_new(&self, kind: Kind, bytes: Vec<u8>) -> Result<ObjectId> {
        let id = self.id(kind, &bytes)?;
        if self.writing != Writing::Nothing && self.state().seen.insert(id) {
            self.add(id, kind, bytes)?;
        }
        Ok(id)
    }

    fn add(&self, id: ObjectId, kind: Kind, bytes: Vec<u8>) -> Result<()> {
        let mut state = self.state();
        state.written.push(id);
        if state.pack.is_none() {
            state.pending_bytes += bytes.len();
            state.pending.push((id, kind, bytes));
            let many =
                state.pending.len() > LOOSE_AT_MOST || state.pending_bytes > PENDING_BYTES_AT_MOST;
            if many {
                self.open_pack(&mut state)?;
            }
            return Ok(());
        }
        drop(state);
        let compressed = deflate(&bytes)?;
        if let Some(pack) = self.state().pack.as_mut() {
            pack.add(id, kind, bytes.len(), &compressed)?;
        }
        Ok(())
    }

    /// All trees that were put here so far, sorted: those that no index names.
    pub fn trees(&self) -> Vec<ObjectId> {
        let mut trees: Vec<ObjectId> = self.state().trees.keys().copied().collect();
        trees.sort();
        trees
    }

    /// Those trees with their content, for [`Sink::remember_trees`].
    pub fn tree_contents(&self) -> HashMap<ObjectId, Vec<u8>> {
        self.state().trees.clone()
    }

    /// Keeps the content of trees, to be read before they are written.
    pub fn remember_trees(&mut self) {
        self.remembers = true;
    }

    /// Whether the existing object `id` can be used: it is there, and lives on.
    pub fn reuse(&self, repo: &gix::Repository, id: ObjectId) -> bool {
        if self.writing == Writing::Nothing {
            return true;
        }
        let there = !self.defensive && (freshen(&self.loose_path(id)) || repo.has_object(id));
        if there {
            self.state().written.push(id);
        }
        there
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn open_pack(&self, state: &mut State) -> Result<()> {
        let mut pack = PackWriter::create(&self.objects.join("pack"), self.hash)?;
        for (id, kind, bytes) in state.pending.drain(..) {
            pack.add(id, kind, bytes.len(), &deflate(&bytes)?)?;
        }
        state.pack = Some(pack);
        Ok(())
    }

    /// Makes the objects exist, and durable when so asked.
    ///
    /// # Errors
    /// When a file cannot be written, synced or renamed.
    pub fn finish(self) -> Result<Written> {
        clear_abandoned(&self.markers, &self.objects.join("pack"));
        if self.defensive && !self.state().pending.is_empty() {
            let mut state = self.state();
            self.open_pack(&mut state)?;
        }
        let synced = self.writing == Writing::Synced;
        let mut state = std::mem::take(&mut *self.state());
        let pack = match state.pack.take() {
            Some(pack) => Some(pack.finish(synced, &self.markers)?),
            None => {
                let pending = &state.pending;
                // Side by side, so that their syncs become one wait.
                let threads = if synced { pending.len().min(4) } else { 1 };
                workers::each(
                    threads,
                    pending.len(),
                    || Ok(()),
                    |(), at| {
                        let (id, kind, bytes) = &pending[at];
                        self.write_loose(*id, *kind, bytes, synced)
                    },
                )?;
                None
            }
        };
        Ok(Written {
            objects: state.written,
            pack,
            loose: state.pending,
            all_packed: self.defensive && !state.streamed,
            folder: self.objects,
            hash: Some(self.hash),
        })
    }

    fn loose_path(&self, id: ObjectId) -> PathBuf {
        loose_path(&self.objects, id)
    }

    fn write_loose(&self, id: ObjectId, kind: Kind, bytes: &[u8], synced: bool) -> Result<()> {
        let path = self.loose_path(id);
        let write = || -> io::Result<()> {
            let mut content = format!("{kind} {}\0", bytes.len()).into_bytes();
            content.extend_from_slice(bytes);
            let mut file = temporary(&self.objects)?;
            file.write_all(&match content.len() {
                ..STORE_BELOW => stored(&content),
                _ => deflate(&content).map_err(io::Error::other)?,
            })?;
            if synced {
                file.as_file().sync_all()?;
            }
            crate::state::crash::point();
            persist(file, &path)
        };
        write()
            .map_err(|e| explain(e, &self.objects))
            .with_context(|| format!("cannot write the object {id}"))
    }
}

/// Streams the large file `file` into a loose object: hashed and compressed in
/// one pass, never in memory as a whole. `size` must be what it will give.
///
/// # Errors
/// When it cannot be read or written, or gives another number of bytes.
pub fn put_stream(sink: &Sink, mut file: File, size: u64) -> Result<ObjectId> {
    let mut hasher = gix::hash::hasher(sink.hash);
    let header = format!("blob {size}\0");
    hasher.update(header.as_bytes());
    let mut encoder = match sink.writing {
        Writing::Nothing => None,
        _ => Some(ZlibEncoder::new(
            temporary(&sink.objects)
                .map_err(|e| explain(e, &sink.objects))
                .context("cannot write a large object")?,
            Compression::fast(),
        )),
    };
    if let Some(encoder) = &mut encoder {
        encoder.write_all(header.as_bytes())?;
    }
    let mut buffer = vec![0; 1 << 18];
    let mut total = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        total += count as u64;
        hasher.update(&buffer[..count]);
        if let Some(encoder) = &mut encoder {
            encoder.write_all(&buffer[..count])?;
        }
    }
    if total != size {
        return Err(crate::error::anyhow!("the file changed while it was read"));
    }
    let id = hasher.try_finalize().context("cannot hash a large file")?;
    if let Some(encoder) = encoder {
        let target = encoder.finish()?;
        let path = sink.loose_path(id);
        if !freshen(&path) {
            if sink.writing == Writing::Synced {
                target.as_file().sync_all()?;
            }
            persist(target, &path)?;
        }
        let mut state = sink.state();
        state.written.push(id);
        state.streamed = true;
    }
    Ok(id)
}

/// Asked with fresh eyes, since an open handle still reads from packs that are gone.
fn are_there(folder: &Path, hash: gix::hash::Kind, ids: impl Iterator<Item = ObjectId>) -> bool {
    let absent: Vec<ObjectId> = ids.filter(|id| !loose_path(folder, *id).exists()).collect();
    if absent.is_empty() {
        return true;
    }
    gix::odb::at_opts(folder.to_owned(), hash, Vec::new(), Default::default()).is_ok_and(|store| {
        absent
            .iter()
            .all(|id| gix::objs::Exists::exists(&store, id))
    })
}

fn loose_path(objects: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_hex().to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// How the name of a file begins that is not an object or pack yet. Not git's own
/// `tmp_`: a `git prune --expire=now` takes such files from under their writer.
pub(super) const UNFINISHED: &str = "git-harness-";

/// Clears what writers that died more than a day ago have left in `objects`.
pub fn clear_unfinished(objects: &Path) {
    for folder in [objects.to_owned(), objects.join("pack")] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_ours = entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(UNFINISHED.as_bytes());
            if is_ours && file::is_abandoned(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Gives the finished `file` its name; a prune may remove the empty folder just then.
fn persist(mut file: NamedTempFile, path: &Path) -> io::Result<()> {
    for _ in 0..8 {
        match file.persist(path) {
            Ok(_) => return Ok(()),
            Err(e) if e.error.kind() == io::ErrorKind::NotFound => file = e.file,
            Err(e) => return Err(e.error),
        }
        fs::create_dir_all(path.parent().unwrap_or(path))?;
    }
    Err(io::ErrorKind::NotFound.into())
}

fn temporary(objects: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .permissions(fs::Permissions::from_mode(0o444))
        .tempfile_in(objects)
}

/// Marks an existing loose object as used, as git does, so that a prune by age
/// lets it live. False when it is not there.
fn freshen(path: &Path) -> bool {
    let now = rustix::fs::Timestamps {
        last_access: omit(),
        last_modification: rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW as _,
        },
    };
    rustix::fs::utimensat(rustix::fs::CWD, path, &now, rustix::fs::AtFlags::empty()).is_ok()
}

fn omit() -> rustix::fs::Timespec {
    rustix::fs::Timespec {
        tv_sec: 0,
        tv_nsec: rustix::fs::UTIME_OMIT as _,
    }
}

/// Setting up a compressor takes longer than it saves on so few bytes.
const STORE_BELOW: usize = 512;

/// `bytes` as a zlib stream of one stored block (RFC 1950, RFC 1951 3.2.4); fewer
/// than 65,536.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    let mut stream = vec![0x78, 0x01, 1];
    stream.extend_from_slice(&length.to_le_bytes());
    stream.extend_from_slice(&(!length).to_le_bytes());
    stream.extend_from_slice(bytes);
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend_from_slice(&(b << 16 | a).to_be_bytes());
    stream
}

fn deflate(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish().context("cannot compress an object")
}
