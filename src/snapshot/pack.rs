//! A pack of whole objects with its index. While it is ours alone it has a
//! `.keep`, which every gc respects.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Crc;
use gix::ObjectId;
use gix::objs::Kind;
use tempfile::NamedTempFile;

use crate::error::{Context, Result};
use crate::git::pack::{self, Entry};
use crate::snapshot::sink::UNFINISHED;
use crate::state::file::{self, Sharing, explain};
use crate::state::lock::{self, Lock};

/// A pack being written; it becomes visible in [`PackWriter::finish`].
pub(super) struct PackWriter {
    folder: PathBuf,
    file: NamedTempFile,
    hash: gix::hash::Kind,
    offset: u64,
    entries: Vec<Entry>,
}

/// A published pack that a running gc must keep; dropped, it is git's to manage.
#[derive(Debug)]
pub(super) struct Pack {
    keep: PathBuf,
    marker: PathBuf,
    _alive: Lock,
}

impl Pack {
    /// `pack-<hash>`.
    pub(super) fn name(&self) -> Option<&str> {
        self.keep.file_stem()?.to_str()
    }
}

impl Drop for Pack {
    fn drop(&mut self) {
        // What stays is cleared by [`clear_abandoned`].
        let _ = fs::remove_file(&self.keep);
        let _ = fs::remove_file(&self.marker);
    }
}

/// Frees packs whose writer died before it could: each has a marker in `markers`,
/// locked as long as the writer lives.
pub(super) fn clear_abandoned(markers: &Path, packs: &Path) {
    for marker in fs::read_dir(markers).into_iter().flatten().flatten() {
        let path = marker.path();
        let Ok(_dead) = lock::alone(&path, Sharing::default(), Duration::ZERO) else {
            continue;
        };
        let mut keep = marker.file_name();
        keep.push(".keep");
        if file::remove(&packs.join(keep)).is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

impl PackWriter {
    pub(super) fn create(folder: &Path, hash: gix::hash::Kind) -> Result<Self> {
        let mut file = temporary(folder)?;
        // The number of objects is known at the end.
        file.write_all(&pack::header(0)?)
            .context("cannot write a pack")?;
        Ok(PackWriter {
            folder: folder.to_owned(),
            file,
            hash,
            offset: pack::HEADER as u64,
            entries: Vec::new(),
        })
    }

    /// Adds an object of `size` bytes, given compressed.
    pub(super) fn add(
        &mut self,
        id: ObjectId,
        kind: Kind,
        size: usize,
        compressed: &[u8],
    ) -> Result<()> {
        let mut header = Vec::with_capacity(10);
        pack::object_header(&mut header, kind, size as u64);
        let mut crc = Crc::new();
        crc.update(&header);
        crc.update(compressed);
        self.file
            .write_all(&header)
            .and_then(|()| self.file.write_all(compressed))
            .context("cannot write a pack")?;
        self.entries.push(Entry {
            id,
            crc: crc.sum(),
            offset: self.offset,
        });
        self.offset += (header.len() + compressed.len()) as u64;
        Ok(())
    }

    /// Writes the trailer and the index, and publishes both; `markers` is where it
    /// is noted that the pack is ours until a ref names its objects.
    pub(super) fn finish(mut self, synced: bool, markers: &Path) -> Result<Pack> {
        let checksum = self.seal().context("cannot write a pack")?;
        let index = pack::index(std::mem::take(&mut self.entries), checksum)?;
        let mut index_file = temporary(&self.folder)?;
        index_file
            .write_all(&index)
            .context("cannot write a pack index")?;
        if synced {
            self.file
                .as_file()
                .sync_all()
                .and_then(|()| index_file.as_file().sync_all())
                .context("cannot sync a pack")?;
        }
        let name = format!("pack-{checksum}");
        let base = self.folder.join(&name);
        let keep = base.with_extension("keep");
        let marker = markers.join(&name);
        let alive = lock::alone(&marker, Sharing::default(), Duration::from_secs(2))?;
        let publish = || -> std::io::Result<()> {
            crate::state::crash::point();
            let mut note = File::create(&keep)?;
            note.write_all(b"git-harness: a checkpoint is being written\n")?;
            crate::state::crash::point();
            self.file
                .persist(base.with_extension("pack"))
                .map_err(|e| e.error)?;
            crate::state::crash::point();
            // The index comes last: git finds packs by it.
            index_file
                .persist(base.with_extension("idx"))
                .map_err(|e| e.error)?;
            if synced {
                File::open(&self.folder)?.sync_all()?;
            }
            Ok(())
        };
        publish().context("cannot publish a pack")?;
        Ok(Pack {
            keep,
            marker,
            _alive: alive,
        })
    }

    /// Puts the count into the header, the checksum behind everything.
    fn seal(&mut self) -> Result<ObjectId> {
        let file = self.file.as_file();
        file.write_all_at(&pack::header(self.entries.len())?, 0)?;
        let checksum = pack::checksum(file, self.hash)?;
        file.write_all_at(checksum.as_slice(), self.offset)?;
        Ok(checksum)
    }
}

fn temporary(folder: &Path) -> Result<NamedTempFile> {
    fs::create_dir_all(folder)
        .and_then(|()| {
            tempfile::Builder::new()
                .prefix(UNFINISHED)
                .permissions(fs::Permissions::from_mode(0o444))
                .tempfile_in(folder)
        })
        .map_err(|e| explain(e, folder))
        .with_context(|| format!("cannot write in '{}'", folder.display()))
}
