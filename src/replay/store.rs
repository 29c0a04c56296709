//! The objects of a replay: those of the repository, and new ones that nobody
//! sees until they are published.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::hash::Kind as HashKind;
use gix::objs::{Exists, Find};

use crate::error::{Context, Result, ensure};
use crate::git::promised::Promisor;
use crate::git::{Kind, Repo};
use crate::replay::object::RawCommit;
use crate::replay::pack::{Pack, Spill};
use crate::replay::room::{Place, Room};
use crate::replay::tree::Objects;
use crate::replay::{migrate, quarantine};
use crate::state::crash;

/// Up to here new objects are stored loose, as `transfer.unpackLimit` has it.
const FEW: usize = 100;
/// And up to this many bytes, since they are fed to git from memory.
const SMALL: u64 = 8 << 20;

/// Old and new objects behind one face. Replacements (`refs/replace`) are not
/// followed: an id means its own bytes. Nothing is on disk until there is too
/// much of it for memory, or git is needed.
pub(super) struct Store {
    /// The repository's objects.
    store: PathBuf,
    place: Place,
    hash: HashKind,
    room: Option<Room>,
    odb: gix::odb::Handle,
    /// Where the missing objects of a partial clone come from.
    promisor: Option<Promisor>,
    /// Whether they come into the room and not into the repository.
    fetches_apart: bool,
    /// The objects of a push that is being decided on.
    pushed: Option<PathBuf>,
    pack: Pack,
    /// What a tree in the making needs; kept or dropped as a whole.
    staged: Vec<(ObjectId, Kind, Vec<u8>)>,
}

impl Store {
    /// The objects of `repo` with a place for new ones, and for what a partial
    /// clone fetches meanwhile.
    pub(super) fn open(repo: &Repo, place: Place) -> Result<Self> {
        let mut store = Self::reading(repo, place)?;
        if store.promisor.is_some() {
            store.room()?;
            store.fetches_apart = true;
            store.reopen()?;
        }
        Ok(store)
    }

    /// The objects of `repo` to record from: what a partial clone must fetch for
    /// that, it keeps, since the proof of the record needs it again.
    pub(super) fn for_record(repo: &Repo) -> Result<Self> {
        Self::reading(repo, Place::Outside)
    }

    fn reading(repo: &Repo, place: Place) -> Result<Self> {
        let mut store = Self::plain(repo, place)?;
        if store.pushed.is_some() {
            store.room()?;
            store.reopen()?;
        }
        Ok(store)
    }

    fn plain(repo: &Repo, place: Place) -> Result<Self> {
        let hash = repo.gix().object_hash();
        let store = repo.common_dir().join("objects");
        Ok(Store {
            odb: objects_at(&store, hash)?,
            store,
            promisor: repo.promisor(),
            fetches_apart: false,
            pushed: quarantine::of(repo),
            place,
            hash,
            room: None,
            pack: Pack::new(hash),
            staged: Vec::new(),
        })
    }

    /// The kind of ids.
    pub(super) fn hash(&self) -> HashKind {
        self.hash
    }

    /// The room, for git's own work.
    pub(super) fn room(&mut self) -> Result<&Room> {
        let room = match self.room.take() {
            Some(room) => room,
            None => Room::open(&self.store, self.pushed.as_deref(), self.hash, self.place)?,
        };
        Ok(self.room.insert(room))
    }

    /// The id that `content` has as a `kind`.
    pub(super) fn id_of(&self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
        Ok(gix::objs::compute_hash(self.hash, kind, content)?)
    }

    /// The object called `id`, when it is here.
    pub(super) fn find(&self, id: ObjectId) -> Result<Option<(Kind, Vec<u8>)>> {
        if let Some(found) = self.pack.find(&id)? {
            return Ok(Some(found));
        }
        let mut content = Vec::new();
        let found = self
            .odb
            .try_find(&id, &mut content)
            .map_err(|e| crate::error::anyhow!("cannot read the object {id}: {e}"))?
            .map(|data| data.kind);
        Ok(found.map(|kind| (kind, content)))
    }

    /// The commit called `id`, when it is here and one.
    pub(super) fn commit(&self, id: ObjectId) -> Result<Option<RawCommit>> {
        Ok(match self.find(id)? {
            Some((Kind::Commit, content)) => Some(RawCommit::cut(&content)),
            _ => None,
        })
    }

    /// The tree of the commit `id`.
    pub(super) fn tree_of(&self, id: ObjectId) -> Result<ObjectId> {
        self.commit(id)?
            .and_then(|commit| commit.tree())
            .with_context(|| format!("{id} is no commit of this repository"))
    }

    /// Keeps what was staged.
    pub(super) fn settle(&mut self) -> Result<()> {
        for (id, kind, content) in std::mem::take(&mut self.staged) {
            self.add(id, kind, &content)?;
        }
        Ok(())
    }

    /// Forgets what was staged.
    pub(super) fn discard(&mut self) {
        self.staged.clear();
    }

    /// Keeps `content` as the `kind` called `id`.
    pub(super) fn add(&mut self, id: ObjectId, kind: Kind, content: &[u8]) -> Result<()> {
        if self.pack.contains(&id) {
            return Ok(());
        }
        self.pack.add(id, kind, content)?;
        if self.pack.wants_file() {
            let file = match self.place {
                Place::InStore => Spill::named(self.room()?.objects().join("pack/tmp_pack"))?,
                Place::Outside => Spill {
                    file: tempfile::tempfile().context("cannot make a temporary file")?,
                    path: None,
                },
            };
            self.pack.spill(file)?;
        }
        Ok(())
    }

    /// Shows git in the room what is new.
    pub(super) fn show_git(&mut self) -> Result<()> {
        self.complete(false)
    }

    /// Takes over what git in the room has written: a file for each object,
    /// which would be as many in the repository.
    pub(super) fn see_git(&mut self) -> Result<()> {
        self.reopen()?;
        for (id, path) in migrate::loose(&self.room()?.objects())? {
            let found = self.find(id)?;
            let (kind, content) = found.with_context(|| format!("cannot read back {id}"))?;
            self.add(id, kind, &content)?;
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove '{}'", path.display()))?;
        }
        Ok(())
    }

    /// A handle holds a table of packs whose size is fixed when it is opened.
    fn reopen(&mut self) -> Result<()> {
        let objects = match &self.room {
            Some(room) => room.objects(),
            None => self.store.clone(),
        };
        self.odb = objects_at(&objects, self.hash)?;
        Ok(())
    }

    /// Where missing objects come from, if this is a partial clone.
    pub(super) fn promisor(&self) -> Option<Promisor> {
        self.promisor.clone()
    }

    /// In a partial clone, fetches those of `ids` that are not here, all at once.
    pub(super) fn fetch(&mut self, ids: impl IntoIterator<Item = ObjectId>) -> Result<()> {
        let Some(promisor) = &self.promisor else {
            return Ok(());
        };
        let is_here = |id: &ObjectId| self.pack.contains(id) || self.odb.exists(id);
        let missing: BTreeSet<ObjectId> = ids.into_iter().filter(|id| !is_here(id)).collect();
        if !missing.is_empty() {
            let missing: Vec<ObjectId> = missing.into_iter().collect();
            promisor.fetch(&missing, self.apart().as_deref())?;
            self.reopen()?;
        }
        Ok(())
    }

    /// Where fetched objects come, when it is not the repository.
    fn apart(&self) -> Option<PathBuf> {
        let room = self.room.as_ref().filter(|_| self.fetches_apart);
        room.map(Room::objects)
    }

    fn complete(&mut self, synced: bool) -> Result<()> {
        if self.pack.len() > 0 {
            let folder = self.room()?.objects().join("pack");
            std::mem::replace(&mut self.pack, Pack::new(self.hash)).finish(&folder, synced)?;
            self.reopen()?;
        }
        Ok(())
    }

    /// Puts all new objects where git can see them and the repository does not
    /// have them yet: into this object store.
    pub(super) fn quarantine(&mut self, repo: &Repo) -> Result<PathBuf> {
        ensure!(self.place == Place::InStore, "this replay writes nothing");
        let is_small = self.pack.len() < FEW && self.pack.size() < SMALL;
        if self.room.is_none() && is_small {
            let pack = std::mem::replace(&mut self.pack, Pack::new(self.hash)).stream()?;
            let objects = self.room()?.objects();
            unpack(repo, &objects, pack)?;
            return Ok(objects);
        }
        self.complete(true)?;
        Ok(self.room()?.objects())
    }

    /// Moves what is in the quarantine into the repository.
    pub(super) fn publish(mut self, repo: &Repo) -> Result<()> {
        let from = self.room()?.objects();
        migrate::objects(&from, &self.store, repo.sharing())
    }
}

impl Objects for Store {
    fn content(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        if kind == Kind::Tree && id.is_empty_tree() {
            return Ok(Vec::new());
        }
        let mut found = self.find(id)?;
        if let (None, Some(promisor)) = (&found, &self.promisor) {
            promisor.fetch(&[id], self.apart().as_deref())?;
            found = self.find(id)?;
        }
        let (found, content) =
            found.with_context(|| format!("the {kind} {id} is not in this repository"))?;
        ensure!(found == kind, "{id} is a {found}, not a {kind}");
        Ok(content)
    }

    fn keep(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId> {
        let id = self.id_of(kind, &content)?;
        self.staged.push((id, kind, content));
        Ok(id)
    }
}

fn objects_at(objects: &Path, hash: HashKind) -> Result<gix::odb::Handle> {
    gix::odb::at(objects, hash).with_context(|| format!("cannot open '{}'", objects.display()))
}

/// Stores the objects of a small pack loose in `objects`, as a fetch of this size does.
fn unpack(repo: &Repo, objects: &Path, pack: Vec<u8>) -> Result<()> {
    crash::point();
    repo.git_unhooked(["unpack-objects", "-q"])
        .env("GIT_OBJECT_DIRECTORY", objects)
        .input(pack)
        .stdout()?;
    Ok(())
}
