//! Opens the mirror; one that is broken or of another version is made anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Context, Hint, Result};
use crate::events::session;
use crate::git::Repo;
use crate::state::lock::{self, Lock};
use crate::trajectory::mirror::{local, schema};

/// How long a busy database is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The mirror, open for writing by this process alone.
pub(crate) struct Mirror {
    pub(super) db: Connection,
    /// Where it is made, until it is whole and takes the place of the old one.
    beside: Option<(PathBuf, PathBuf)>,
    /// One was there that could not be used.
    pub(crate) is_made_anew: bool,
    _lock: Lock,
}

impl Mirror {
    /// Opens the mirror of `repo`. One ingest runs at a time; another waits for
    /// at most `patience`.
    ///
    /// # Errors
    /// When the database cannot be opened or made, or another program holds it.
    pub(crate) fn open(repo: &Repo, patience: Duration) -> Result<Self> {
        let path = session::mirror(repo);
        let lock = lock::alone(&path.with_extension("lock"), repo.sharing(), patience)?;
        let was_there = path.exists();
        if with_ending(&path, NEW).exists() {
            remove_beside(&path)?; // of a rebuild that was killed
        }
        let (db, is_made_anew) = match usable(&path)? {
            Some(db) => (db, false),
            None => (make(&path)?, was_there),
        };
        Ok(Mirror {
            db,
            beside: None,
            is_made_anew,
            _lock: lock,
        })
    }

    /// An empty mirror, into which an ingest reads all logs. It replaces the one that is
    /// there only when it is [`published`](Self::publish).
    ///
    /// # Errors
    /// When it cannot be made, or another program holds the one that is there.
    pub(crate) fn rebuild(repo: &Repo) -> Result<Self> {
        let path = session::mirror(repo);
        let lock = lock::alone(&path.with_extension("lock"), repo.sharing(), lock::PATIENCE)?;
        require_free(&path)?;
        let beside = fresh(&path)?;
        let db = connect(&beside)?;
        Ok(Mirror {
            db,
            beside: Some((beside, path)),
            is_made_anew: false,
            _lock: lock,
        })
    }

    /// Empties a mirror that turned out to be damaged.
    ///
    /// # Errors
    /// When it cannot be replaced.
    pub(crate) fn renew(&mut self, repo: &Repo) -> Result<()> {
        let path = session::mirror(repo);
        require_free(&path)?;
        self.db = Connection::open_in_memory()?;
        self.db = make(&path)?;
        self.is_made_anew = true;
        Ok(())
    }

    /// Puts a rebuilt mirror into its place.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub(crate) fn publish(self) -> Result<()> {
        let Some((beside, path)) = self.beside else {
            return Ok(());
        };
        // Everything into the one file that is renamed.
        self.db
            .pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        drop(self.db);
        take_place(&beside, &path)
    }
}

/// Whether `error` says that the database itself is broken.
pub(super) fn is_damage(error: &crate::error::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<rusqlite::Error>()
            .is_some_and(|known| {
                let said = known.to_string();
                is_corrupt(known)
                    || said.contains("no such table")
                    || said.contains("no such column")
                    || said.contains("no column named")
            })
    })
}

fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Says what to do about a damage that only a query has met.
///
/// # Errors
/// Passes the failure on.
pub(crate) fn explained<T>(outcome: Result<T>) -> Result<T> {
    match outcome {
        Err(error)
            if error
                .chain()
                .any(|c| c.downcast_ref().is_some_and(is_corrupt)) =>
        {
            Err(error).hint("'git trajectory ingest --rebuild' makes the mirror anew from the logs")
        }
        outcome => outcome,
    }
}

/// The mirror for queries, which cannot change it.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(crate) fn read_only(repo: &Repo) -> Result<Connection> {
    let path = session::mirror(repo);
    let db = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open the mirror '{}'", path.display()))?;
    db.busy_timeout(PATIENCE)?;
    Ok(db)
}

/// The database at `path`, when it is whole and of our version.
///
/// # Errors
/// When another program holds it: then nobody knows what it is.
fn usable(path: &Path) -> Result<Option<Connection>> {
    if !path.exists() {
        return Ok(None);
    }
    let look = || -> Result<(Connection, i64, i64)> {
        let db = connect(path)?;
        let version = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let tables = db.query_row(
            "SELECT count(*) FROM sqlite_master WHERE name IN ('harness_events', 'harness_extra', 'harness_marks', 'harness_by_phase', 'runs', 'phases', 'events')",
            [],
            |row| row.get(0),
        )?;
        Ok((db, version, tables))
    };
    match look() {
        Ok((db, version, tables)) => Ok((version == schema::VERSION && tables == 7).then_some(db)),
        Err(error) if is_held(&error) => {
            Err(error.context("the mirror is held by another program"))
        }
        Err(_) => Ok(None),
    }
}

fn is_held(error: &crate::error::Error) -> bool {
    error.chain().any(|cause| {
        let code = cause
            .downcast_ref::<rusqlite::Error>()
            .and_then(rusqlite::Error::sqlite_error_code);
        matches!(
            code,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    })
}

/// Refuses when another program is about to write to the database at `path`.
fn require_free(path: &Path) -> Result<()> {
    if path.exists()
        && let Ok(db) = Connection::open(path)
    {
        db.busy_timeout(PATIENCE)?;
        if let Err(error) = db.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
            let error = crate::error::Error::from(error);
            crate::error::ensure!(!is_held(&error), "the mirror is held by another program");
        }
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection> {
    let db = Connection::open(path)
        .with_context(|| format!("cannot open the mirror '{}'", path.display()))?;
    db.busy_timeout(PATIENCE)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let journal = if local::is_local(local::kind(folder)) {
        "WAL"
    } else {
        "DELETE"
    };
    db.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.pragma_update(None, "cache_size", -16_384)?;
    Ok(db)
}

/// A new, empty mirror, made beside `path` and renamed.
fn make(path: &Path) -> Result<Connection> {
    take_place(&fresh(path)?, path)?;
    connect(path)
}

/// The ending of a mirror that is being made.
const NEW: &str = ".new";

/// A new, empty database beside `path`; what a killed process left of one goes.
fn fresh(path: &Path) -> Result<PathBuf> {
    remove_beside(path)?;
    let beside = with_ending(path, NEW);
    let fresh = Connection::open(&beside)
        .with_context(|| format!("cannot make the mirror '{}'", beside.display()))?;
    fresh
        .execute_batch(schema::TABLES)
        .context("cannot make the tables of the mirror")?;
    fresh.pragma_update(None, "user_version", schema::VERSION)?;
    drop(fresh);
    restrict(&beside)?;
    Ok(beside)
}

fn remove_beside(path: &Path) -> Result<()> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        crate::state::file::remove(&with_ending(&with_ending(path, NEW), ending))?;
    }
    Ok(())
}

fn take_place(beside: &Path, path: &Path) -> Result<()> {
    for ending in ["-wal", "-shm", "-journal"] {
        crate::state::file::remove(&with_ending(path, ending))?;
    }
    std::fs::rename(beside, path)
        .with_context(|| format!("cannot replace the mirror '{}'", path.display()))
}

/// SQLite makes files by the umask; ours are private.
fn restrict(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .with_context(|| format!("cannot protect '{}'", path.display()))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
