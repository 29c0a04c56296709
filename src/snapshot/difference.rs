//! What differs between two trees, path by path; equal folders are passed over.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::index::entry::Mode;
use gix::objs::{Kind, TreeRef};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::snapshot::index::entry_mode;

/// What a path is in a tree: its mode and object, or nothing.
pub type Value = Option<(Mode, ObjectId)>;

/// A path that is not the same in two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// From the root.
    pub path: BString,
    /// In the first tree.
    pub old: Value,
    /// In the second.
    pub new: Value,
}

/// Reads trees: those that were just built from memory, all others from the repository.
pub struct Trees<'t> {
    repo: &'t Repo,
    fresh: HashMap<ObjectId, Vec<u8>>,
}

impl<'t> Trees<'t> {
    /// `fresh` are trees that may not be written yet.
    pub fn new(repo: &'t Repo, fresh: HashMap<ObjectId, Vec<u8>>) -> Self {
        Trees { repo, fresh }
    }

    /// All differences from `old` to `new`, sorted by path.
    ///
    /// # Errors
    /// When a tree cannot be read.
    pub fn differences(&self, old: ObjectId, new: ObjectId) -> Result<Vec<Difference>> {
        let mut found = Vec::new();
        self.folder(&BString::default(), Some(old), Some(new), &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// What `path` is in `tree`.
    ///
    /// # Errors
    /// When a tree on the way cannot be read.
    pub fn value(&self, tree: ObjectId, path: &BStr) -> Result<Value> {
        let mut at = (Mode::DIR, tree);
        for name in path.split(|b| *b == b'/') {
            if at.0 != Mode::DIR {
                return Ok(None);
            }
            match self.entries(at.1)?.into_iter().find(|(n, _)| n == name) {
                Some((_, next)) => at = next,
                None => return Ok(None),
            }
        }
        Ok(Some(at).filter(|(mode, _)| *mode != Mode::DIR))
    }

    fn entries(&self, id: ObjectId) -> Result<Vec<(BString, (Mode, ObjectId))>> {
        let read;
        let bytes = match self.fresh.get(&id) {
            Some(bytes) => bytes,
            None => {
                read = self.repo.object(id, Kind::Tree)?;
                &read
            }
        };
        let tree = TreeRef::from_bytes(bytes, self.repo.gix().object_hash())
            .with_context(|| format!("cannot read the tree {id}"))?;
        Ok(tree
            .entries
            .iter()
            .map(|e| {
                let value = (entry_mode(e.mode), e.oid.to_owned());
                (e.filename.to_owned(), value)
            })
            .collect())
    }

    fn folder(
        &self,
        prefix: &BString,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        found: &mut Vec<Difference>,
    ) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let read = |id: Option<ObjectId>| id.map_or(Ok(Vec::new()), |id| self.entries(id));
        let mut names: HashMap<BString, (Value, Value)> = HashMap::new();
        for (name, value) in read(old)? {
            names.entry(name).or_default().0 = Some(value);
        }
        for (name, value) in read(new)? {
            names.entry(name).or_default().1 = Some(value);
        }
        for (name, (old, new)) in names {
            if old == new {
                continue;
            }
            let mut path = prefix.clone();
            path.extend_from_slice(&name);
            let folder = |value: Value| value.filter(|(m, _)| *m == Mode::DIR).map(|(_, id)| id);
            let file = |value: Value| value.filter(|(m, _)| *m != Mode::DIR);
            if folder(old).is_some() || folder(new).is_some() {
                let mut below = path.clone();
                below.push(b'/');
                self.folder(&below, folder(old), folder(new), found)?;
            }
            let (old, new) = (file(old), file(new));
            if old != new {
                found.push(Difference { path, old, new });
            }
        }
        Ok(())
    }
}
