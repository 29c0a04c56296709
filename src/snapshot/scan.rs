//! One parallel walk over the working tree beside the user's index: which
//! paths may differ from it, which are new, which are gone. Nothing is read
//! here but names and stat data.

use std::collections::HashSet;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::Entry;
use gix::index::entry::{Flags, Mode};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::{Result, bail};
use crate::snapshot::ignore::{Ignore, Ruler};
use crate::snapshot::listing::Listing;
use crate::snapshot::nested;
use crate::snapshot::recased::{Recased, Spellings};
use crate::snapshot::root::{Root, is_absent, open_folder, stat_at};
use crate::snapshot::stat::{FileKind, Stat, Trust};
use crate::snapshot::workers::{self, Queue};

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
    /// Names of the index that the file system has in another spelling.
    pub(super) recased: Vec<Recased>,
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
    /// Blobs that 'git replace' shows as others: a checkout may have written those.
    pub replaced: HashSet<ObjectId>,
    /// Git folders that lie in the worktree under another name than `.git`.
    pub own_folders: Vec<BString>,
}

/// Our staging files beside a target on another file system; never captured.
pub(super) fn is_staging_name(name: &[u8]) -> bool {
    name.starts_with(b".git-harness-") && name.ends_with(b"~")
}

/// A folder to walk.
struct Folder {
    /// The open folder above it; `None` for the root.
    parent: Option<Arc<OwnedFd>>,
    /// From the root; empty, or without a slash at its end.
    path: BString,
    /// The index entries below it.
    range: Range<usize>,
}

/// What one thread works with.
#[derive(Default)]
struct Hands {
    found: Scan,
    listing: Listing,
    ruler: Option<Ruler>,
}

/// The names of one folder, in one piece of memory.
#[derive(Default)]
struct Names {
    bytes: Vec<u8>,
    ends: Vec<(usize, FileType)>,
}

impl Names {
    fn push(&mut self, name: &[u8], kind: FileType) {
        self.bytes.extend_from_slice(name);
        self.ends.push((self.bytes.len(), kind));
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = &self.bytes[start..*end];
            start = *end;
            (name, *kind)
        })
    }
}

impl Walk<'_> {
    /// Walks the whole tree.
    ///
    /// # Errors
    /// When the root cannot be read: then nothing is known.
    pub fn run(&self) -> Result<Scan> {
        let entries = self.index.entries().len();
        let root = Folder {
            parent: None,
            path: BString::default(),
            range: 0..entries,
        };
        // As many for each thread as git has for `core.preloadIndex`.
        let threads = workers::threads_for(entries, 500);
        let mut scan = Scan::default();
        for hands in workers::run(threads, root, Hands::default, |hands, folder, queue| {
            self.walk(hands, folder, queue);
        }) {
            scan.merge(hands.found);
        }
        if let Some(unreadable) = scan.skipped.iter().find(|s| s.path.is_empty()) {
            bail!(
                "cannot read '{}': {}",
                self.root.path().display(),
                unreadable.reason
            );
        }
        scan.candidates.sort_by(|a, b| a.path.cmp(&b.path));
        scan.gone.sort();
        scan.commits.sort();
        scan.submodules.sort();
        scan.skipped.sort();
        scan.recased.sort();
        Ok(scan)
    }

    fn walk(&self, hands: &mut Hands, folder: Folder, queue: &Queue<Folder>) {
        let Folder {
            parent,
            path,
            range,
        } = folder;
        let name = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let opened = match &parent {
            Some(parent) => open_folder(parent.as_fd(), &path[name..]),
            None => open_folder(self.root.fd(), b"."),
        };
        drop(parent);
        let mut prefix = path;
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        match opened {
            Ok(fd) => self.folder(hands, fd, prefix, range, queue),
            Err(e) if is_absent(e) => {
                for entry in &self.index.entries()[range] {
                    // A name cannot be a file and a folder: what sparse checkout left
                    // out is gone, too, when a file has its place.
                    if e == Errno::NOENT {
                        self.absent(&mut hands.found, entry);
                    } else {
                        hands.found.gone.push(entry.path(self.index).to_owned());
                    }
                }
            }
            Err(e) => hands.found.skip(prefix, e),
        }
    }

    /// One open folder: `range` are the index entries below `prefix`, which is
    /// empty or ends with a slash.
    fn folder(
        &self,
        hands: &mut Hands,
        fd: OwnedFd,
        prefix: BString,
        range: Range<usize>,
        queue: &Queue<Folder>,
    ) {
        let mut listed = Names::default();
        let mut is_repository = false;
        let read = hands.listing.read(fd.as_fd(), |name, kind| {
            if name == b".git" || (self.ignore_case && name.eq_ignore_ascii_case(b".git")) {
                is_repository = true;
            } else {
                listed.push(name, kind);
            }
        });
        if let Err(e) = read {
            hands.found.skip(prefix.clone(), e);
        }
        let is_new = range.is_empty() && !prefix.is_empty();
        if is_repository && is_new && self.nested(&mut hands.found, &prefix) {
            return;
        }
        // Names in the index, and for folders of it the entries below.
        let mut known: Vec<(&[u8], Option<Range<usize>>)> = Vec::with_capacity(listed.ends.len());
        let gone_before = hands.found.gone.len();
        let entries = self.index.entries();
        let mut at = range.start;
        while at < range.end {
            let path = entries[at].path(self.index);
            let rest = &path[prefix.len()..];
            let start = at;
            match rest.find_byte(b'/') {
                Some(slash) if slash + 1 < rest.len() => {
                    let folder = &path[..prefix.len() + slash + 1];
                    at += entries[at..range.end]
                        .partition_point(|e| e.path(self.index).starts_with(folder));
                    known.push((&rest[..slash], Some(start..at)));
                }
                Some(slash) => {
                    // A folder that a sparse index keeps as one entry and that is not on disk.
                    known.push((&rest[..slash], None));
                    at += 1;
                }
                None => {
                    // The stages of a conflict share one path.
                    at += 1;
                    while at < range.end && entries[at].path(self.index) == path {
                        at += 1;
                    }
                    known.push((rest, None));
                    self.tracked(&mut hands.found, fd.as_fd(), start, rest.as_bstr());
                }
            }
        }
        // A conflict may have one name as a file and as a folder: the folder comes last.
        known.sort_unstable_by(|a, b| (a.0, a.1.is_some()).cmp(&(b.0, b.1.is_some())));
        let mut new_folders: Vec<BString> = Vec::new();
        let mut unlisted: Vec<bool> = vec![true; known.len()];
        let mut unknown = Vec::new();
        for (name, kind) in listed.iter() {
            if is_staging_name(name) {
                continue;
            }
            let after = known.partition_point(|(k, _)| *k <= name);
            let found = known[..after].last().filter(|(k, _)| *k == name);
            let Some((_, below)) = found else {
                unknown.push((name, kind));
                continue;
            };
            let same = known[..after].iter().rev().take_while(|(k, _)| *k == name);
            unlisted[after - same.count()..after].fill(false);
            // What took the place of another kind is new: a folder where a tracked
            // file was, with all in it; a file or link where a tracked folder was.
            let is_new_kind = match (kind, below) {
                (FileType::RegularFile | FileType::Symlink, None) => false,
                (FileType::Directory, Some(_)) => false,
                (_, below) => match is_folder(fd.as_fd(), name, kind) {
                    true => {
                        let gone = &hands.found.gone[gone_before..];
                        below.is_none() && gone.iter().any(|p| p[prefix.len()..] == *name)
                    }
                    false => below.is_some(),
                },
            };
            if is_new_kind {
                let path = BString::from([prefix.as_slice(), name].concat());
                self.untracked(hands, &mut new_folders, fd.as_fd(), path, kind);
            }
        }
        let unlisted = known.iter().zip(unlisted).filter(|(_, is)| *is);
        let unlisted = match unknown.is_empty() {
            true => Spellings::of(std::iter::empty()),
            false => Spellings::of(unlisted.map(|((name, _), _)| *name)),
        };
        for (name, kind) in unknown {
            let path = BString::from([prefix.as_slice(), name].concat());
            let tracked = unlisted.other(name);
            match tracked.filter(|k| stat_at(fd.as_fd(), k.as_bstr()).is_ok()) {
                // It is found by a name that is not listed: the file system takes the
                // two for one.
                Some(tracked) => hands
                    .found
                    .recased
                    .push(([prefix.as_slice(), tracked].concat().into(), path)),
                None => self.untracked(hands, &mut new_folders, fd.as_fd(), path, kind),
            }
        }
        let parent = Arc::new(fd);
        let add = |path: BString, range: Range<usize>| {
            queue.add(Folder {
                parent: Some(parent.clone()),
                path,
                range,
            });
        };
        for (name, below) in known {
            if let Some(range) = below {
                add([prefix.as_slice(), name].concat().into(), range);
            }
        }
        for path in new_folders {
            add(path, 0..0);
        }
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
            && !self.replaced.contains(&entry.id)
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
        hands: &mut Hands,
        new_folders: &mut Vec<BString>,
        folder: std::os::fd::BorrowedFd<'_>,
        path: BString,
        kind: FileType,
    ) {
        let name = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let is_folder = is_folder(folder, &path[name..], kind);
        if self.own_folders.contains(&path) || self.is_ignored(hands, path.as_bstr(), is_folder) {
            return;
        }
        let local = &mut hands.found;
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

    fn is_ignored(&self, hands: &mut Hands, path: &BStr, is_folder: bool) -> bool {
        if hands.ruler.is_none() {
            match self.ignore.ruler() {
                Ok(ruler) => hands.ruler = Some(ruler),
                Err(e) => {
                    hands.found.skipped.push(Skipped {
                        path: path.to_owned(),
                        reason: format!("{e:#}"),
                    });
                    return true;
                }
            }
        }
        hands
            .ruler
            .as_mut()
            .is_some_and(|ruler| ruler.is_ignored(path, is_folder))
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
    fn merge(&mut self, mut other: Scan) {
        self.candidates.append(&mut other.candidates);
        self.gone.append(&mut other.gone);
        self.commits.append(&mut other.commits);
        self.submodules.append(&mut other.submodules);
        self.skipped.append(&mut other.skipped);
        self.recased.append(&mut other.recased);
    }

    fn skip(&mut self, path: BString, error: Errno) {
        self.skipped.push(Skipped {
            path,
            reason: std::io::Error::from(error).to_string(),
        });
    }
}
