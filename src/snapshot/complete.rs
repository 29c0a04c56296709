//! Whether every object that a tree or commit needs is there. Asked with fresh
//! eyes: a handle that is open already still reads from packs that are gone.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::EntryKind;
use gix::objs::{CommitRefIter, Exists, Find, Kind, TreeRefIter};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::snapshot::workers;

/// An object that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its id.
    pub id: ObjectId,
    /// What it should be.
    pub kind: Kind,
    /// Where it stands in the tree; empty for the root and for commits.
    pub path: BString,
    /// Whether it is there, but is not what its name says.
    pub damaged: bool,
}

/// Looks objects up; what was found complete once is not looked up again.
pub struct Prover {
    objects: PathBuf,
    hash: gix::hash::Kind,
    store: gix::odb::Handle,
    /// Whether each object is read and hashed, or only its presence counts.
    reads: bool,
    /// Trees below which everything is there.
    complete: HashSet<ObjectId>,
    /// Blobs that are there.
    blobs: HashSet<ObjectId>,
}

impl Prover {
    /// Over the object store of `repo`; with `reads` every object is hashed.
    ///
    /// # Errors
    /// When the object store cannot be opened.
    pub fn new(repo: &Repo, reads: bool) -> Result<Self> {
        let objects = repo.objects_dir();
        let hash = repo.gix().object_hash();
        Ok(Prover {
            store: open(&objects, hash)?,
            objects,
            hash,
            reads,
            complete: HashSet::new(),
            blobs: HashSet::new(),
        })
    }

    /// How many objects have been found so far.
    pub fn objects(&self) -> usize {
        self.complete.len() + self.blobs.len()
    }

    /// What is missing of the commit `id` and its tree; its parents are not looked at.
    ///
    /// # Errors
    /// When the object store cannot be read.
    pub fn commit(&mut self, id: ObjectId) -> Result<Vec<Problem>> {
        let bytes = match self.object(id, Kind::Commit, b"".as_bstr()) {
            Ok(bytes) => bytes,
            Err(problem) => return Ok(vec![problem]),
        };
        match CommitRefIter::from_bytes(&bytes, self.hash).tree_id() {
            Ok(tree) => self.tree(tree),
            Err(_) => Ok(vec![Problem {
                id,
                kind: Kind::Commit,
                path: BString::default(),
                damaged: true,
            }]),
        }
    }

    /// What is missing of the tree `id`.
    ///
    /// # Errors
    /// When the object store cannot be read.
    pub fn tree(&mut self, id: ObjectId) -> Result<Vec<Problem>> {
        let mut walk = Walk::default();
        self.walk(id, &BString::default(), &mut walk);
        let mut problems = walk.problems;
        let found = self.check_blobs(walk.blobs)?;
        for (blob, problem) in found {
            match problem {
                None => {
                    self.blobs.insert(blob);
                }
                Some(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            self.complete.extend(walk.trees);
        }
        problems.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(problems)
    }

    fn walk(&self, id: ObjectId, path: &BString, walk: &mut Walk) {
        if self.complete.contains(&id) || !walk.trees.insert(id) {
            return;
        }
        // git knows the empty tree without storing it.
        if id == ObjectId::empty_tree(self.hash) {
            return;
        }
        let bytes = match self.object(id, Kind::Tree, path.as_bstr()) {
            Ok(bytes) => bytes,
            Err(problem) => return walk.problems.push(problem),
        };
        for entry in TreeRefIter::from_bytes(&bytes, self.hash) {
            let Ok(entry) = entry else {
                return walk.problems.push(Problem {
                    id,
                    kind: Kind::Tree,
                    path: path.clone(),
                    damaged: true,
                });
            };
            let mut below = path.clone();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend_from_slice(entry.filename);
            let oid = entry.oid.to_owned();
            match entry.mode.kind() {
                EntryKind::Tree => self.walk(oid, &below, walk),
                // Another repository's.
                EntryKind::Commit => {}
                _ if self.blobs.contains(&oid) || !walk.seen.insert(oid) => {}
                _ => walk.blobs.push((oid, below)),
            }
        }
    }

    fn object(&self, id: ObjectId, kind: Kind, path: &BStr) -> Result<Vec<u8>, Problem> {
        let mut bytes = Vec::new();
        match read(&self.store, id, kind, self.hash, self.reads, &mut bytes) {
            None => Ok(bytes),
            Some(damaged) => Err(Problem {
                id,
                kind,
                path: path.to_owned(),
                damaged,
            }),
        }
    }

    fn check_blobs(
        &self,
        blobs: Vec<(ObjectId, BString)>,
    ) -> Result<Vec<(ObjectId, Option<Problem>)>> {
        if !self.reads {
            let present = |(id, path): (ObjectId, BString)| {
                let missing = (!self.store.exists(&id)).then_some(Problem {
                    id,
                    kind: Kind::Blob,
                    path,
                    damaged: false,
                });
                (id, missing)
            };
            return Ok(blobs.into_iter().map(present).collect());
        }
        let (objects, hash) = (self.objects.as_path(), self.hash);
        let bad: Mutex<HashMap<usize, bool>> = Mutex::new(HashMap::new());
        workers::each(
            workers::cores().min(blobs.len().div_ceil(64)),
            blobs.len(),
            || Ok((open(objects, hash)?, Vec::new())),
            |(store, buffer), at| {
                if let Some(damaged) = read(store, blobs[at].0, Kind::Blob, hash, true, buffer) {
                    bad.lock()
                        .unwrap_or_else(|e| e.into_inner())
                        .insert(at, damaged);
                }
                Ok(())
            },
        )?;
        let bad = bad.into_inner().unwrap_or_else(|e| e.into_inner());
        let told = |(at, (id, path)): (usize, (ObjectId, BString))| {
            let problem = bad.get(&at).map(|damaged| Problem {
                id,
                kind: Kind::Blob,
                path,
                damaged: *damaged,
            });
            (id, problem)
        };
        Ok(blobs.into_iter().enumerate().map(told).collect())
    }
}

#[derive(Default)]
struct Walk {
    trees: HashSet<ObjectId>,
    seen: HashSet<ObjectId>,
    blobs: Vec<(ObjectId, BString)>,
    problems: Vec<Problem>,
}

fn open(objects: &Path, hash: gix::hash::Kind) -> Result<gix::odb::Handle> {
    gix::odb::at_opts(objects.to_owned(), hash, Vec::new(), Default::default())
        .with_context(|| format!("cannot open the object store '{}'", objects.display()))
}

/// Reads an object; `Some(damaged)` when it cannot be used.
fn read(
    store: &gix::odb::Handle,
    id: ObjectId,
    kind: Kind,
    hash: gix::hash::Kind,
    hashes: bool,
    buffer: &mut Vec<u8>,
) -> Option<bool> {
    match store.try_find(&id, buffer) {
        Ok(None) => return Some(false),
        Ok(Some(found)) if found.kind == kind => {}
        Ok(Some(_)) | Err(_) => return Some(true),
    }
    let is_its_name =
        || gix::objs::compute_hash(hash, kind, buffer).is_ok_and(|computed| computed == id);
    (hashes && !is_its_name()).then_some(true)
}
