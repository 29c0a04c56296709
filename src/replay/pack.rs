//! A pack, written object by object and readable meanwhile: no delta.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use gix::ObjectId;
use gix::hash::Kind as HashKind;

use crate::error::{Context, Result, ensure};
use crate::git::Kind;
use crate::git::pack::{self, Entry, From, HEADER};
use crate::state::crash;

/// Bytes kept before they go to the file.
const BUFFER: usize = 1 << 20;

/// A pack that grows, in memory until it is too large for that.
pub(super) struct Pack {
    hash: HashKind,
    /// What is not in a file; it begins at `flushed`.
    pending: Vec<u8>,
    flushed: u64,
    file: Option<Spill>,
    deflater: Compress,
    objects: HashMap<ObjectId, Stored>,
}

/// A file for what does not fit into memory; without a path it has no name.
pub(super) struct Spill {
    pub(super) file: File,
    pub(super) path: Option<PathBuf>,
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

impl Spill {
    /// The new file `path`.
    pub(super) fn named(path: PathBuf) -> Result<Self> {
        Ok(Spill {
            file: create(&path)?,
            path: Some(path),
        })
    }
}

fn create(path: &Path) -> Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .with_context(|| format!("cannot write '{}'", path.display()))
}

impl Pack {
    /// An empty pack.
    pub(super) fn new(hash: HashKind) -> Self {
        Pack {
            hash,
            pending: vec![0; HEADER],
            flushed: 0,
            file: None,
            // Trees are mostly ids, which do not compress; the fastest level loses little.
            deflater: Compress::new(Compression::fast(), true),
            objects: HashMap::new(),
        }
    }

    /// Whether it is too large for memory and has no file yet.
    pub(super) fn wants_file(&self) -> bool {
        self.file.is_none() && self.pending.len() >= BUFFER
    }

    /// Goes on in a file.
    pub(super) fn spill(&mut self, file: Spill) -> Result<()> {
        self.file = Some(file);
        self.flush()
    }

    /// How many bytes it has so far.
    pub(super) fn size(&self) -> u64 {
        self.flushed + self.pending.len() as u64
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
        pack::object_header(&mut self.pending, kind, content.len() as u64);
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
        if self.file.is_some() && self.pending.len() >= BUFFER {
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
        let read = match &self.file {
            Some(spill) if stored.data < self.flushed => {
                let from = From {
                    file: &spill.file,
                    at: stored.data,
                };
                let from = std::io::BufReader::with_capacity(4096, from);
                ZlibDecoder::new(from).read_to_end(&mut content)
            }
            _ => {
                let start = (stored.data - self.flushed) as usize;
                ZlibDecoder::new(&self.pending[start..]).read_to_end(&mut content)
            }
        };
        read.with_context(|| format!("cannot read back the {} {id}", stored.kind))?;
        ensure!(
            content.len() as u64 == stored.size,
            "the {} {id} came back short",
            stored.kind
        );
        Ok(Some((stored.kind, content)))
    }

    /// Completes pack and index, named by the pack's checksum, in `folder`.
    /// `synced` makes both durable.
    pub(super) fn finish(mut self, folder: &Path, synced: bool) -> Result<()> {
        let (file, path) = self.write_out(folder)?;
        file.write_all_at(&pack::header(self.objects.len())?, 0)?;
        let checksum = pack::checksum(&file, self.hash)?;
        file.write_all_at(checksum.as_slice(), self.flushed)?;
        let stem = folder.join(format!("pack-{checksum}"));
        let index = stem.with_extension("idx");
        let mut index_file = File::create_new(&index)
            .with_context(|| format!("cannot write '{}'", index.display()))?;
        index_file.write_all(&pack::index(self.entries(), checksum)?)?;
        if synced {
            file.sync_all()?;
            index_file.sync_all()?;
        }
        for file in [&file, &index_file] {
            let mut permissions = file.metadata()?.permissions();
            permissions.set_readonly(true);
            file.set_permissions(permissions)?;
        }
        fs::rename(&path, stem.with_extension("pack"))
            .with_context(|| format!("cannot name '{}'", stem.display()))
    }

    /// All its bytes in a file that has a name, made in `folder` if need be.
    fn write_out(&mut self, folder: &Path) -> Result<(File, PathBuf)> {
        let (file, path) = match self.file.take() {
            Some(Spill {
                file,
                path: Some(path),
            }) => (file, path),
            unnamed => {
                let path = folder.join("tmp_pack");
                let mut file = create(&path)?;
                if let Some(Spill { file: from, .. }) = unnamed {
                    let mut from = From { file: &from, at: 0 };
                    std::io::copy(&mut from, &mut file).context("cannot copy a pack")?;
                }
                (file, path)
            }
        };
        crash::point();
        file.write_all_at(&self.pending, self.flushed)
            .with_context(|| format!("cannot write '{}'", path.display()))?;
        self.flushed += self.pending.len() as u64;
        Ok((file, path))
    }

    /// The whole pack as a stream of bytes, for a small one.
    pub(super) fn stream(self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.flushed as usize];
        if let Some(spill) = &self.file {
            spill.file.read_exact_at(&mut bytes, 0)?;
        }
        bytes.extend_from_slice(&self.pending);
        bytes[..HEADER].copy_from_slice(&pack::header(self.objects.len())?);
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
        if let Some(spill) = &self.file {
            crash::point();
            spill
                .file
                .write_all_at(&self.pending, self.flushed)
                .context("cannot write a pack")?;
            self.flushed += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |(id, stored): (&ObjectId, &Stored)| Entry {
            id: *id,
            offset: stored.offset,
            crc: stored.crc,
        };
        self.objects.iter().map(entry).collect()
    }
}
