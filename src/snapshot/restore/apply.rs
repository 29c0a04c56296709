//! Puts staged contents in place. Each path is exchanged, not overwritten, and
//! what comes out is looked at: an editor that saved in that very moment gets
//! its file back.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, Mode as Permissions, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::difference::Value;
use crate::snapshot::recased;
use crate::snapshot::restore::plan::{LeftAlone, Step};
use crate::snapshot::restore::stage::{Stage, Staged, Staging, with_executable};
use crate::snapshot::root::{Root, bytes_of, is_absent, open_folder, stat_at};
use crate::snapshot::sqlite;
use crate::snapshot::stat::{FileKind, Stat};
use crate::state::crash;

/// What was done.
#[derive(Debug, Default)]
pub struct Applied {
    /// Paths that were written.
    pub written: Vec<BString>,
    /// Paths that were deleted.
    pub deleted: Vec<BString>,
    /// Paths that were not touched after all.
    pub left_alone: Vec<LeftAlone>,
}

/// The hands that change the working tree.
pub struct Applier<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The worktree.
    pub root: &'a Root,
    /// Where new contents wait and old ones go.
    pub stage: &'a Stage,
    /// Files that were captured because someone declared them.
    pub declared: &'a BTreeSet<BString>,
}

/// A step, its new content, and what is there.
struct Ready<'s> {
    number: usize,
    step: &'s Step,
    staged: Option<Result<&'s Staged, &'s String>>,
    stat: Option<Stat>,
}

enum Done {
    Yes,
    No(String),
}

impl Done {
    fn changed() -> Self {
        Done::No("it changed meanwhile".to_owned())
    }
}

impl Applier<'_> {
    /// Carries out `steps`, whose contents are `staged` and whose files were
    /// `seen` when they were compared with the safety snapshot: what blocks a name
    /// first, then contents, other deletions last.
    ///
    /// # Errors
    /// When the file system fails; the restore can then be resumed.
    pub fn apply(
        &self,
        steps: &[Step],
        staged: &[Staging],
        seen: &[Option<Stat>],
    ) -> Result<Applied> {
        let mut applied = Applied::default();
        let all: Vec<Ready<'_>> = steps
            .iter()
            .enumerate()
            .map(|(number, step)| Ready {
                number,
                step,
                staged: staged[number].as_ref().map(|made| made.as_ref()),
                stat: seen[number],
            })
            .collect();
        let written: BTreeSet<&BStr> = steps
            .iter()
            .filter(|s| s.then.is_some())
            .map(|s| s.path.as_bstr())
            .collect();
        let (blocking, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|ready| {
            ready.step.then.is_none() && blocks(ready.step.path.as_bstr(), &written)
        });
        let (deletions, writes): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|ready| ready.step.then.is_none());
        for ready in blocking.iter().chain(&writes).chain(&deletions) {
            crash::point();
            let path = ready.step.path.as_bstr();
            let tried = match ready.step.then {
                None => self.delete(ready),
                Some(_) => self.write(ready),
            };
            // One path that the file system refuses must not cost the others.
            let done = tried.unwrap_or_else(|e| Done::No(e.to_string()));
            match done {
                Done::Yes if ready.step.then.is_none() => {
                    self.remove_emptied(path);
                    applied.deleted.push(path.to_owned());
                }
                Done::Yes => applied.written.push(path.to_owned()),
                Done::No(reason) => applied.left_alone.push(LeftAlone {
                    path: path.to_owned(),
                    reason,
                    against: true,
                }),
            }
        }
        // Last: a folder that gets another name may take the files in it for new ones.
        for step in steps.iter().filter(|step| step.name.is_some()) {
            crash::point();
            if applied.written.contains(&step.path)
                && let Done::No(reason) = self
                    .respell(step)
                    .unwrap_or_else(|e| Done::No(e.to_string()))
            {
                applied.left_alone.push(LeftAlone {
                    path: step.path.clone(),
                    reason,
                    against: true,
                });
            }
        }
        applied.written.sort();
        applied.deleted.sort();
        Ok(applied)
    }

    fn write(&self, ready: &Ready<'_>) -> Result<Done, Errno> {
        let path = ready.step.path.as_bstr();
        let is_database = matches!(ready.staged, Some(Ok(staged)) if staged.is_database)
            && self.declared.contains(&ready.step.path);
        let file = self.root.join(path);
        if is_database && let Some(user) = sqlite::user_of(&file) {
            return Ok(Done::No(format!("it is open in {user}")));
        }
        let done = self.write_file(ready)?;
        if is_database && matches!(done, Done::Yes) {
            // They belong to the database that was there, whose copy holds them.
            for companion in sqlite::companions(&file) {
                let _ = std::fs::remove_file(companion);
            }
        }
        Ok(done)
    }

    fn respell(&self, step: &Step) -> Result<Done, Errno> {
        let Some(name) = &step.name else {
            return Ok(Done::Yes);
        };
        Ok(
            match recased::respell(self.root, step.path.as_bstr(), name.as_bstr())? {
                true => Done::Yes,
                false => Done::No(format!("the file system does not spell it '{name}'")),
            },
        )
    }

    fn write_file(&self, ready: &Ready<'_>) -> Result<Done, Errno> {
        let path = ready.step.path.as_bstr();
        let (folder, name) = match self.make_parent(path) {
            Ok(found) => found,
            Err(e) if is_absent(e) || e == Errno::EXIST => return Ok(Done::changed()),
            Err(e) => return Err(e),
        };
        let now = look(folder.as_fd(), name)?;
        let staged = match ready.staged {
            Some(Ok(staged)) => staged,
            Some(Err(reason)) => return Ok(Done::No(reason.clone())),
            None if ready.step.now == ready.step.then => {
                return Ok(match ready.stat == now && now.is_some() {
                    true => Done::Yes,
                    false => Done::changed(),
                });
            }
            None => return self.change_mode(ready, folder.as_fd(), name, now),
        };
        match (ready.stat, now) {
            (None, Some(stat)) if stat.kind == FileKind::Folder => {
                // Emptied by the steps before, or filled again since.
                let here = bytes_of(self.repo.prefix());
                let holds_us =
                    here.starts_with(path) && matches!(here.get(path.len()), None | Some(b'/'));
                if holds_us || !remove_empty_folders(&self.root.join(path)) {
                    return Ok(Done::changed());
                }
                self.put_new(staged, folder.as_fd(), name)
            }
            (None, None) => self.put_new(staged, folder.as_fd(), name),
            (Some(seen), Some(now)) if seen == now => {
                self.exchange(staged, ready, folder.as_fd(), name)
            }
            _ => Ok(Done::changed()),
        }
    }

    fn put_new(&self, staged: &Staged, folder: BorrowedFd<'_>, name: &BStr) -> Result<Done, Errno> {
        match rename(
            self.stage.fd(),
            staged.name.as_bstr(),
            folder,
            name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => Ok(Done::Yes),
            Err(Errno::EXIST) => Ok(Done::changed()),
            Err(Errno::XDEV) => Ok(Done::No("it is on another file system".to_owned())),
            Err(e) => Err(e),
        }
    }

    fn exchange(
        &self,
        staged: &Staged,
        ready: &Ready<'_>,
        folder: BorrowedFd<'_>,
        name: &BStr,
    ) -> Result<Done, Errno> {
        let stage = self.stage.fd();
        let aside = staged.name.as_bstr();
        match rename(stage, aside, folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Done::changed()),
            Err(Errno::XDEV) => return Ok(Done::No("it is on another file system".to_owned())),
            Err(Errno::INVAL | Errno::NOSYS) => {
                // A file system that cannot exchange: the check a moment ago must do.
                rustix::fs::renameat(stage, aside.as_bytes(), folder, name.as_bytes())?;
                return Ok(Done::Yes);
            }
            Err(e) => return Err(e),
        }
        let came_out = look(stage, aside)?;
        if is_the_same(ready.stat, came_out) {
            remove(stage, aside)?;
            return Ok(Done::Yes);
        }
        // Someone saved between our look and the exchange: theirs goes back.
        let ours = look(folder, name)?;
        rename(stage, aside, folder, name, RenameFlags::EXCHANGE)?;
        if !is_the_same(ours, look(stage, aside)?) {
            // And saved once more: that is the newest, and stays.
            rename(stage, aside, folder, name, RenameFlags::EXCHANGE)?;
        }
        Ok(Done::changed())
    }

    fn change_mode(
        &self,
        ready: &Ready<'_>,
        folder: BorrowedFd<'_>,
        name: &BStr,
        now: Option<Stat>,
    ) -> Result<Done, Errno> {
        if ready.stat != now || now.is_none() {
            return Ok(Done::changed());
        }
        let executable = is_executable(&ready.step.then);
        let file = rustix::fs::openat(
            folder,
            name.as_bytes(),
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Permissions::empty(),
        )?;
        let bits = rustix::fs::fstat(&file)?.st_mode & 0o7777;
        let bits = with_executable(bits, executable);
        rustix::fs::fchmod(&file, Permissions::from_bits_truncate(bits))?;
        Ok(Done::Yes)
    }

    fn delete(&self, ready: &Ready<'_>) -> Result<Done, Errno> {
        let path = ready.step.path.as_bstr();
        let (folder, name) = match self.root.parent(path) {
            Ok(found) => found,
            Err(e) if is_absent(e) => return Ok(Done::Yes),
            Err(e) => return Err(e),
        };
        match look(folder.as_fd(), name)? {
            None => return Ok(Done::Yes),
            now if now != ready.stat => return Ok(Done::changed()),
            _ => {}
        }
        let stage = self.stage.fd();
        let aside = self.stage.name('o', ready.number);
        match rename(
            folder.as_fd(),
            name,
            stage,
            aside.as_bstr(),
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Done::Yes),
            Err(Errno::XDEV) => return Ok(Done::No("it is on another file system".to_owned())),
            Err(e) => return Err(e),
        }
        let came_out = look(stage, aside.as_bstr())?;
        if is_the_same(ready.stat, came_out) {
            remove(stage, aside.as_bstr())?;
            return Ok(Done::Yes);
        }
        // Someone saved between our look and the move: theirs goes back.
        for spare in std::iter::once(name.to_owned()).chain(spare_names(name)) {
            match rename(
                stage,
                aside.as_bstr(),
                folder.as_fd(),
                spare.as_bstr(),
                RenameFlags::NOREPLACE,
            ) {
                Ok(()) if spare == name => return Ok(Done::changed()),
                Ok(()) => {
                    return Ok(Done::No(format!(
                        "it changed meanwhile, twice; the first is now '{spare}'"
                    )));
                }
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e),
            }
        }
        Err(Errno::EXIST)
    }

    /// The folder of `path`, made if need be, never through a link.
    fn make_parent<'p>(&self, path: &'p BStr) -> Result<(OwnedFd, &'p BStr), Errno> {
        let (folders, name) = match path.rfind_byte(b'/') {
            Some(slash) => (path[..slash].as_bstr(), path[slash + 1..].as_bstr()),
            None => (b"".as_bstr(), path),
        };
        let mut folder = rustix::io::fcntl_dupfd_cloexec(self.root.fd(), 0)?;
        for component in folders.split(|b| *b == b'/').filter(|c| !c.is_empty()) {
            folder = match open_folder(folder.as_fd(), component) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(
                        &folder,
                        component,
                        Permissions::from_bits_truncate(0o777),
                    )?;
                    open_folder(folder.as_fd(), component)?
                }
                found => found?,
            };
        }
        Ok((folder, name))
    }

    /// Removes the folders above `path` that are empty now, but never one that the
    /// caller is in: its shell would be left nowhere.
    fn remove_emptied(&self, path: &BStr) {
        let here = bytes_of(self.repo.prefix());
        let mut path = path;
        while let Some(slash) = path.rfind_byte(b'/') {
            path = path[..slash].as_bstr();
            let holds_us =
                here.starts_with(path) && matches!(here.get(path.len()), None | Some(b'/'));
            let removed = !holds_us
                && self.root.parent(path).is_ok_and(|(folder, name)| {
                    rustix::fs::unlinkat(folder, name.as_bytes(), AtFlags::REMOVEDIR).is_ok()
                });
            if !removed {
                return;
            }
        }
    }
}

/// Removes `folder` and the empty folders in it, which no checkpoint has; false
/// when there is anything else.
fn remove_empty_folders(folder: &std::path::Path) -> bool {
    let below = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let all_gone = below.fold(true, |gone, entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && remove_empty_folders(&entry.path()) && gone
    });
    all_gone && std::fs::remove_dir(folder).is_ok()
}

/// Names beside `name` for what must not be lost.
fn spare_names(name: &BStr) -> impl Iterator<Item = BString> + '_ {
    (1..100).map(move |n| {
        let mut spare = name.to_owned();
        spare.extend_from_slice(format!("~{n}").as_bytes());
        spare
    })
}

/// Whether deleting `path` makes room for a path that is written: one below it,
/// or one that is a folder above it now.
fn blocks(path: &BStr, written: &BTreeSet<&BStr>) -> bool {
    let mut below = path.to_owned();
    below.push(b'/');
    let below_it = written
        .range(below.as_bstr()..)
        .next()
        .is_some_and(|w| w.starts_with(&below));
    below_it
        || path
            .char_indices()
            .filter(|(_, _, c)| *c == '/')
            .any(|(at, _, _)| written.contains(path[..at].as_bstr()))
}

pub(super) fn is_executable(value: &Value) -> bool {
    matches!(value, Some((gix::index::entry::Mode::FILE_EXECUTABLE, _)))
}

fn look(folder: BorrowedFd<'_>, name: &BStr) -> Result<Option<Stat>, Errno> {
    match stat_at(folder, name) {
        Ok(stat) => Ok(Some(stat)),
        Err(e) if is_absent(e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether a file that was moved aside is the one that was looked at; its ctime
/// is new by the move.
fn is_the_same(seen: Option<Stat>, came_out: Option<Stat>) -> bool {
    match (seen, came_out) {
        (Some(seen), Some(out)) => {
            seen.kind == out.kind
                && seen.ino == out.ino
                && seen.size == out.size
                && seen.mtime == out.mtime
        }
        _ => false,
    }
}

fn rename(
    from: BorrowedFd<'_>,
    old: &BStr,
    to: BorrowedFd<'_>,
    new: &BStr,
    flags: RenameFlags,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, old.as_bytes(), to, new.as_bytes(), flags) {
        Err(Errno::INVAL | Errno::NOSYS) if flags == RenameFlags::NOREPLACE => {
            // A file system without the flag: the check a moment ago must do.
            match stat_at(to, new) {
                Ok(_) => Err(Errno::EXIST),
                Err(_) => rustix::fs::renameat(from, old.as_bytes(), to, new.as_bytes()),
            }
        }
        outcome => outcome,
    }
}

fn remove(folder: BorrowedFd<'_>, name: &BStr) -> Result<(), Errno> {
    rustix::fs::unlinkat(folder, name.as_bytes(), AtFlags::empty())
}
