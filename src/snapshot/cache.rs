//! The side cache of a worktree: what earlier snapshots learnt about files that
//! differ from the user's index, so that the next one does not read them again.
//! It may be lost or broken at any time; then the files are read.

use std::path::PathBuf;

use flate2::Crc;
use gix::ObjectId;
use gix::bstr::BString;
use gix::index::entry::Mode;

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::built::Built;
use crate::snapshot::listed::Listed;
use crate::snapshot::stat::{FileKind, Stat};
use crate::state::file;

/// Changes whenever the layout below does; another one is read as an empty cache.
const MAGIC: &[u8; 8] = b"GHCACHE3";

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// As it was when it was read.
    pub stat: Stat,
    /// How git stores it.
    pub mode: Mode,
    /// Its blob.
    pub id: ObjectId,
    /// Whether that is the file as it is, although a conversion applies.
    pub raw: bool,
}

/// What is known of files, sorted by path, each once.
pub type Files = Vec<(BString, Known)>;

/// All that is known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// The ref and commit for which it was written: while they stand, every id
    /// here is reachable and needs no look-up.
    pub anchor: Option<(String, ObjectId)>,
    /// Files that differ from the index, as they were read.
    pub files: Files,
    /// Trees that the anchor keeps.
    pub trees: Vec<ObjectId>,
    /// The fingerprint of the attributes under which `proven` holds.
    pub fingerprint: u64,
    /// Hashes of unchanged entries that no conversion alters, sorted.
    pub proven: Vec<u64>,
    /// Folders that need not be read again, sorted.
    pub listed: Vec<Listed>,
    /// The tree that the anchor keeps, and what it was built from.
    pub built: Option<Built>,
}

fn path(repo: &Repo) -> PathBuf {
    repo.own_state().join("cache")
}

impl Cache {
    /// The cache of this worktree; empty when there is none that can be used.
    pub fn load(repo: &Repo) -> Self {
        file::read(&path(repo))
            .ok()
            .flatten()
            .and_then(|bytes| Cache::decode(&bytes, repo.gix().object_hash()))
            .unwrap_or_default()
    }

    /// Whether the anchor's ref still stands.
    ///
    /// # Errors
    /// When the ref cannot be read.
    pub fn is_anchored(&self, repo: &Repo) -> Result<bool> {
        match &self.anchor {
            Some((name, commit)) => Ok(repo.find_ref(name.as_str().into())? == Some(*commit)),
            None => Ok(false),
        }
    }

    /// Writes the cache.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn store(&self, repo: &Repo) -> Result<()> {
        file::replace(&path(repo), &self.encode(), repo.sharing(), false)
    }

    /// The bytes on disk: magic, fields in order, lengths before lists, all
    /// little-endian, and a CRC-32 of everything before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(
            64 + self.files.len() * 160 + self.proven.len() * 8 + self.listed.len() * 40,
        );
        out.extend(MAGIC);
        let (name, commit) = match &self.anchor {
            Some((name, commit)) => (name.as_bytes(), Some(commit)),
            None => (&b""[..], None),
        };
        put_bytes(&mut out, name);
        if let Some(commit) = commit {
            out.extend(commit.as_slice());
        }
        put_count(&mut out, self.files.len());
        for (path, known) in &self.files {
            put_bytes(&mut out, path);
            put_stat(&mut out, &known.stat);
            out.extend(known.mode.bits().to_le_bytes());
            out.extend(known.id.as_slice());
            out.push(u8::from(known.raw));
        }
        put_count(&mut out, self.trees.len());
        for tree in &self.trees {
            out.extend(tree.as_slice());
        }
        out.extend(self.fingerprint.to_le_bytes());
        put_count(&mut out, self.proven.len());
        for hash in &self.proven {
            out.extend(hash.to_le_bytes());
        }
        put_count(&mut out, self.listed.len());
        for folder in &self.listed {
            out.extend(folder.ino.to_le_bytes());
            put_time(&mut out, folder.mtime);
            put_time(&mut out, folder.ctime);
            out.extend(folder.names.to_le_bytes());
        }
        out.push(u8::from(self.built.is_some()));
        if let Some(built) = &self.built {
            put_stat(&mut out, &built.index);
            out.extend(built.changes);
            out.extend(built.tree.as_slice());
        }
        Self::seal(&mut out);
        out
    }

    /// Ends `bytes` with their checksum.
    pub fn seal(bytes: &mut Vec<u8>) {
        let mut crc = Crc::new();
        crc.update(bytes);
        bytes.extend(crc.sum().to_le_bytes());
    }

    /// The inverse of [`Cache::encode`]; `None` for anything else.
    pub fn decode(bytes: &[u8], hash: gix::hash::Kind) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        let mut crc = Crc::new();
        crc.update(body);
        if crc.sum().to_le_bytes() != *sum {
            return None;
        }
        let mut input = Input {
            rest: body.strip_prefix(MAGIC)?,
            hash,
        };
        let name = input.bytes()?.to_vec();
        let anchor = if name.is_empty() {
            None
        } else {
            Some((String::from_utf8(name).ok()?, input.id()?))
        };
        let mut files = Files::new();
        for _ in 0..input.number()? {
            let path = BString::from(input.bytes()?);
            let stat = input.stat()?;
            let mode = Mode::from_bits(input.u32()?)?;
            let id = input.id()?;
            let raw = input.take(1)? != [0];
            if files.last().is_some_and(|(before, _)| *before >= path) {
                return None;
            }
            let known = Known {
                stat,
                mode,
                id,
                raw,
            };
            files.push((path, known));
        }
        let mut trees = Vec::new();
        for _ in 0..input.number()? {
            trees.push(input.id()?);
        }
        let fingerprint = input.u64()?;
        let mut proven = Vec::new();
        for _ in 0..input.number()? {
            proven.push(input.u64()?);
        }
        let mut listed = Vec::new();
        for _ in 0..input.number()? {
            listed.push(Listed {
                ino: input.u64()?,
                mtime: input.time()?,
                ctime: input.time()?,
                names: input.u64()?,
            });
        }
        let built = match input.take(1)? {
            [0] => None,
            _ => Some(Built {
                index: input.stat()?,
                changes: input.take(32)?.try_into().ok()?,
                tree: input.id()?,
            }),
        };
        input.rest.is_empty().then_some(Cache {
            anchor,
            files,
            trees,
            fingerprint,
            proven,
            listed,
            built,
        })
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend((count as u64).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend(bytes);
}

fn put_stat(out: &mut Vec<u8>, stat: &Stat) {
    out.push(match stat.kind {
        FileKind::File { executable: false } => 0,
        FileKind::File { executable: true } => 1,
        FileKind::Link => 2,
        FileKind::Folder => 3,
        FileKind::Special => 4,
    });
    out.extend(stat.size.to_le_bytes());
    put_time(out, stat.mtime);
    put_time(out, stat.ctime);
    out.extend(stat.ino.to_le_bytes());
    out.extend(stat.uid.to_le_bytes());
    out.extend(stat.gid.to_le_bytes());
}

fn put_time(out: &mut Vec<u8>, (seconds, nanoseconds): (i64, u32)) {
    out.extend(seconds.to_le_bytes());
    out.extend(nanoseconds.to_le_bytes());
}

struct Input<'i> {
    rest: &'i [u8],
    hash: gix::hash::Kind,
}

impl<'i> Input<'i> {
    fn take(&mut self, count: usize) -> Option<&'i [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    fn bytes(&mut self) -> Option<&'i [u8]> {
        let count = self.number()?;
        self.take(count)
    }

    fn id(&mut self) -> Option<ObjectId> {
        ObjectId::try_from(self.take(self.hash.len_in_bytes())?).ok()
    }

    fn time(&mut self) -> Option<(i64, u32)> {
        let seconds = i64::from_le_bytes(self.take(8)?.try_into().ok()?);
        Some((seconds, self.u32()?))
    }

    fn stat(&mut self) -> Option<Stat> {
        let kind = match self.take(1)?[0] {
            0 => FileKind::File { executable: false },
            1 => FileKind::File { executable: true },
            2 => FileKind::Link,
            3 => FileKind::Folder,
            4 => FileKind::Special,
            _ => return None,
        };
        Some(Stat {
            kind,
            size: self.u64()?,
            mtime: self.time()?,
            ctime: self.time()?,
            ino: self.u64()?,
            uid: self.u32()?,
            gid: self.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Cache {
        let id = ObjectId::from_hex(b"0123456789012345678901234567890123456789").expect("hex");
        let stat = Stat {
            kind: FileKind::File { executable: true },
            size: 1 << 40,
            mtime: (-1, 999_999_999),
            ctime: (1 << 33, 1),
            ino: u64::MAX,
            uid: 0,
            gid: 1,
        };
        Cache {
            anchor: Some(("refs/harness/checkpoints/main/001".to_owned(), id)),
            files: vec![(
                BString::from(b"a\n\xff".as_slice()),
                Known {
                    stat,
                    mode: Mode::FILE_EXECUTABLE,
                    id,
                    raw: true,
                },
            )],
            trees: vec![id],
            fingerprint: 3,
            proven: vec![1, 2],
            listed: vec![Listed {
                ino: 7,
                mtime: (-5, 6),
                ctime: (1 << 33, 0),
                names: u64::MAX,
            }],
            built: Some(Built {
                index: stat,
                changes: [9; 32],
                tree: id,
            }),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let cache = sample();
        let read = Cache::decode(&cache.encode(), gix::hash::Kind::Sha1);
        assert_eq!(read, Some(cache));
    }

    #[test]
    fn every_broken_cache_is_empty() {
        let bytes = sample().encode();
        for length in 0..bytes.len() {
            assert_eq!(Cache::decode(&bytes[..length], gix::hash::Kind::Sha1), None);
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x40;
            assert_eq!(Cache::decode(&bytes, gix::hash::Kind::Sha1), None);
        }
    }
}
