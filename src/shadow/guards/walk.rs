//! What no index knows: ignored files, build and cache folders, repositories inside.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::shadow::deps;
use crate::shadow::task::{How, Made, Task};
use crate::snapshot::ignore::{Ignore, Ruler};
use crate::snapshot::index::Index;
use crate::snapshot::root::{Root, bytes_of};
use crate::snapshot::stat::FileKind;

/// Build and cache folders, by name: what is in them can be made again.
const DISPOSABLE: &[&str] = &[
    "node_modules",
    "bower_components",
    "target",
    "dist",
    "build",
    "out",
    "coverage",
    "_build",
    "__pycache__",
    ".cache",
    ".eggs",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".nyc_output",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "venv",
    "Pods",
    ".DS_Store",
];

/// The first bytes of a CACHEDIR.TAG (bford.info/cachedir).
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// What was found; paths from the root.
#[derive(Default)]
pub(in crate::shadow) struct Walked {
    /// Ignored files and links that are not disposable.
    pub(super) ignored: Vec<BString>,
    /// Ignored folders (or files) that go silently.
    pub(super) disposable: Vec<BString>,
    /// Folders with a repository of their own, submodules too.
    pub(super) nested: Vec<BString>,
    /// Folders with nothing in them, which no tree has.
    pub(super) empty: Vec<BString>,
    /// Folders that could not be read.
    pub(super) unreadable: Vec<BString>,
}

struct Walk<'w> {
    root: &'w Root,
    index: &'w gix::index::State,
    ruler: Ruler,
    names: Vec<String>,
    /// Paths that we made ourselves; they are looked at apart.
    ours: Vec<BString>,
    found: Walked,
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// A folder like any other.
    Open,
    /// An ignored folder.
    Ignored,
    /// A disposable one, where only repositories matter.
    Disposable,
}

/// Walks the shadow, following no link.
///
/// # Errors
/// When the ignore rules or the index cannot be read.
pub(in crate::shadow) fn walk(repo: &Repo, shadow: &Repo, task: &Task) -> Result<Walked> {
    let root = Root::open(&task.path)?;
    let index = Index::load(shadow)?;
    let shared = shadow.gix().clone().into_sync();
    let mut names: Vec<String> = deps::words(repo, "shadow.disposable")
        .unwrap_or_else(|| DISPOSABLE.iter().map(|n| (*n).to_owned()).collect());
    names.extend(deps::names(repo));
    let is_made = |made: &&Made| match made.how {
        // What became of a copy is looked at apart.
        How::Copied => {
            let stat = root.stat(bytes_of(&made.path).as_bstr());
            stat.is_ok_and(|stat| stat.is_some_and(|s| s.kind != FileKind::Folder))
        }
        // Anything else in the place of a link or a clone is somebody's own.
        How::Cloned | How::Linked => made.is_untouched(&root, &task.source),
    };
    let ours: Vec<&Made> = task.manifest.iter().filter(is_made).collect();
    let mut walk = Walk {
        root: &root,
        index: index.state(),
        ruler: Ignore::on_disk(&shared, index.state()).ruler()?,
        names,
        ours: ours.iter().map(|made| bytes_of(&made.path)).collect(),
        found: Walked::default(),
    };
    walk.folder(BStr::new(b""), Within::Open);
    for made in ours.iter().filter(|m| m.how == How::Cloned) {
        let path = bytes_of(&made.path);
        walk.folder(path.as_bstr(), Within::Disposable);
        walk.found.disposable.push(path);
    }
    let mut found = walk.found;
    found.ignored.sort();
    found.disposable.sort();
    found.nested.sort();
    found.empty.sort();
    Ok(found)
}

impl Walk<'_> {
    /// One folder; `path` has no slash at its end and is empty for the root.
    fn folder(&mut self, path: &BStr, within: Within) {
        let Ok(entries) = fs::read_dir(self.root.join(path)) else {
            self.found.unreadable.push(path.to_owned());
            return;
        };
        let mut is_empty = !path.is_empty() && within != Within::Disposable;
        for entry in entries.flatten() {
            is_empty = false;
            let name = entry.file_name();
            let name = name.as_bytes();
            if name == b".git" {
                continue;
            }
            let mut child = path.to_owned();
            if !child.is_empty() {
                child.push(b'/');
            }
            child.extend_from_slice(name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.child_folder(child, name, within),
                Ok(_) => self.child_file(child, name, within),
                Err(_) => self.found.unreadable.push(child),
            }
        }
        if is_empty {
            self.found.empty.push(path.to_owned());
        }
    }

    fn child_folder(&mut self, path: BString, name: &[u8], within: Within) {
        if self.ours.contains(&path) {
            return;
        }
        let on_disk = self.root.join(path.as_bstr());
        if on_disk.join(".git").symlink_metadata().is_ok() {
            self.found.nested.push(path);
            return;
        }
        let mut below = within;
        if within == Within::Open {
            let mut prefix = path.clone();
            prefix.push(b'/');
            let is_tracked = self
                .index
                .prefixed_entries(prefix.as_bstr())
                .is_some_and(|entries| !entries.is_empty());
            if !is_tracked && self.ruler.is_ignored(path.as_bstr(), true) {
                below = Within::Ignored;
            }
        }
        if below == Within::Ignored && (self.is_disposable(name) || has_tag(&on_disk)) {
            self.found.disposable.push(path.clone());
            below = Within::Disposable;
        }
        self.folder(path.as_bstr(), below);
    }

    fn child_file(&mut self, path: BString, name: &[u8], within: Within) {
        let is_ignored = match within {
            Within::Disposable => return,
            Within::Ignored => true,
            Within::Open => {
                self.index.entry_by_path(path.as_bstr()).is_none()
                    && self.ruler.is_ignored(path.as_bstr(), false)
            }
        };
        if !is_ignored || self.ours.contains(&path) {
            return;
        }
        // The other names are those of folders; a file of that name may be anything.
        if name == b".DS_Store" && self.is_disposable(name) {
            self.found.disposable.push(path);
        } else {
            self.found.ignored.push(path);
        }
    }

    fn is_disposable(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.as_bytes() == name)
    }
}

fn has_tag(folder: &std::path::Path) -> bool {
    fs::read(folder.join("CACHEDIR.TAG")).is_ok_and(|text| text.starts_with(TAG))
}
