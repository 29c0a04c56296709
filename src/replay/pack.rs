//! A pack, written object by object and readable meanwhile
//! (gitformat-pack(5)): no delta, an index of version 2.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use gix::ObjectId;
use gix::hash::Kind as HashKind;

use crate::error::{Context, Result, ensure};
use crate::git::Kind;

/// Bytes kept before they go to the file.
const BUFFER: usize = 1 << 20;
/// Magic, version and count.
const HEADER: u64 = 12;
/// Offsets from here on stand in a table of their own.
const LARGE: u64 = 1 << 31;

/// A pack that grows.
pub(super) struct Pack {
    file: File,
    path: PathBuf,
    hash: HashKind,
    /// What is not in the file yet; it begins at `flushed`.
    pending: Vec<u8>,
    flushed: u64,
    deflater: Compress,
    objects: HashMap<ObjectId, Stored>,
}

#[derive(Debug, Clone, Copy)]
struct Stored {
    kind: Kind,
    size: u64,
    /// Of the object's header.
    offset: u64,
    /// Of its deflated bytes.
    data: u64,
    crc: u32,
}

impl Pack {
    /// Begins a pack in the file `path`.
    pub(super) fn create(path: PathBuf, hash: HashKind) -> Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .with_context(|| format!("cannot write '{}'", path.display()))?;
        Ok(Pack {
            file,
            path,
            hash,
            pending: vec![0; HEADER as usize],
            flushed: 0,
            // Trees are mostly ids, which do not compress; the fastest level loses little.
            deflater: Compress::new(Compression::fast(), true),
            objects: HashMap::new(),
        })
    }

    /// How many objects it holds.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it holds `id`.
    pub(super) fn contains(&self, id: &ObjectId) -> bool {
        self.objects.contains_key(id)
    }

    /// Adds an object that it does not hold yet.
    pub(super) fn add(&mut self, id: ObjectId, kind: Kind, content: &[u8]) -> Result<()> {
        let start = self.pending.len();
        let offset = self.flushed + start as u64;
        header(&mut self.pending, kind, content.len() as u64);
        let data = self.flushed + self.pending.len() as u64;
        self.deflate(content)?;
        let mut crc = Crc::new();
        crc.update(&self.pending[start..]);
        let size = content.len() as u64;
        let stored = Stored {
            kind,
            size,
            offset,
            data,
            crc: crc.sum(),
        };
        self.objects.insert(id, stored);
        if self.pending.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// The object called `id`, if it is here.
    pub(super) fn find(&self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>> {
        let Some(stored) = self.objects.get(id) else {
            return Ok(None);
        };
        let mut content = Vec::with_capacity(stored.size as usize);
        let read = if stored.data >= self.flushed {
            let start = (stored.data - self.flushed) as usize;
            ZlibDecoder::new(&self.pending[start..]).read_to_end(&mut content)
        } else {
            let from = From {
                file: &self.file,
                at: stored.data,
            };
            ZlibDecoder::new(std::io::BufReader::with_capacity(4096, from))
                .read_to_end(&mut content)
        };
        read.with_context(|| format!("cannot read back the {} {id}", stored.kind))?;
        ensure!(
            content.len() as u64 == stored.size,
            "the {} {id} came back short",
            stored.kind
        );
        Ok(Some((stored.kind, content)))
    }

    /// Completes pack and index, named by the pack's checksum, in its folder.
    /// `synced` makes both durable.
    pub(super) fn finish(mut self, synced: bool) -> Result<()> {
        let count = u32::try_from(self.objects.len()).context("too many objects for one pack")?;
        self.flush()?;
        let magic = [&b"PACK\0\0\0\x02"[..], &count.to_be_bytes()].concat();
        self.file.write_all_at(&magic, 0)?;
        let checksum = self.checksum()?;
        self.file.write_all_at(checksum.as_slice(), self.flushed)?;
        let stem = self.path.with_file_name(format!("pack-{checksum}"));
        let index = stem.with_extension("idx");
        let mut file = File::create_new(&index)
            .with_context(|| format!("cannot write '{}'", index.display()))?;
        file.write_all(&self.index(checksum)?)?;
        if synced {
            self.file.sync_all()?;
            file.sync_all()?;
        }
        for file in [&self.file, &file] {
            let mut permissions = file.metadata()?.permissions();
            permissions.set_readonly(true);
            file.set_permissions(permissions)?;
        }
        fs::rename(&self.path, stem.with_extension("pack"))
            .with_context(|| format!("cannot name '{}'", stem.display()))
    }

    /// The whole pack as a stream of bytes, for a small one.
    pub(super) fn stream(mut self) -> Result<Vec<u8>> {
        self.flush()?;
        let mut bytes = vec![0; self.flushed as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        let count = u32::try_from(self.objects.len()).context("too many objects for one pack")?;
        bytes[..8].copy_from_slice(b"PACK\0\0\0\x02");
        bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let mut hasher = gix::hash::hasher(self.hash);
        hasher.update(&bytes);
        bytes.extend_from_slice(hasher.try_finalize()?.as_slice());
        Ok(bytes)
    }

    fn deflate(&mut self, content: &[u8]) -> Result<()> {
        // Reset and not made anew: its tables cost more than a small object.
        self.deflater.reset();
        loop {
            let done = self.deflater.total_in() as usize;
            self.pending.reserve(256 + (content.len() - done) / 2);
            let status = self.deflater.compress_vec(
                &content[done..],
                &mut self.pending,
                FlushCompress::Finish,
            )?;
            if status == Status::StreamEnd {
                return Ok(());
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.file
            .write_all_at(&self.pending, self.flushed)
            .with_context(|| format!("cannot write '{}'", self.path.display()))?;
        self.flushed += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    fn checksum(&self) -> Result<ObjectId> {
        let mut hasher = gix::hash::hasher(self.hash);
        let mut from = From {
            file: &self.file,
            at: 0,
        };
        let mut buffer = vec![0; BUFFER];
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok(hasher.try_finalize()?),
                n => hasher.update(&buffer[..n]),
            }
        }
    }

    fn index(&self, pack: ObjectId) -> Result<Vec<u8>> {
        let mut objects: Vec<(&ObjectId, &Stored)> = self.objects.iter().collect();
        objects.sort_unstable_by_key(|(id, _)| *id);
        let mut index = Vec::with_capacity(1032 + objects.len() * 28 + 64);
        index.extend_from_slice(b"\xfftOc\0\0\0\x02");
        let mut below = 0;
        for first in 0..=255 {
            below += objects[below..].partition_point(|(id, _)| id.as_slice()[0] <= first);
            index.extend_from_slice(&(below as u32).to_be_bytes());
        }
        for (id, _) in &objects {
            index.extend_from_slice(id.as_slice());
        }
        for (_, stored) in &objects {
            index.extend_from_slice(&stored.crc.to_be_bytes());
        }
        let mut large = Vec::new();
        for (_, stored) in &objects {
            let entry = if stored.offset < LARGE {
                stored.offset as u32
            } else {
                large.push(stored.offset);
                LARGE as u32 | (large.len() - 1) as u32
            };
            index.extend_from_slice(&entry.to_be_bytes());
        }
        for offset in large {
            index.extend_from_slice(&offset.to_be_bytes());
        }
        index.extend_from_slice(pack.as_slice());
        let mut hasher = gix::hash::hasher(self.hash);
        hasher.update(&index);
        index.extend_from_slice(hasher.try_finalize()?.as_slice());
        Ok(index)
    }
}

/// Type and size, as an object in a pack begins.
fn header(bytes: &mut Vec<u8>, kind: Kind, size: u64) {
    let number = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut byte = number << 4 | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    bytes.push(byte);
}

/// Reads a file from an offset on, without moving its position.
struct From<'a> {
    file: &'a File,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
