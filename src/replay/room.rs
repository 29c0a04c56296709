//! A git folder of our own for one replay or one recording: a quarantine for
//! new objects, and a place where git sees the repository's objects but none
//! of its configuration, attributes, replacements, hooks or refs.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::hash::Kind as HashKind;
use tempfile::TempDir;

use crate::error::{Context, Result};
use crate::git::ByteSlice;
use crate::git::command::Child;
use crate::git::quote::in_quotes;
use crate::state::crash;
use crate::state::file::explain;

/// Where a room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Inside the object store, under a name that `git gc` removes when it is
    /// left behind; what is in it can be moved into the store.
    InStore,
    /// In the user's temporary folder: the repository is not written at all.
    Outside,
}

/// The folder; gone when it is dropped.
pub(super) struct Room {
    folder: TempDir,
    store: PathBuf,
}

impl Room {
    /// Makes a room beside the object store `store`, which also sees what is
    /// `pushed`.
    pub(super) fn open(
        store: &Path,
        pushed: Option<&Path>,
        hash: HashKind,
        place: Place,
    ) -> Result<Self> {
        let store = store.to_owned();
        let parent = match place {
            Place::InStore => store.clone(),
            Place::Outside => std::env::temp_dir(),
        };
        crash::point();
        let folder = tempfile::Builder::new()
            .prefix("tmp_objdir-replay-")
            .tempdir_in(&parent)
            .map_err(|e| explain(e, &parent))
            .with_context(|| format!("cannot make a folder in '{}'", parent.display()))?;
        let room = Room { folder, store };
        room.furnish(pushed, hash)
            .with_context(|| format!("cannot write in '{}'", parent.display()))?;
        Ok(room)
    }

    fn furnish(&self, pushed: Option<&Path>, hash: HashKind) -> Result<()> {
        for folder in ["refs", "info", "objects/info", "objects/pack"] {
            fs::create_dir_all(self.path().join(folder))?;
        }
        self.write("HEAD", b"ref: refs/heads/none\n")?;
        let format = match hash {
            HashKind::Sha1 => "\trepositoryFormatVersion = 0\n",
            _ => "\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n[core]\n",
        };
        let config = format!("[core]\n{format}\tbare = true\n\tattributesFile = /dev/null\n");
        self.write("config", config.as_bytes())?;
        self.write("objects/info/alternates", &alternates(&self.store, pushed))
    }

    /// Writes a small file of its own.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        Ok(File::create(self.path().join(name))?.write_all(content)?)
    }

    /// A name that nothing else has.
    pub(super) fn name(&self) -> String {
        let name = self.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The index that git has written here.
    pub(super) fn index(&self, hash: HashKind) -> Result<gix::index::File> {
        let path = self.path().join("index");
        gix::index::File::at(&path, hash, true, Default::default())
            .with_context(|| format!("cannot read the index '{}'", path.display()))
    }

    /// The git folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its object store, which sees the repository's as well.
    pub(super) fn objects(&self) -> PathBuf {
        self.path().join("objects")
    }

    /// Git in this room: nobody's configuration, attributes or hooks.
    pub(super) fn git(&self, arguments: &[&str]) -> Child {
        Child::git()
            .env("GIT_DIR", self.path())
            .env("GIT_INDEX_FILE", self.path().join("index"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .without_env("GIT_CONFIG_PARAMETERS")
            .without_env("GIT_CONFIG_COUNT")
            .without_env("GIT_ATTR_SOURCE")
            .current_dir(self.path())
            .args(arguments)
    }
}

/// The store and all that it borrows from, one path a line: of an alternate's own
/// alternates git takes only absolute paths.
fn alternates(store: &Path, pushed: Option<&Path>) -> Vec<u8> {
    let borrowed = gix::odb::alternate::resolve(store.to_owned(), Path::new("/"));
    // A broken one is git's to judge.
    let borrowed = borrowed.unwrap_or_default();
    let mut lines = Vec::new();
    for path in std::iter::once(store)
        .chain(pushed)
        .chain(borrowed.iter().map(PathBuf::as_path))
    {
        let path = path.as_os_str().as_bytes();
        // A path with a line break or a leading mark must be quoted.
        match path.contains(&b'\n') || path.starts_with(b"\"") || path.starts_with(b"#") {
            true => lines.extend(in_quotes(path.as_bstr()).into_bytes()),
            false => lines.extend_from_slice(path),
        }
        lines.push(b'\n');
    }
    lines
}
