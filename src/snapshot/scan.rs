//! One parallel walk over the working tree beside the user's index: which
//! paths may differ from it, which are new, which are gone. Nothing is read
//! here but names and stat data.

use std::collections::HashSet;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::Mode;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::{Result, bail};
use crate::snapshot::ignore::{Ignore, Ruler};
use crate::snapshot::indexed::{Held, indexed};
use crate::snapshot::judge::is_folder;
use crate::snapshot::listed::{Folders, Listed};
use crate::snapshot::listing::{Listing, Names};
use crate::snapshot::recased::{Recased, Spellings};
use crate::snapshot::root::{Root, is_absent, open_folder, stat_at};
use crate::snapshot::stat::{Stat, Trust};
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
    /// Folders with nothing but tracked names in them.
    pub(super) listed: Vec<Listed>,
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
    /// Folders that need not be read.
    pub folders: &'w Folders<'w>,
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
pub(super) struct Hands {
    /// What it has found.
    pub(super) found: Scan,
    listing: Listing,
    /// The ignore rules, once they were asked for.
    pub(super) ruler: Option<Ruler>,
}

/// An open folder whose names are compared.
struct Here<'h> {
    fd: BorrowedFd<'h>,
    prefix: &'h BString,
    /// Where those that are gone from it begin.
    gone_before: usize,
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
        // The index has them in this order already; numbers are compared sooner than paths.
        scan.candidates
            .sort_unstable_by_key(|c| c.entry.unwrap_or(usize::MAX));
        scan.candidates.sort_by(|a, b| a.path.cmp(&b.path));
        scan.gone.sort();
        scan.commits.sort();
        scan.submodules.sort();
        scan.skipped.sort();
        scan.recased.sort();
        scan.listed.sort_unstable();
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
        let is_new = range.is_empty() && !prefix.is_empty();
        let (mut indexed, hash) = indexed(self.index, &prefix, range);
        let folder = self.folders.look(fd.as_fd(), hash).filter(|_| !is_new);
        let listed = match folder.filter(|folder| self.folders.is_known(folder)) {
            Some(_) => None,
            None => Some(self.list(hands, fd.as_fd(), &prefix)),
        };
        let is_repository = listed.as_ref().is_some_and(|names| names.is_repository);
        if is_repository && is_new && self.nested(&mut hands.found, &prefix) {
            return;
        }
        let gone_before = hands.found.gone.len();
        for (name, held) in &indexed {
            if let Held::File(position) = held {
                self.tracked(&mut hands.found, fd.as_fd(), *position, name.as_bstr());
            }
        }
        let mut new_folders: Vec<BString> = Vec::new();
        let only_tracked = match listed {
            None => true,
            Some(listed) => {
                let here = Here {
                    fd: fd.as_fd(),
                    prefix: &prefix,
                    gone_before,
                };
                self.compare(hands, here, &mut indexed, &listed, &mut new_folders)
            }
        };
        hands.found.listed.extend(folder.filter(|_| only_tracked));
        let parent = Arc::new(fd);
        let add = |path: BString, range: Range<usize>| {
            queue.add(Folder {
                parent: Some(parent.clone()),
                path,
                range,
            });
        };
        for (name, held) in indexed {
            if let Held::Folder(range) = held {
                add([prefix.as_slice(), name].concat().into(), range);
            }
        }
        for path in new_folders {
            add(path, 0..0);
        }
    }

    fn list(&self, hands: &mut Hands, folder: BorrowedFd<'_>, prefix: &BString) -> Names {
        let (names, read) = Names::of(&mut hands.listing, folder, self.ignore_case);
        if let Err(e) = read {
            hands.found.skip(prefix.clone(), e);
        }
        names
    }

    /// The names of a folder beside what the index has in it, which is sorted by name
    /// here. Whether they are the same, each of its kind.
    fn compare(
        &self,
        hands: &mut Hands,
        here: Here<'_>,
        indexed: &mut [(&[u8], Held)],
        listed: &Names,
        new_folders: &mut Vec<BString>,
    ) -> bool {
        let Here {
            fd,
            prefix,
            gone_before,
        } = here;
        // A conflict may have one name as a file and as a folder: the folder comes last.
        indexed.sort_unstable_by(|a, b| (a.0, a.1.is_folder()).cmp(&(b.0, b.1.is_folder())));
        let mut all_plain = listed.is_complete && !listed.is_repository;
        let mut unlisted: Vec<bool> = vec![true; indexed.len()];
        let mut unknown = Vec::new();
        for (name, kind) in listed.iter() {
            if is_staging_name(name) {
                all_plain = false;
                continue;
            }
            let after = indexed.partition_point(|(k, _)| *k <= name);
            let found = indexed[..after].last().filter(|(k, _)| *k == name);
            let Some((_, held)) = found else {
                unknown.push((name, kind));
                continue;
            };
            let same = indexed[..after]
                .iter()
                .rev()
                .take_while(|(k, _)| *k == name);
            unlisted[after - same.count()..after].fill(false);
            // What took the place of another kind is new: a folder where a tracked
            // file was, with all in it; a file or link where a tracked folder was.
            let is_new_kind = match (kind, held) {
                (FileType::RegularFile | FileType::Symlink, Held::File(_)) => false,
                (FileType::Directory, Held::Folder(_)) => false,
                (_, held) => {
                    all_plain = false;
                    match is_folder(fd, name, kind) {
                        true => {
                            let gone = &hands.found.gone[gone_before..];
                            !held.is_folder() && gone.iter().any(|p| p[prefix.len()..] == *name)
                        }
                        false => held.is_folder(),
                    }
                }
            };
            if is_new_kind {
                let path = BString::from([prefix.as_slice(), name].concat());
                self.untracked(hands, new_folders, fd, path, kind);
            }
        }
        all_plain &= unknown.is_empty() && listed.len() == indexed.len();
        let unlisted = indexed.iter().zip(unlisted).filter(|(_, is)| *is);
        let unlisted = match unknown.is_empty() {
            true => Spellings::of(std::iter::empty()),
            false => Spellings::of(unlisted.map(|((name, _), _)| *name)),
        };
        for (name, kind) in unknown {
            let path = BString::from([prefix.as_slice(), name].concat());
            let tracked = unlisted.other(name);
            match tracked.filter(|k| stat_at(fd, k.as_bstr()).is_ok()) {
                // It is found by a name that is not listed: the file system takes the
                // two for one.
                Some(tracked) => hands
                    .found
                    .recased
                    .push(([prefix.as_slice(), tracked].concat().into(), path)),
                None => self.untracked(hands, new_folders, fd, path, kind),
            }
        }
        all_plain
    }
}

impl Scan {
    fn merge(&mut self, mut other: Scan) {
        self.candidates.append(&mut other.candidates);
        self.gone.append(&mut other.gone);
        self.commits.append(&mut other.commits);
        self.submodules.append(&mut other.submodules);
        self.skipped.append(&mut other.skipped);
        self.recased.append(&mut other.recased);
        self.listed.append(&mut other.listed);
    }

    pub(super) fn skip(&mut self, path: BString, error: Errno) {
        self.skipped.push(Skipped {
            path,
            reason: std::io::Error::from(error).to_string(),
        });
    }
}
