//! One parallel walk over the working tree beside the user's index: which
//! paths may differ from it, which are new, which are gone. Nothing is read
//! here but names and stat data.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::Entry;
use gix::index::entry::{Flags, Mode};
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

use crate::error::{Context, Result};
use crate::snapshot::ignore::{Ignore, Ruler};
use crate::snapshot::nested;
use crate::snapshot::root::{Root, is_absent, open_folder, stat_at};
use crate::snapshot::stat::{FileKind, Stat, Trust};

/// A path that was not captured, and why. Restoring leaves it alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// From the worktree's root; a folder ends with a slash.
    pub path: BString,
    /// For people, and stored with the checkpoint.
    pub reason: String,
}

/// A file or link whose content must be looked at.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// From the worktree's root.
    pub path: BString,
    /// Its position in the index, when it is tracked.
    pub entry: Option<usize>,
    /// As it was when the walk came by.
    pub stat: Stat,
    /// How git stores it.
    pub mode: Mode,
}

/// What the walk found; all lists are sorted by path.
#[derive(Debug, Default)]
pub struct Scan {
    /// New files, and tracked ones that are not proven unchanged by their stat data.
    pub candidates: Vec<Candidate>,
    /// Tracked paths that are gone.
    pub gone: Vec<BString>,
    /// Submodules and nested repositories whose commit is not the index's.
    pub commits: Vec<(BString, ObjectId)>,
    /// Folders with a repository of their own that the index knows, as they are.
    pub submodules: Vec<BString>,
    /// What could not be captured.
    pub skipped: Vec<Skipped>,
}

/// What the walk needs to know.
pub struct Walk<'w> {
    /// The worktree.
    pub root: &'w Root,
    /// The user's index, read only.
    pub index: &'w gix::index::State,
    /// When the index was written, by the file system's clock.
    pub index_written: (i64, u32),
    /// The ignore rules.
    pub ignore: &'w Ignore<'w>,
    /// `core.fileMode`, `core.symlinks`.
    pub trust: Trust,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// Git folders that lie in the worktree under another name than `.git`.
    pub own_folders: Vec<BString>,
}

/// Our staging files beside a target on another file system; never captured.
pub(super) fn is_staging_name(name: &[u8]) -> bool {
    name.starts_with(b".git-harness-") && name.ends_with(b"~")
}

impl Walk<'_> {
    /// Walks the whole tree.
    ///
    /// # Errors
    /// When the root cannot be read: then nothing is known.
    pub fn run(&self) -> Result<Scan> {
        let threads = threads_for(self.index.entries().len());
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context("cannot start threads")?;
        let found = Mutex::new(Scan::default());
        let root = Dir::read_from(self.root.fd())
            .with_context(|| format!("cannot read '{}'", self.root.path().display()))?;
        pool.scope(|scope| {
            self.folder(
                scope,
                &found,
                root,
                BString::default(),
                0..self.index.entries().len(),
            );
        });
        let mut scan = found.into_inner().unwrap_or_else(|e| e.into_inner());
        scan.candidates.sort_by(|a, b| a.path.cmp(&b.path));
        scan.gone.sort();
        scan.commits.sort();
        scan.submodules.sort();
        scan.skipped.sort();
        Ok(scan)
    }

    /// One folder: `range` are the index entries below `prefix`, which is empty
    /// or ends with a slash.
    fn folder<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        found: &'s Mutex<Scan>,
        mut dir: Dir,
        prefix: BString,
        range: Range<usize>,
    ) {
        let mut local = Scan::default();
        let mut listed: Vec<(Vec<u8>, FileType)> = Vec::with_capacity(range.len().min(64));
        let mut is_repository = false;
        while let Some(entry) = dir.read() {
            match entry {
                Ok(entry) => match entry.file_name().to_bytes() {
                    b"." | b".." => {}
                    b".git" => is_repository = true,
                    name if self.ignore_case && name.eq_ignore_ascii_case(b".git") => {
                        is_repository = true;
                    }
                    name => listed.push((name.to_owned(), entry.file_type())),
                },
                Err(e) => {
                    local.skip(prefix.clone(), e);
                    break;
                }
            }
        }
        let in_index = !range.is_empty();
        if is_repository && !in_index && !prefix.is_empty() && self.nested(&mut local, &prefix) {
            merge(found, local);
            return;
        }
        let Ok(fd) = dir.fd() else {
            return;
        };
        let mut known: Vec<&[u8]> = Vec::with_capacity(listed.len());
        let mut below: Vec<(BString, Range<usize>)> = Vec::new();
        let entries = self.index.entries();
        let mut at = range.start;
        while at < range.end {
            let entry = &entries[at];
            let path = entry.path(self.index);
            let rest = &path[prefix.len()..];
            match rest.find_byte(b'/') {
                Some(slash) if slash + 1 < rest.len() => {
                    let name = &rest[..slash];
                    let folder = &path[..prefix.len() + slash + 1];
                    let end = at
                        + entries[at..range.end]
                            .partition_point(|e| e.path(self.index).starts_with(folder));
                    known.push(name);
                    below.push((BString::from(name), at..end));
                    at = end;
                }
                Some(slash) => {
                    // A folder that a sparse index keeps as one entry and that is not on disk.
                    known.push(&rest[..slash]);
                    at += 1;
                }
                None => {
                    // The stages of a conflict share one path.
                    let mut end = at + 1;
                    while end < range.end && entries[end].path(self.index) == path {
                        end += 1;
                    }
                    if known.last().is_none_or(|last| *last != rest.as_bytes()) {
                        known.push(rest.as_bytes());
                    }
                    self.tracked(&mut local, fd, at, rest.as_bstr());
                    at = end;
                }
            }
        }
        known.sort_unstable();
        let mut ruler: Option<Ruler> = None;
        let mut new_folders: Vec<BString> = Vec::new();
        for (name, kind) in &listed {
            if is_staging_name(name) {
                continue;
            }
            let path = BString::from([prefix.as_slice(), name].concat());
            let is_known = known.binary_search(&name.as_slice()).is_ok()
                || (self.ignore_case && known.iter().any(|k| k.eq_ignore_ascii_case(name)));
            // What took the place of another kind is new: a folder where a tracked file
            // was, with all in it; a file or link where a folder with tracked files was.
            let is_new_kind = if is_folder(fd, name, *kind) {
                local.gone.contains(&path)
            } else {
                below.iter().any(|(folder, _)| folder == name)
            };
            if is_known && !is_new_kind {
                continue;
            }
            if ruler.is_none() {
                match self.ignore.take() {
                    Ok(taken) => ruler = Some(taken),
                    Err(e) => local.skipped.push(Skipped {
                        path: prefix.clone(),
                        reason: format!("{e:#}"),
                    }),
                }
            }
            let Some(ruler) = ruler.as_mut() else { break };
            self.untracked(&mut local, &mut new_folders, fd, ruler, path, *kind);
        }
        if let Some(ruler) = ruler {
            self.ignore.put(ruler);
        }
        merge(found, local);
        let dir = Arc::new(dir);
        for (name, range) in below {
            let mut path = prefix.clone();
            path.extend_from_slice(&name);
            self.descend(scope, found, &dir, path, range);
        }
        for path in new_folders {
            self.descend(scope, found, &dir, path, 0..0);
        }
    }

    fn descend<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        found: &'s Mutex<Scan>,
        parent: &Arc<Dir>,
        path: BString,
        range: Range<usize>,
    ) {
        let parent = parent.clone();
        scope.spawn(move |scope| {
            let name = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
            let opened = parent
                .fd()
                .and_then(|fd| open_folder(fd, &path[name..]))
                .and_then(Dir::new);
            drop(parent);
            let mut prefix = path;
            prefix.push(b'/');
            match opened {
                Ok(dir) => self.folder(scope, found, dir, prefix, range),
                Err(e) if is_absent(e) => {
                    let mut local = Scan::default();
                    for entry in &self.index.entries()[range] {
                        // A name cannot be a file and a folder: what sparse checkout
                        // left out is gone, too, when a file has its place.
                        if e == Errno::NOENT {
                            self.absent(&mut local, entry);
                        } else {
                            local.gone.push(entry.path(self.index).to_owned());
                        }
                    }
                    merge(found, local);
                }
                Err(e) => {
                    let mut local = Scan::default();
                    local.skip(prefix, e);
                    merge(found, local);
                }
            }
        });
    }

    fn tracked(
        &self,
        local: &mut Scan,
        folder: std::os::fd::BorrowedFd<'_>,
        position: usize,
        name: &BStr,
    ) {
        let entry = &self.index.entries()[position];
        let stat = match stat_at(folder, name) {
            Ok(stat) => stat,
            Err(e) if is_absent(e) => return self.absent(local, entry),
            Err(e) => return local.skip(entry.path(self.index).to_owned(), e),
        };
        let path = || entry.path(self.index).to_owned();
        if entry.mode == Mode::COMMIT && stat.kind == FileKind::Folder {
            return self.submodule(local, entry);
        }
        let Some(mode) = stat.mode(Some(entry.mode), self.trust) else {
            if stat.kind == FileKind::Special {
                local.skipped.push(Skipped {
                    path: path(),
                    reason: "not a file, link or folder".to_owned(),
                });
            }
            local.gone.push(path());
            return;
        };
        let unchanged = mode == entry.mode
            && entry.flags.stage_raw() == 0
            && !entry.flags.contains(Flags::INTENT_TO_ADD)
            && stat.matches(&entry.stat)
            && !stat_is_racy(&stat, self.index_written);
        if !unchanged {
            local.candidates.push(Candidate {
                path: path(),
                entry: Some(position),
                stat,
                mode,
            });
        }
    }

    /// A tracked path that is not on disk: deleted, unless sparse checkout left it out.
    fn absent(&self, local: &mut Scan, entry: &Entry) {
        let left_out = entry.flags.contains(Flags::SKIP_WORKTREE) || entry.mode == Mode::DIR;
        if !left_out {
            local.gone.push(entry.path(self.index).to_owned());
        }
    }

    fn submodule(&self, local: &mut Scan, entry: &Entry) {
        let path = entry.path(self.index).to_owned();
        match nested::commit_at(&self.root.join(path.as_bstr())) {
            nested::Nested::Commit(id) => {
                if id != entry.id || entry.flags.stage_raw() != 0 {
                    local.commits.push((path.clone(), id));
                }
                local.submodules.push(path);
            }
            // Not initialised: git keeps the recorded commit.
            nested::Nested::None => {}
            nested::Nested::Unborn => local.skipped.push(Skipped {
                path,
                reason: "nested repository without a commit".to_owned(),
            }),
        }
    }

    /// A folder with a repository of its own that the index does not know.
    /// False when its `.git` is no repository, so that it is a folder like any other.
    fn nested(&self, local: &mut Scan, prefix: &BString) -> bool {
        let path = BString::from(&prefix[..prefix.len() - 1]);
        match nested::commit_at(&self.root.join(path.as_bstr())) {
            nested::Nested::Commit(id) => {
                local.submodules.push(path.clone());
                local.commits.push((path, id));
                true
            }
            nested::Nested::Unborn => {
                local.skipped.push(Skipped {
                    path: prefix.clone(),
                    reason: "nested repository without a commit".to_owned(),
                });
                true
            }
            nested::Nested::None => false,
        }
    }

    fn untracked(
        &self,
        local: &mut Scan,
        new_folders: &mut Vec<BString>,
        folder: std::os::fd::BorrowedFd<'_>,
        ruler: &mut Ruler,
        path: BString,
        kind: FileType,
    ) {
        let name = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let is_folder = is_folder(folder, &path[name..], kind);
        if self.own_folders.contains(&path) || ruler.is_ignored(path.as_bstr(), is_folder) {
            return;
        }
        if is_folder {
            new_folders.push(path);
            return;
        }
        match stat_at(folder, path[name..].as_bstr()) {
            Ok(stat) => match stat.mode(None, self.trust) {
                Some(mode) => local.candidates.push(Candidate {
                    path,
                    entry: None,
                    stat,
                    mode,
                }),
                None => local.skipped.push(Skipped {
                    path,
                    reason: "not a file, link or folder".to_owned(),
                }),
            },
            // Gone between the listing and now.
            Err(e) if is_absent(e) => {}
            Err(e) => local.skip(path, e),
        }
    }
}

/// Whether a listed name is a folder; some file systems leave the kind out.
fn is_folder(parent: std::os::fd::BorrowedFd<'_>, name: &[u8], kind: FileType) -> bool {
    match kind {
        FileType::Unknown => {
            stat_at(parent, name.as_bstr()).is_ok_and(|s| s.kind == FileKind::Folder)
        }
        kind => kind == FileType::Directory,
    }
}

/// git's rule for entries as young as the index: their times prove nothing.
fn stat_is_racy(stat: &Stat, index_written: (i64, u32)) -> bool {
    stat.mtime >= index_written
}

impl Scan {
    fn skip(&mut self, path: BString, error: Errno) {
        self.skipped.push(Skipped {
            path,
            reason: std::io::Error::from(error).to_string(),
        });
    }
}

fn merge(found: &Mutex<Scan>, mut local: Scan) {
    let empty = local.candidates.is_empty()
        && local.gone.is_empty()
        && local.commits.is_empty()
        && local.submodules.is_empty()
        && local.skipped.is_empty();
    if empty {
        return;
    }
    let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
    found.candidates.append(&mut local.candidates);
    found.gone.append(&mut local.gone);
    found.commits.append(&mut local.commits);
    found.submodules.append(&mut local.submodules);
    found.skipped.append(&mut local.skipped);
}

/// One thread for small trees, where starting more costs what it gains.
fn threads_for(entries: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(8).min(1 + entries / 400)
}
