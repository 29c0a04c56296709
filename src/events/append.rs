//! Appends lines to a log: each whole, in one write, under the lock.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Context, Result};
use crate::events::line::Line;
use crate::state::file::{Sharing, explain, make_folder};
use crate::state::lock;

/// A log, open for appending and locked until it is dropped.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    end: u64,
    is_torn: bool,
}

impl Log {
    /// Opens the log at `path`, making it when it is missing, and locks it.
    ///
    /// # Errors
    /// When it cannot be opened, or is held for longer than `patience`.
    pub fn open(path: &Path, sharing: Sharing, patience: Duration) -> Result<Self> {
        if let Some(folder) = path.parent() {
            make_folder(folder, sharing)?;
        }
        loop {
            let file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(sharing.file_bits())
                .open(path)
                .map_err(|e| explain(e, path))
                .with_context(|| format!("cannot open the log '{}'", path.display()))?;
            lock::hold(&file, path, patience)?;
            let found = file
                .metadata()
                .with_context(|| format!("cannot look at '{}'", path.display()))?;
            if found.nlink() == 0 {
                continue; // pruned while we waited
            }
            let end = found.len();
            let mut last = [b'\n'];
            if end > 0 {
                file.read_exact_at(&mut last, end - 1)
                    .with_context(|| format!("cannot read '{}'", path.display()))?;
            }
            return Ok(Log {
                file,
                path: path.to_owned(),
                end,
                is_torn: last != [b'\n'],
            });
        }
    }

    /// Where the next line begins.
    pub fn end(&self) -> u64 {
        self.end + u64::from(self.is_torn)
    }

    /// Whether nothing was written to it yet.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Its file, for reading.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends `line`; gives its offset. What a killed writer left of a line is
    /// closed first, so that it costs that line only.
    ///
    /// # Errors
    /// When it could not be written whole.
    pub fn append(&mut self, line: &Line) -> Result<u64> {
        let seq = self.end();
        let mut bytes = Vec::with_capacity(1024);
        if self.is_torn {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.at(seq).as_bytes());
        self.is_torn = true;
        self.file
            .write_all(&bytes)
            .with_context(|| format!("cannot write '{}'", self.path.display()))?;
        self.is_torn = false;
        self.end += bytes.len() as u64;
        Ok(seq)
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    /// When the disk says no.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_data()
            .with_context(|| format!("cannot sync '{}'", self.path.display()))
    }
}
