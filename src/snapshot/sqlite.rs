//! SQLite databases: copied byte by byte under a writer they tear, so they are
//! captured by SQLite's own backup, as one consistent file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::error::{Context, Result, bail};

/// The first bytes of a database (the SQLite file format).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How long a writer may keep us waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether `head`, the beginning of a file, is that of a database.
pub fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Whether `path` is a file that SQLite keeps beside a database that is there.
pub fn is_companion(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    [&b"-wal"[..], b"-shm", b"-journal"].iter().any(|ending| {
        text.strip_suffix(*ending)
            .is_some_and(|database| is_database_file(Path::new(OsStr::from_bytes(database))))
    })
}

/// Whether the file at `path` is a database.
pub fn is_database_file(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 16];
    std::fs::File::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok_and(|()| is_database(&head))
}

/// The files that SQLite keeps beside the database `path`.
pub fn companions(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    })
}

/// The database at `path` as one consistent file, whoever is writing to it.
///
/// # Errors
/// When it is broken, or a writer does not let us in.
pub fn copy(path: &Path) -> Result<Vec<u8>> {
    let is_live = companions(path).iter().any(|file| file.exists());
    if !is_live {
        // Nobody has it open, or has not written yet. SQLite would make files beside a
        // database in WAL mode only to read it; the bytes are whole as they are.
        let before = std::fs::symlink_metadata(path)?;
        let bytes = std::fs::read(path)?;
        let after = std::fs::symlink_metadata(path)?;
        let same = before.modified()? == after.modified()? && before.len() == after.len();
        if same && !companions(path).iter().any(|file| file.exists()) {
            return Ok(bytes);
        }
    }
    let source = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .context("cannot open the database")?;
    source.busy_timeout(PATIENCE)?;
    let mut target = Connection::open_in_memory()?;
    {
        let backup = Backup::new(&source, &mut target)?;
        // All pages in one step: between two steps a writer would start it anew.
        let mut tries = 0;
        loop {
            match backup.step(-1)? {
                StepResult::Done => break,
                _ if tries < 40 => {
                    tries += 1;
                    std::thread::sleep(PATIENCE / 40);
                }
                _ => bail!("a writer holds the database"),
            }
        }
    }
    let bytes = target
        .serialize(MAIN_DB)
        .context("cannot copy the database")?;
    Ok(bytes.to_vec())
}

/// A process that has the database at `path` open, by pid and name, as far as the
/// system tells us.
pub fn user_of(path: &Path) -> Option<String> {
    let target = path.canonicalize().ok()?;
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let pid = process.file_name();
        let pid = pid
            .to_str()
            .filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        let Some(pid) = pid else { continue };
        let files = std::fs::read_dir(process.path().join("fd"));
        for file in files.into_iter().flatten().flatten() {
            if std::fs::read_link(file.path()).is_ok_and(|open| open == target) {
                let name = std::fs::read_to_string(process.path().join("comm"));
                let name = name.unwrap_or_default();
                return Some(format!("process {pid} ({})", name.trim()));
            }
        }
    }
    None
}
