//! The new contents, complete and on the worktree's file system, before the
//! first path is touched.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;
use gix::objs::Kind;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::snapshot::convert::{Conversion, Converter};
use crate::snapshot::index::Index;
use crate::snapshot::restore::plan::Step;
use crate::snapshot::root::Root;
use crate::snapshot::sqlite;
use crate::state::file::make_folder;
use crate::state::lock;

/// Where contents wait: a folder of ours in the git folder, or the worktree's own
/// root when that is another file system.
pub struct Stage {
    folder: OwnedFd,
    path: PathBuf,
    beside: bool,
}

/// A content that waits.
#[derive(Debug)]
pub struct Staged {
    /// Its name in the stage.
    pub name: BString,
    /// The hash of the bytes as they will be on disk.
    pub content: ObjectId,
    /// Whether it is an SQLite database.
    pub is_database: bool,
}

/// What became of a step's content: none is needed, it waits, or it cannot be made.
pub type Staging = Option<Result<Staged, String>>;

/// How the blobs of a snapshot become files.
pub struct Source<'s> {
    /// The repository.
    pub repo: &'s Repo,
    /// The tree that is restored, for its attributes; `None` when nothing converts.
    pub tree: Option<ObjectId>,
    /// Paths stored as they are, sorted.
    pub raw: &'s [BString],
    /// The settings besides attributes under which git's form gives the bytes back.
    pub config: &'s [String],
}

impl Stage {
    /// Opens the stage of the worktree at `root`, empty.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(repo: &Repo, root: &Root) -> Result<Self> {
        Self::clear(repo, root)?;
        let own = repo.own_state().join("stage");
        make_folder(&own, repo.sharing())?;
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev());
        let beside = device(&own)? != device(root.path())?;
        let path = if beside { root.path().to_owned() } else { own };
        let folder = rustix::fs::open(
            &path,
            rustix::fs::OFlags::RDONLY
                | rustix::fs::OFlags::DIRECTORY
                | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )
        .with_context(|| format!("cannot open '{}'", path.display()))?;
        Ok(Stage {
            folder,
            path,
            beside,
        })
    }

    /// Removes what a restore that was cut short has left.
    ///
    /// # Errors
    /// When something stays.
    pub fn clear(repo: &Repo, root: &Root) -> Result<()> {
        let own = repo.own_state().join("stage");
        for entry in fs::read_dir(&own).into_iter().flatten().flatten() {
            let path = entry.path();
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove '{}'", path.display()))?;
        }
        if own.exists() {
            fs::remove_dir(&own).with_context(|| format!("cannot remove '{}'", own.display()))?;
            for entry in fs::read_dir(root.path()).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str());
                if crate::snapshot::scan::is_staging_name(name) {
                    fs::remove_file(entry.path())
                        .with_context(|| format!("cannot remove '{}'", entry.path().display()))?;
                }
            }
        }
        Ok(())
    }

    /// Removes it when nobody restores any more. What a restore that was cut short has
    /// left is of no use to the one that finishes it.
    ///
    /// # Errors
    /// When something stays.
    pub fn sweep(repo: &Repo) -> Result<()> {
        let (Some(worktree), true) = (repo.worktree(), repo.own_state().join("stage").exists())
        else {
            return Ok(());
        };
        let lock = repo.own_state().join("apply.lock");
        match lock::alone(&lock, repo.sharing(), Duration::ZERO) {
            Ok(_alone) => Self::clear(repo, &Root::open(worktree)?),
            Err(_) => Ok(()),
        }
    }

    /// Its open folder.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// A name in it for `number`; `role` tells new contents from old ones.
    pub fn name(&self, role: char, number: usize) -> BString {
        let id = std::process::id();
        if self.beside {
            format!(".git-harness-{id}-{role}{number}~").into()
        } else {
            format!("{role}{number}").into()
        }
    }

    /// Writes the new content of every step that has one; in the order of `steps`.
    /// `Err` is a file that cannot be made from its blob, and why: the others still can.
    ///
    /// # Errors
    /// When an object is missing, or a content cannot be written: then nothing has
    /// been touched.
    pub fn fill(&self, root: &Root, source: &Source<'_>, steps: &[Step]) -> Result<Vec<Staging>> {
        let index = match source.tree {
            Some(tree) => Some(Index::of_tree(source.repo, tree)?),
            None => None,
        };
        let handle = source.handle()?;
        let mut converter = match (&index, source.tree) {
            (Some(index), Some(tree)) => Some(Converter::in_tree(
                &handle,
                index.state(),
                tree,
                source.config,
            )?),
            _ => None,
        };
        let mut all = Vec::with_capacity(steps.len());
        for (number, step) in steps.iter().enumerate() {
            let same_content = matches!((step.now, step.then), (Some((a, x)), Some((b, y)))
                if x == y && is_file(a) && is_file(b));
            let Some((mode, id)) = step.then.filter(|_| step.rewrite || !same_content) else {
                all.push(None);
                continue;
            };
            let context = || format!("cannot bring back '{}'", step.path);
            let blob = source.repo.object(id, Kind::Blob).with_context(context)?;
            let path = step.path.as_bstr();
            let made = if mode == Mode::SYMLINK {
                Ok(blob)
            } else {
                source.bytes(converter.as_mut(), step.path_then(), id, blob)
            };
            all.push(Some(match made {
                Ok(bytes) => Ok(self
                    .one(root, source, number, path, mode, &bytes)
                    .with_context(context)?),
                Err(e) => Err(format!("{e:#}")),
            }));
        }
        Ok(all)
    }

    fn one(
        &self,
        root: &Root,
        source: &Source<'_>,
        number: usize,
        path: &BStr,
        mode: Mode,
        bytes: &[u8],
    ) -> Result<Staged> {
        let name = self.name('n', number);
        let hash = source.repo.gix().object_hash();
        let content = gix::objs::compute_hash(hash, Kind::Blob, bytes)?;
        if mode == Mode::SYMLINK && source.repo.config_bool("core.symlinks", true)? {
            rustix::fs::symlinkat(bytes, &self.folder, name.as_slice())?;
            return Ok(Staged {
                name,
                content,
                is_database: false,
            });
        }
        let permissions = match root.stat(path)? {
            Some(_) => fs::symlink_metadata(root.join(path))
                .ok()
                .filter(|found| found.is_file())
                .map(|found| found.mode() & 0o7777),
            None => None,
        };
        let executable = mode == Mode::FILE_EXECUTABLE;
        let created = if executable { 0o777 } else { 0o666 };
        let file_path = self
            .path
            .join(std::ffi::OsStr::new(name.to_str().unwrap_or_default()));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            // The umask takes its part, as for any new file.
            .mode(created)
            .open(&file_path)?;
        file.write_all(bytes)?;
        if let Some(old) = permissions {
            let bits = with_executable(old, executable);
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(bits))?;
        }
        Ok(Staged {
            name,
            content,
            is_database: sqlite::is_database(bytes),
        })
    }
}

/// `bits` with the executable bit of the snapshot: for those who may read.
pub(super) fn with_executable(bits: u32, executable: bool) -> u32 {
    match executable {
        true if bits & 0o100 != 0 => bits,
        true => bits | (bits & 0o444) >> 2,
        false => bits & !0o111,
    }
}

fn is_file(mode: Mode) -> bool {
    matches!(mode, Mode::FILE | Mode::FILE_EXECUTABLE)
}

impl Source<'_> {
    /// A handle with the settings under which the snapshot was taken.
    fn handle(&self) -> Result<gix::Repository> {
        let mut repo = self.repo.gix().clone();
        let recorded = |key: &str| {
            let found = self.config.iter().find_map(|entry| entry.strip_prefix(key));
            found.and_then(|value| value.strip_prefix('='))
        };
        let mut config = repo.config_snapshot_mut();
        for (key, default) in [("core.autocrlf", "false"), ("core.eol", "native")] {
            let value = recorded(key).unwrap_or(default);
            config
                .set_raw_value(key, value)
                .with_context(|| format!("cannot set {key}"))?;
        }
        config.commit()?;
        Ok(repo)
    }

    fn bytes(
        &self,
        converter: Option<&mut Converter<'_>>,
        path: &BStr,
        id: ObjectId,
        blob: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let Some(converter) = converter else {
            return Ok(blob);
        };
        if self
            .raw
            .binary_search_by(|raw| raw.as_bstr().cmp(path))
            .is_ok()
        {
            return Ok(blob);
        }
        match converter.conversion(path)? {
            Conversion::Lfs => lfs_content(self.repo, &blob),
            _ => converter.smudge(path, id, blob),
        }
    }
}

/// The content that a git-lfs pointer names, from the local store: git-lfs itself
/// is not run, it may use the network.
fn lfs_content(repo: &Repo, pointer: &[u8]) -> Result<Vec<u8>> {
    let oid = pointer
        .lines()
        .find_map(|line| line.strip_prefix(b"oid sha256:"))
        .and_then(|hex| hex.to_str().ok())
        .filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    let Some(oid) = oid else {
        // Not a pointer: it was committed as it is.
        return Ok(pointer.to_owned());
    };
    let store = match repo.config_text("lfs.storage") {
        Some(path) => repo.common_dir().join(path),
        None => repo.common_dir().join("lfs"),
    };
    let object = store
        .join("objects")
        .join(&oid[..2])
        .join(&oid[2..4])
        .join(oid);
    fs::read(&object).with_context(|| format!("its git-lfs object {oid} is not in the local store"))
}

#[cfg(test)]
mod tests {
    use super::with_executable;

    #[test]
    fn only_the_executable_bit_is_the_snapshots() {
        assert_eq!(with_executable(0o640, true), 0o750);
        assert_eq!(with_executable(0o755, false), 0o644);
        assert_eq!(with_executable(0o700, true), 0o700);
        assert_eq!(with_executable(0o600, false), 0o600);
    }
}
