//! How far each file was read, so that a second ingest reads only what is new.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{Context, Result};
use crate::events::id;

/// What is known of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) origin: i64,
    inode: i64,
    size: i64,
    changed: i64,
    pub(super) read_to: i64,
    head: String,
}

/// What an ingest must do with a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Work {
    Nothing,
    /// Read on from here.
    From(u64),
    /// Forget what came from it, and read all.
    Anew,
}

/// How many bytes at the beginning tell a file from another of the same name.
const HEAD: usize = 256;

impl Mark {
    /// The mark of the file called `name`.
    pub(super) fn find(db: &Connection, name: &str) -> Result<Option<Mark>> {
        db.prepare_cached(
            "SELECT origin, inode, size, changed, read_to, head FROM harness_marks WHERE path = ?1",
        )?
        .query_row([name], |row| {
            Ok(Mark {
                origin: row.get(0)?,
                inode: row.get(1)?,
                size: row.get(2)?,
                changed: row.get(3)?,
                read_to: row.get(4)?,
                head: row.get(5)?,
            })
        })
        .optional()
        .context("cannot read the marks of the mirror")
    }

    /// What to do, seeing the file as it is now.
    pub(super) fn work(&self, path: &Path, found: &Metadata) -> Result<Work> {
        let same_file = self.inode == signed(found.ino());
        if same_file && self.size == signed(found.len()) && self.changed == changed(found) {
            return Ok(Work::Nothing);
        }
        let grown = same_file
            && signed(found.len()) >= self.read_to
            && head(path, self.read_to)? == self.head;
        Ok(if grown {
            Work::From(self.read_to.unsigned_abs())
        } else {
            Work::Anew
        })
    }

    /// Remembers that `path`, called `name`, was read up to `read_to`.
    pub(super) fn set(
        db: &Connection,
        name: &str,
        path: &Path,
        found: &Metadata,
        read_to: u64,
        broken: u64,
    ) -> Result<()> {
        let read_to = signed(read_to);
        db.prepare_cached(
            "INSERT INTO harness_marks(path, inode, size, changed, read_to, head, broken) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT(path) DO UPDATE SET inode = ?2, size = ?3, changed = ?4, read_to = ?5, head = ?6, broken = ?7",
        )?
        .execute(params![
            name,
            signed(found.ino()),
            signed(found.len()),
            changed(found),
            read_to,
            head(path, read_to)?,
            signed(broken)
        ])?;
        Ok(())
    }

    /// The number by which rows remember the file called `name`.
    pub(super) fn origin(db: &Connection, name: &str) -> Result<i64> {
        db.prepare_cached("INSERT OR IGNORE INTO harness_marks(path, inode, size, changed, read_to, head) VALUES(?1, 0, -1, 0, 0, '')")?
            .execute([name])?;
        db.prepare_cached("SELECT origin FROM harness_marks WHERE path = ?1")?
            .query_row([name], |row| row.get(0))
            .context("cannot read the marks of the mirror")
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn changed(found: &Metadata) -> i64 {
    found
        .mtime()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(found.mtime_nsec())
}

/// A hash of the first bytes of `path`, of those that were read.
fn head(path: &Path, read_to: i64) -> Result<String> {
    let wanted = HEAD.min(usize::try_from(read_to).unwrap_or(0));
    let mut bytes = Vec::with_capacity(wanted);
    File::open(path)
        .and_then(|file| file.take(wanted as u64).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read '{}'", path.display()))?;
    Ok(id::hash(&[&String::from_utf8_lossy(&bytes)])[..16].to_owned())
}
