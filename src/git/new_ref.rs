//! A new ref in two steps, as in git's own transactions: prepared, with its value in
//! its lock file, and named once all that it stands for is on disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use gix::ObjectId;

use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::state::file;

/// A ref that nobody sees yet. Dropped, there is none.
pub struct NewRef {
    name: String,
    target: ObjectId,
    /// `None` where refs are not files: git then makes it at once.
    lock: Option<LockFile>,
}

/// As git writes a ref (Documentation/technical, "lockfile"): `<file>.lock`, then its
/// name. gix wants the lock of packed-refs as well, for any change.
struct LockFile {
    open: File,
    path: PathBuf,
    file: PathBuf,
    is_named: bool,
}

impl Repo {
    /// Prepares the ref `name`, which must not exist.
    ///
    /// # Errors
    /// When it exists, or somebody else is about to make it, or it cannot be written.
    pub fn new_ref(&self, name: &str, target: ObjectId) -> Result<NewRef> {
        let mut new = NewRef {
            name: name.to_owned(),
            target,
            lock: None,
        };
        if self.backend().is_files() {
            if self.find_ref(name.into())?.is_some() {
                // It may be among the packed ones, where no file is in the way.
                bail!("the ref '{name}' exists already");
            }
            let lock = LockFile::make(&self.common_dir().join(name), target)
                .with_context(|| format!("cannot create the ref '{name}'"))?;
            new.lock = Some(lock);
        }
        Ok(new)
    }

    /// Removes what killed processes have left of new refs below `prefix`.
    pub fn clear_unfinished_refs(&self, prefix: &str) {
        clear_unfinished(&self.common_dir().join(prefix));
    }

    /// Removes what a killed process has left of a new ref `name`. Only for whoever
    /// holds a lock that all who make this ref take.
    pub fn clear_unfinished_ref(&self, name: &str) {
        let _ = fs::remove_file(lock_path(&self.common_dir().join(name)));
    }
}

impl NewRef {
    /// Brings its value to disk, so that no power loss leaves the name without it.
    ///
    /// # Errors
    /// When that fails.
    pub fn sync(&self) -> Result<()> {
        match &self.lock {
            Some(lock) => lock.open.sync_all(),
            None => Ok(()),
        }
        .with_context(|| format!("cannot sync the ref '{}'", self.name))
    }

    /// Makes it real. `durable`: not even the name is lost with the power then.
    ///
    /// # Errors
    /// When it exists by now or cannot be written.
    pub fn publish(self, repo: &Repo, durable: bool) -> Result<()> {
        let Some(mut lock) = self.lock else {
            return repo.update_by_git(format!("create {}\0{}\0", self.name, self.target));
        };
        lock.rename()
            // The file systems that journal names bring them to disk with the file.
            .and_then(|()| {
                if durable {
                    lock.open.sync_all()
                } else {
                    Ok(())
                }
            })
            .with_context(|| format!("cannot create the ref '{}'", self.name))
    }
}

impl LockFile {
    fn make(file: &Path, target: ObjectId) -> io::Result<Self> {
        let path = lock_path(file);
        let mut lock = LockFile {
            open: create(&path)?,
            path,
            file: file.to_owned(),
            is_named: false,
        };
        lock.open.write_all(format!("{target}\n").as_bytes())?;
        Ok(lock)
    }

    fn rename(&mut self) -> io::Result<()> {
        if self.file.exists() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        fs::rename(&self.path, &self.file)?;
        self.is_named = true;
        Ok(())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    // Whoever packs refs removes the folders that are empty then.
    for _ in 0..8 {
        match File::create_new(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap_or(path))?;
            }
            opened => return opened,
        }
    }
    Err(ErrorKind::NotFound.into())
}

fn clear_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clear_unfinished(&path);
        } else if path.extension() == Some("lock".as_ref()) && file::is_abandoned(&path) {
            let _ = fs::remove_file(path);
        }
    }
}

fn lock_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}
