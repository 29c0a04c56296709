//! Reading objects. Writing those of a snapshot is `snapshot`'s own, which
//! must know when they are durable.

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;

use crate::error::{Context, Result, bail};
use crate::git::Repo;

impl Repo {
    /// The content of the object `id`, which must be a `kind`.
    ///
    /// # Errors
    /// When it is missing, of another kind, or cannot be read. A missing object is
    /// an error and never "the file did not exist".
    pub fn object(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        let object = self
            .gix()
            .find_object(id)
            .with_context(|| format!("cannot read the {kind} {id}"))?;
        if object.kind != kind {
            bail!("{id} is a {}, not a {kind}", object.kind);
        }
        Ok(object.detach().data)
    }

    /// Whether the object `id` is there.
    pub fn has_object(&self, id: ObjectId) -> bool {
        self.gix().has_object(id)
    }

    /// The tree of the commit `id`.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub fn tree_of(&self, id: ObjectId) -> Result<ObjectId> {
        let bytes = self.object(id, Kind::Commit)?;
        gix::objs::CommitRefIter::from_bytes(&bytes, self.gix().object_hash())
            .tree_id()
            .with_context(|| format!("cannot read the commit {id}"))
    }

    /// The objects that `git replace` shows as others.
    ///
    /// # Errors
    /// When the refs cannot be read.
    pub fn replaced_objects(&self) -> Result<HashSet<ObjectId>> {
        const PREFIX: &str = "refs/replace/";
        if self.backend().is_files()
            && !self.common_dir().join(PREFIX).exists()
            && !self.common_dir().join("packed-refs").exists()
        {
            return Ok(HashSet::new());
        }
        let ids = self.refs_below(PREFIX)?.into_iter();
        Ok(ids
            .filter_map(|(name, _)| ObjectId::from_hex(name.strip_prefix(PREFIX.as_bytes())?).ok())
            .collect())
    }

    /// The id of the empty tree, which git knows without storing it.
    pub fn empty_tree(&self) -> ObjectId {
        ObjectId::empty_tree(self.gix().object_hash())
    }
}
