//! Opens the mirror; one that is broken or of another version is made anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Context, Result};
use crate::events::session;
use crate::git::Repo;
use crate::state::lock::{self, Lock};
use crate::trajectory::mirror::{local, schema};

/// How long a busy database is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The mirror, open for writing by this process alone.
pub(crate) struct Mirror {
    pub(super) db: Connection,
    _lock: Lock,
}

impl Mirror {
    /// Opens the mirror of `repo`. One ingest runs at a time; another waits for
    /// at most `patience`.
    ///
    /// # Errors
    /// When the database cannot be opened or made.
    pub(crate) fn open(repo: &Repo, patience: Duration) -> Result<Self> {
        let path = session::mirror(repo);
        let lock = lock::alone(&path.with_extension("lock"), repo.sharing(), patience)?;
        let db = match usable(&path) {
            Some(db) => db,
            None => make(&path)?,
        };
        Ok(Mirror { db, _lock: lock })
    }

    /// Forgets everything, so that the next ingest reads all logs again.
    ///
    /// # Errors
    /// When the database cannot be replaced.
    pub(crate) fn rebuild(repo: &Repo) -> Result<Self> {
        let path = session::mirror(repo);
        let lock = lock::alone(&path.with_extension("lock"), repo.sharing(), lock::PATIENCE)?;
        Ok(Mirror {
            db: make(&path)?,
            _lock: lock,
        })
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
fn usable(path: &Path) -> Option<Connection> {
    if !path.exists() {
        return None;
    }
    let db = connect(path).ok()?;
    let version: i64 = db
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .ok()?;
    let tables: i64 = db
        .query_row("SELECT count(*) FROM sqlite_master WHERE name IN ('harness_events', 'harness_marks', 'harness_by_phase')", [], |row| {
            row.get(0)
        })
        .ok()?;
    (version == schema::VERSION && tables == 3).then_some(db)
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
    let beside = with_ending(path, &format!(".new-{}", std::process::id()));
    for ending in ["", "-wal", "-shm", "-journal"] {
        crate::state::file::remove(&with_ending(&beside, ending))?;
    }
    let fresh = Connection::open(&beside)
        .with_context(|| format!("cannot make the mirror '{}'", beside.display()))?;
    fresh
        .execute_batch(schema::TABLES)
        .context("cannot make the tables of the mirror")?;
    fresh.pragma_update(None, "user_version", schema::VERSION)?;
    drop(fresh);
    for ending in ["-wal", "-shm", "-journal"] {
        crate::state::file::remove(&with_ending(path, ending))?;
    }
    std::fs::rename(&beside, path)
        .with_context(|| format!("cannot replace the mirror '{}'", path.display()))?;
    restrict(path)?;
    connect(path)
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
