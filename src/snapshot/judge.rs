//! What a path turns out to be: as the index says, a candidate, gone, a repository of its
//! own, or nobody's business.

use std::os::fd::BorrowedFd;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::Entry;
use gix::index::entry::{Flags, Mode};
use rustix::fs::FileType;

use crate::snapshot::nested;
use crate::snapshot::root::{is_absent, stat_at};
use crate::snapshot::scan::{Candidate, Hands, Scan, Skipped, Walk};
use crate::snapshot::stat::{FileKind, Stat};

impl Walk<'_> {
    /// The entry at `position` of the index, which is `name` in `folder`.
    pub(super) fn tracked(
        &self,
        local: &mut Scan,
        folder: BorrowedFd<'_>,
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
    pub(super) fn absent(&self, local: &mut Scan, entry: &Entry) {
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
    pub(super) fn nested(&self, local: &mut Scan, prefix: &BString) -> bool {
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

    /// A name in `folder` that the index does not have, or not as what it is.
    pub(super) fn untracked(
        &self,
        hands: &mut Hands,
        new_folders: &mut Vec<BString>,
        folder: BorrowedFd<'_>,
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
pub(super) fn is_folder(parent: BorrowedFd<'_>, name: &[u8], kind: FileType) -> bool {
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
