//! The objects of a replay: those of the repository, and new ones that nobody
//! sees until they are published.

use gix::ObjectId;
use gix::hash::Kind as HashKind;
use gix::objs::Find;

use crate::error::{Context, Result, ensure};
use crate::git::{Kind, Repo};
use crate::replay::object::RawCommit;
use crate::replay::pack::Pack;
use crate::replay::room::{Place, Room};
use crate::replay::tree::Objects;

/// Up to here new objects are stored loose, as `transfer.unpackLimit` has it.
const FEW: usize = 100;

/// Old and new objects behind one face. Replacements (`refs/replace`) are not
/// followed: an id means its own bytes.
pub(super) struct Store {
    room: Room,
    hash: HashKind,
    odb: gix::odb::Handle,
    pack: Option<Pack>,
    /// What a tree in the making needs; kept or dropped as a whole.
    staged: Vec<(ObjectId, Kind, Vec<u8>)>,
    /// New objects in packs that are complete already.
    packed: usize,
    has_loose: bool,
}

impl Store {
    /// The objects of `repo` with a room for new ones.
    pub(super) fn open(repo: &Repo, place: Place) -> Result<Self> {
        let room = Room::open(repo, place)?;
        let hash = repo.gix().object_hash();
        Ok(Store {
            odb: objects_of(&room, hash)?,
            room,
            hash,
            pack: None,
            staged: Vec::new(),
            packed: 0,
            has_loose: false,
        })
    }

    /// The kind of ids.
    pub(super) fn hash(&self) -> HashKind {
        self.hash
    }

    /// The room, for git's own work.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// The id that `content` has as a `kind`.
    pub(super) fn id_of(&self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
        Ok(gix::objs::compute_hash(self.hash, kind, content)?)
    }

    /// The object called `id`, when it is here.
    pub(super) fn find(&self, id: ObjectId) -> Result<Option<(Kind, Vec<u8>)>> {
        if let Some(pack) = &self.pack
            && let Some(found) = pack.find(&id)?
        {
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
        if self.pack.is_none() {
            let path = self.room.objects().join("pack/tmp_pack");
            self.pack = Some(Pack::create(path, self.hash)?);
        }
        match &mut self.pack {
            Some(pack) if !pack.contains(&id) => pack.add(id, kind, content),
            _ => Ok(()),
        }
    }

    /// Shows git in the room what is new.
    pub(super) fn show_git(&mut self) -> Result<()> {
        self.complete(false)
    }

    /// Sees what git in the room has written.
    pub(super) fn see_git(&mut self) -> Result<()> {
        self.has_loose = true;
        // A handle holds a table of packs whose size is fixed when it is opened.
        self.odb = objects_of(&self.room, self.hash)?;
        Ok(())
    }

    fn complete(&mut self, synced: bool) -> Result<()> {
        if let Some(pack) = self.pack.take() {
            self.packed += pack.len();
            pack.finish(synced)?;
            self.odb = objects_of(&self.room, self.hash)?;
        }
        Ok(())
    }

    /// Moves all new objects into the repository.
    pub(super) fn publish(mut self, repo: &Repo) -> Result<()> {
        ensure!(
            self.room.path().starts_with(self.room.store()),
            "this replay writes nothing"
        );
        let is_small = self.packed == 0 && !self.has_loose;
        if let Some(pack) = self.pack.take_if(|pack| is_small && pack.len() < FEW) {
            return unpack(repo, pack.stream()?);
        }
        self.complete(true)?;
        crate::replay::migrate::objects(&self.room.objects(), self.room.store(), repo.sharing())
    }
}

impl Objects for Store {
    fn content(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        if kind == Kind::Tree && id.is_empty_tree() {
            return Ok(Vec::new());
        }
        let (found, content) = self
            .find(id)?
            .with_context(|| format!("the {kind} {id} is not in this repository"))?;
        ensure!(found == kind, "{id} is a {found}, not a {kind}");
        Ok(content)
    }

    fn keep(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId> {
        let id = self.id_of(kind, &content)?;
        self.staged.push((id, kind, content));
        Ok(id)
    }
}

fn objects_of(room: &Room, hash: HashKind) -> Result<gix::odb::Handle> {
    let objects = room.objects();
    gix::odb::at(&objects, hash).with_context(|| format!("cannot open '{}'", objects.display()))
}

/// Stores the objects of a small pack loose, as a fetch of this size does.
fn unpack(repo: &Repo, pack: Vec<u8>) -> Result<()> {
    repo.git_unhooked(["unpack-objects", "-q"])
        .input(pack)
        .stdout()?;
    Ok(())
}
