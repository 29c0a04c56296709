//! The pack format (gitformat-pack(5), version 2 of pack and index): what
//! everyone who writes a pack of whole objects has in common. Who writes when,
//! and when it is published, is the writer's own.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use gix::ObjectId;
use gix::hash::Kind as HashKind;
use gix::objs::Kind;

use crate::error::{Context, Result};

/// How many bytes a pack begins with: magic, version and count.
pub const HEADER: usize = 12;
/// Offsets from here on stand in a table of their own.
const LARGE: u64 = 1 << 31;
/// Bytes that are hashed at once.
const BUFFER: usize = 1 << 18;

/// One object in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: ObjectId,
    /// Where its header stands.
    pub offset: u64,
    /// The CRC-32 of its header and its deflated bytes.
    pub crc: u32,
}

/// The first bytes of a pack of `count` objects.
///
/// # Errors
/// When there are more than a pack can hold.
pub fn header(count: usize) -> Result<[u8; HEADER]> {
    let count = u32::try_from(count).context("too many objects for one pack")?;
    let mut bytes = *b"PACK\0\0\0\x02\0\0\0\0";
    bytes[8..].copy_from_slice(&count.to_be_bytes());
    Ok(bytes)
}

/// Appends the type and the size of an object: 3 bits of type, then 4 + 7 + 7 …
/// bits of size.
pub fn object_header(bytes: &mut Vec<u8>, kind: Kind, size: u64) {
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

/// What all bytes of `file` hash to: what a pack ends with.
///
/// # Errors
/// When it cannot be read.
pub fn checksum(file: &File, hash: HashKind) -> Result<ObjectId> {
    let mut hasher = gix::hash::hasher(hash);
    let mut from = From { file, at: 0 };
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hasher.try_finalize()?),
            n => hasher.update(&buffer[..n]),
        }
    }
}

/// The index of a pack with the checksum `pack`, in any order of `entries`.
///
/// # Errors
/// When the hash detects an attack on SHA-1.
pub fn index(mut entries: Vec<Entry>, pack: ObjectId) -> Result<Vec<u8>> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let width = pack.kind().len_in_bytes();
    let mut index = Vec::with_capacity(1032 + entries.len() * (width + 8) + 2 * width);
    index.extend_from_slice(b"\xfftOc\0\0\0\x02");
    let mut below = 0;
    for first in 0..=255 {
        below += entries[below..].partition_point(|entry| entry.id.as_slice()[0] <= first);
        index.extend_from_slice(&(below as u32).to_be_bytes());
    }
    for entry in &entries {
        index.extend_from_slice(entry.id.as_slice());
    }
    for entry in &entries {
        index.extend_from_slice(&entry.crc.to_be_bytes());
    }
    let mut large = Vec::new();
    for entry in &entries {
        let place = if entry.offset < LARGE {
            entry.offset as u32
        } else {
            large.push(entry.offset);
            LARGE as u32 | (large.len() - 1) as u32
        };
        index.extend_from_slice(&place.to_be_bytes());
    }
    for offset in large {
        index.extend_from_slice(&offset.to_be_bytes());
    }
    index.extend_from_slice(pack.as_slice());
    let mut hasher = gix::hash::hasher(pack.kind());
    hasher.update(&index);
    let own = hasher.try_finalize().context("cannot hash a pack index")?;
    index.extend_from_slice(own.as_slice());
    Ok(index)
}

/// Reads a file from an offset on, without moving its position.
pub struct From<'a> {
    /// The file.
    pub file: &'a File,
    /// Where to go on.
    pub at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_takes_four_then_seven_bits() {
        let check = |kind, size, wanted: &[u8]| {
            let mut bytes = Vec::new();
            object_header(&mut bytes, kind, size);
            assert_eq!(bytes, wanted);
        };
        check(Kind::Blob, 5, &[0x35]);
        check(Kind::Tree, 0x1f, &[0xaf, 0x01]);
        check(Kind::Commit, 0x1234, &[0x94, 0xa3, 0x02]);
    }

    #[test]
    fn an_offset_of_two_gigabytes_has_a_table_of_its_own() {
        let entry = |first: u8, offset| Entry {
            id: ObjectId::from_bytes_or_panic(&[[first].as_slice(), &[0; 19]].concat()),
            offset,
            crc: 0,
        };
        let pack = ObjectId::null(HashKind::Sha1);
        let bytes = index(vec![entry(9, LARGE + 7), entry(3, 12)], pack).expect("hashes");
        let offsets = 8 + 4 * 256 + 2 * (20 + 4);
        assert_eq!(bytes[offsets..offsets + 4], 12_u32.to_be_bytes());
        assert_eq!(bytes[offsets + 4..offsets + 8], (1_u32 << 31).to_be_bytes());
        assert_eq!(bytes[offsets + 8..offsets + 16], (LARGE + 7).to_be_bytes());
        assert_eq!(bytes.len(), offsets + 16 + 40);
    }
}
