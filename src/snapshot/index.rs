//! The user's index, read and never written.

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode};
use gix::index::{File, State};
use gix::objs::Kind;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::snapshot::root::Root;
use crate::snapshot::stat::{FileKind, Stat};
use crate::snapshot::workers;

/// An index in memory.
pub struct Index {
    file: File,
    identity: Option<Stat>,
}

impl Index {
    /// The index of the worktree; an empty one when there is none yet.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn load(repo: &Repo) -> Result<Self> {
        let path = repo.index_path();
        let hash = repo.gix().object_hash();
        let identity = identity(repo);
        let file = if identity.is_none() {
            File::from_state(State::new(hash), path)
        } else {
            // The checksum is not verified: it costs as much as the whole rest, and git
            // does not verify it either.
            let options = gix::index::decode::Options {
                thread_limit: Some(workers::cores()),
                ..Default::default()
            };
            File::at(&path, hash, true, options)
                .with_context(|| format!("cannot read the index '{}'", path.display()))?
        };
        Ok(Index { file, identity })
    }

    /// The tree `id` as an index, for reading rules from it.
    ///
    /// # Errors
    /// When a tree cannot be read.
    pub fn of_tree(repo: &Repo, id: ObjectId) -> Result<Self> {
        let file = repo
            .gix()
            .index_from_tree(&id)
            .with_context(|| format!("cannot read the tree {id}"))?;
        Ok(Index {
            file,
            identity: None,
        })
    }

    /// Its entries.
    pub fn state(&self) -> &State {
        &self.file
    }

    /// When it was written, by the file system's clock.
    pub fn written(&self) -> (i64, u32) {
        let time = self.file.timestamp();
        (time.unix_seconds(), time.nanoseconds())
    }

    /// Its file, when it was read.
    pub(super) fn file_stat(&self) -> Option<Stat> {
        self.identity
    }

    /// Whether the file on disk is still the one that was read.
    pub fn is_current(&self, repo: &Repo) -> bool {
        identity(repo) == self.identity
    }

    /// Replaces the folders that a sparse index keeps as one entry by what is in
    /// them, where the folder is on disk all the same.
    ///
    /// # Errors
    /// When such a folder's tree cannot be read.
    pub fn expand_present_folders(&mut self, repo: &Repo, root: &Root) -> Result<()> {
        if !self.file.is_sparse() {
            return Ok(());
        }
        let present: Vec<(BString, ObjectId)> = self
            .file
            .entries()
            .iter()
            .filter(|entry| entry.mode == Mode::DIR)
            .map(|entry| (entry.path(&self.file).to_owned(), entry.id))
            .filter(|(path, _)| {
                let folder = path.strip_suffix(b"/").unwrap_or(path).as_bstr();
                matches!(root.stat(folder), Ok(Some(stat)) if stat.kind == FileKind::Folder)
            })
            .collect();
        if present.is_empty() {
            return Ok(());
        }
        self.file
            .remove_entries(|_, path, _| present.iter().any(|(folder, _)| folder == path));
        for (folder, tree) in present {
            self.expand(repo, folder.as_bstr(), tree)?;
        }
        self.file.sort_entries();
        // Its counts are those of the collapsed index.
        self.file.remove_tree();
        Ok(())
    }

    fn expand(&mut self, repo: &Repo, folder: &BStr, tree: ObjectId) -> Result<()> {
        let bytes = repo.object(tree, Kind::Tree)?;
        let tree = gix::objs::TreeRef::from_bytes(&bytes, repo.gix().object_hash())
            .with_context(|| format!("cannot read the tree {tree}"))?;
        for entry in tree.entries {
            let mut path = BString::from(folder);
            path.extend_from_slice(entry.filename);
            if entry.mode.is_tree() {
                path.push(b'/');
                self.expand(repo, path.as_bstr(), entry.oid.to_owned())?;
            } else {
                self.file.dangerously_push_entry(
                    Default::default(),
                    entry.oid.to_owned(),
                    Flags::SKIP_WORKTREE,
                    entry_mode(entry.mode),
                    path.as_bstr(),
                );
            }
        }
        Ok(())
    }
}

/// The mode of an index entry for that of a tree entry.
pub fn entry_mode(mode: gix::objs::tree::EntryMode) -> Mode {
    use gix::objs::tree::EntryKind;
    match mode.kind() {
        EntryKind::Tree => Mode::DIR,
        EntryKind::Blob => Mode::FILE,
        EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
        EntryKind::Link => Mode::SYMLINK,
        EntryKind::Commit => Mode::COMMIT,
    }
}

fn identity(repo: &Repo) -> Option<Stat> {
    rustix::fs::stat(repo.index_path())
        .ok()
        .map(|raw| Stat::of(&raw))
}
