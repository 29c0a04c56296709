//! Writes an index: that of a worktree which has just been made, with its stat
//! data and with the trees it stands for, so that neither git nor the first
//! snapshot has to find them out again. The format is gitformat-index(5).

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::BString;
use gix::index::entry::Mode;

use crate::error::{Context, Result, bail};
use crate::snapshot::stat::Stat;

/// One line of an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// From the worktree's root.
    pub path: BString,
    /// 0, or the side of a conflict.
    pub stage: u8,
    /// How git stores it.
    pub mode: Mode,
    /// Its blob or commit.
    pub id: ObjectId,
    /// The flags that no tree has.
    pub marks: Marks,
}

/// What a user can say of a path in the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marks {
    /// `git update-index --assume-unchanged`.
    pub assume_unchanged: bool,
    /// `git update-index --skip-worktree`.
    pub skip_worktree: bool,
    /// `git add --intent-to-add`.
    pub intent_to_add: bool,
}

/// A tree that a range of lines stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The last component of its path; empty for the root.
    pub name: BString,
    /// The tree.
    pub id: ObjectId,
    /// How many lines are below it.
    pub lines: usize,
    /// The folders in it.
    pub children: Vec<Node>,
}

/// The bytes of an index of these `lines`, sorted by path and stage, each with the
/// stat data of its file or none; `trees` must be those of exactly these lines.
///
/// # Errors
/// When there are more lines than the format can count.
pub fn encode(
    lines: &[(Line, Option<Stat>)],
    trees: Option<&Node>,
    hash: gix::hash::Kind,
) -> Result<Vec<u8>> {
    let extended = |marks: Marks| marks.skip_worktree || marks.intent_to_add;
    let version: u32 = match lines.iter().any(|(line, _)| extended(line.marks)) {
        true => 3,
        false => 2,
    };
    let count = u32::try_from(lines.len()).context("too many files for an index")?;
    let mut out = Vec::with_capacity(lines.len() * 110 + 64);
    out.extend(b"DIRC");
    out.extend(version.to_be_bytes());
    out.extend(count.to_be_bytes());
    for (line, stat) in lines {
        let start = out.len();
        put_stat(&mut out, line.mode, stat.as_ref());
        out.extend(line.id.as_slice());
        let length = line.path.len().min(0xfff) as u16;
        let flags = u16::from(line.marks.assume_unchanged) << 15
            | u16::from(extended(line.marks)) << 14
            | u16::from(line.stage & 3) << 12
            | length;
        out.extend(flags.to_be_bytes());
        if extended(line.marks) {
            let more = u16::from(line.marks.skip_worktree) << 14
                | u16::from(line.marks.intent_to_add) << 13;
            out.extend(more.to_be_bytes());
        }
        out.extend(line.path.as_slice());
        let padding = 8 - (out.len() - start) % 8;
        out.resize(out.len() + padding, 0);
    }
    if let Some(root) = trees {
        let mut bytes = Vec::new();
        put_node(&mut bytes, root);
        out.extend(b"TREE");
        out.extend(u32::try_from(bytes.len())?.to_be_bytes());
        out.extend(bytes);
    }
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(&out);
    let sum = hasher.try_finalize().context("cannot hash the index")?;
    out.extend(sum.as_slice());
    Ok(out)
}

/// The format keeps the low 32 bits of each number.
fn put_stat(out: &mut Vec<u8>, mode: Mode, stat: Option<&Stat>) {
    let [ctime, mtime] = stat.map_or([(0, 0); 2], |s| [s.ctime, s.mtime]);
    let numbers = [
        ctime.0 as u32,
        ctime.1,
        mtime.0 as u32,
        mtime.1,
        0,
        stat.map_or(0, |s| s.ino as u32),
        mode.bits(),
        stat.map_or(0, |s| s.uid),
        stat.map_or(0, |s| s.gid),
        stat.map_or(0, |s| s.size as u32),
    ];
    for number in numbers {
        out.extend(number.to_be_bytes());
    }
}

fn put_node(out: &mut Vec<u8>, node: &Node) {
    out.extend(node.name.as_slice());
    out.push(0);
    out.extend(format!("{} {}\n", node.lines, node.children.len()).bytes());
    out.extend(node.id.as_slice());
    for child in &node.children {
        put_node(out, child);
    }
}

/// Makes `bytes` the index at `path`, under git's own lock file.
///
/// # Errors
/// When another process holds that lock, or it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let lock = path.with_extension("lock");
    let opened = OpenOptions::new().write(true).create_new(true).open(&lock);
    let mut file = match opened {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            bail!("'{}' exists: another git is at work", lock.display())
        }
        opened => opened.with_context(|| format!("cannot write '{}'", lock.display()))?,
    };
    crate::state::crash::point();
    file.write_all(bytes)
        .and_then(|()| std::fs::rename(&lock, path))
        .inspect_err(|_| drop(std::fs::remove_file(&lock)))
        .with_context(|| format!("cannot write '{}'", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gix_reads_what_is_written() {
        let id = ObjectId::from_hex(b"0123456789012345678901234567890123456789").expect("hex");
        let line = |path: &str, stage, marks| Line {
            path: path.into(),
            stage,
            mode: Mode::FILE,
            id,
            marks,
        };
        let skipped = Marks {
            skip_worktree: true,
            ..Marks::default()
        };
        let lines = [
            (line("a", 0, Marks::default()), None),
            (line("conflict", 1, Marks::default()), None),
            (line("conflict", 2, Marks::default()), None),
            (line("dir/b", 0, skipped), None),
        ];
        let bytes = encode(&lines, None, gix::hash::Kind::Sha1).expect("encoded");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("index");
        write(&path, &bytes).expect("written");
        // With its checksum verified.
        let state = gix::index::File::at(&path, gix::hash::Kind::Sha1, false, Default::default())
            .expect("readable");
        let read: Vec<(String, u32)> = state
            .entries()
            .iter()
            .map(|e| (e.path(&state).to_string(), e.flags.stage_raw()))
            .collect();
        let expected = [("a", 0), ("conflict", 1), ("conflict", 2), ("dir/b", 0)];
        assert_eq!(read, expected.map(|(path, stage)| (path.to_owned(), stage)));
        let flags = state.entries()[3].flags;
        assert!(flags.contains(gix::index::entry::Flags::SKIP_WORKTREE));
    }
}
