//! The side cache of a worktree: what earlier snapshots learnt about files that
//! differ from the user's index, so that the next one does not read them again.
//! It may be lost or broken at any time; then the files are read.

use std::path::PathBuf;

use flate2::Crc;
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::listed::Listed;
use crate::snapshot::stat::{FileKind, Stat};
use crate::state::file;

/// Changes whenever the layout below does; another one is read as an empty cache.
const MAGIC: &[u8; 8] = b"GHCACHE2";

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

/// All that is known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// The ref and commit for which it was written: while they stand, every id
    /// here is reachable and needs no look-up.
    pub anchor: Option<(String, ObjectId)>,
    /// Sorted by path, each once.
    pub files: Vec<(BString, Known)>,
    /// Trees that the anchor keeps.
    pub trees: Vec<ObjectId>,
    /// The fingerprint of the attributes under which `proven` holds.
    pub fingerprint: u64,
    /// Hashes of unchanged entries that no conversion alters, sorted.
    pub proven: Vec<u64>,
    /// Folders that need not be read again, sorted.
    pub listed: Vec<Listed>,
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

    /// What is known of `path`, if it is still the file that was read.
    pub fn known(&self, path: &BStr, stat: &Stat) -> Option<&Known> {
        let at = self
            .files
            .binary_search_by(|(known, _)| known.as_bstr().cmp(path))
            .ok()?;
        let (_, known) = &self.files[at];
        (known.stat == *stat).then_some(known)
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
        let mut files: Vec<(BString, Known)> = Vec::new();
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
        input.rest.is_empty().then_some(Cache {
            anchor,
            files,
            trees,
            fingerprint,
            proven,
            listed,
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
