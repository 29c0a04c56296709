//! A pack of whole objects with its index (gitformat-pack(5), version 2 of
//! both). While it is ours alone it has a `.keep`, which every gc respects.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Crc;
use gix::ObjectId;
use gix::objs::Kind;
use tempfile::NamedTempFile;

use crate::error::{Context, Result};
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

struct Entry {
    id: ObjectId,
    crc: u32,
    offset: u64,
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
        file.write_all(b"PACK\0\0\0\x02\0\0\0\0")
            .context("cannot write a pack")?;
        Ok(PackWriter {
            folder: folder.to_owned(),
            file,
            hash,
            offset: 12,
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
        let header = header(kind, size);
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
        let count = u32::try_from(self.entries.len()).context("too many objects for one pack")?;
        let checksum = self.seal(count).context("cannot write a pack")?;
        let index = self.index(checksum)?;
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
    fn seal(&mut self, count: u32) -> Result<ObjectId> {
        let file = self.file.as_file_mut();
        file.seek(SeekFrom::Start(8))?;
        file.write_all(&count.to_be_bytes())?;
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = gix::hash::hasher(self.hash);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
        }
        let checksum = hasher.try_finalize()?;
        file.write_all(checksum.as_slice())?;
        Ok(checksum)
    }

    fn index(&mut self, checksum: ObjectId) -> Result<Vec<u8>> {
        self.entries.sort_by_key(|entry| entry.id);
        let mut bytes = Vec::from(*b"\xfftOc\0\0\0\x02");
        let mut below = 0_u32;
        for first in 0..=255_u8 {
            while self
                .entries
                .get(below as usize)
                .is_some_and(|entry| entry.id.as_bytes()[0] <= first)
            {
                below += 1;
            }
            bytes.extend(below.to_be_bytes());
        }
        for entry in &self.entries {
            bytes.extend(entry.id.as_bytes());
        }
        for entry in &self.entries {
            bytes.extend(entry.crc.to_be_bytes());
        }
        let mut large = Vec::new();
        for entry in &self.entries {
            let small = match u32::try_from(entry.offset) {
                Ok(offset) if offset < 1 << 31 => offset,
                _ => {
                    large.push(entry.offset);
                    1 << 31 | (large.len() as u32 - 1)
                }
            };
            bytes.extend(small.to_be_bytes());
        }
        for offset in large {
            bytes.extend(offset.to_be_bytes());
        }
        bytes.extend(checksum.as_slice());
        let mut hasher = gix::hash::hasher(self.hash);
        hasher.update(&bytes);
        let own = hasher.try_finalize().context("cannot hash a pack index")?;
        bytes.extend(own.as_slice());
        Ok(bytes)
    }
}

/// The type and size of a packed object: 3 bits of type, then 4 + 7 + 7 … bits of size.
fn header(kind: Kind, size: usize) -> Vec<u8> {
    let number = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut bytes = Vec::with_capacity(10);
    let mut byte = number << 4 | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    bytes.push(byte);
    bytes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_takes_four_then_seven_bits() {
        assert_eq!(header(Kind::Blob, 5), [0x35]);
        assert_eq!(header(Kind::Tree, 0x1f), [0xaf, 0x01]);
        assert_eq!(header(Kind::Commit, 0x1234), [0x94, 0xa3, 0x02]);
    }
}
