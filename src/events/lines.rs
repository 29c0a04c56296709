//! Reads a file line by line with memory that stays flat, past whatever is
//! broken in it: a torn end, blocks of NUL, line breaks of Windows, lines without
//! measure. What was passed over is counted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Context, Result};

/// What a reader passed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Lines that are no JSON object.
    pub broken: u64,
    /// Lines that are too long.
    pub long: u64,
    /// Bytes of NUL.
    pub nul: u64,
}

/// The lines of a file.
pub struct Lines {
    input: BufReader<Box<dyn Read + Send>>,
    longest: usize,
    offset: u64,
    line: Vec<u8>,
    passed: Passed,
}

impl Lines {
    /// Reads `path` from offset `from`, which is the beginning of a line. Lines
    /// of `longest` bytes and more are passed over.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, from: u64, longest: usize) -> Result<Self> {
        let open = || -> std::io::Result<File> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(from))?;
            Ok(file)
        };
        let file = open().with_context(|| format!("cannot read '{}'", path.display()))?;
        Ok(Lines::of(Box::new(file), from, longest))
    }

    /// Reads `input`, whose first byte has the offset `from`.
    pub fn of(input: Box<dyn Read + Send>, from: u64, longest: usize) -> Self {
        Lines {
            input: BufReader::with_capacity(128 << 10, input),
            longest,
            offset: from,
            line: Vec::new(),
            passed: Passed::default(),
        }
    }

    /// What was passed over so far.
    pub fn passed(&self) -> Passed {
        self.passed
    }

    /// The offset behind the last whole line.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line that has something in it, with its offset; `None` at the
    /// end, before a line that is not whole yet.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_line(&mut self) -> Result<Option<(u64, &[u8])>> {
        loop {
            let start = self.offset;
            let Some(length) = self.fill()? else {
                return Ok(None);
            };
            self.offset += length;
            if self.line.len() >= self.longest {
                self.passed.long += 1;
                continue;
            }
            let nul = self.line.iter().take_while(|b| **b == 0).count();
            self.passed.nul += nul as u64;
            if !self.line[nul..].trim_ascii().is_empty() {
                return Ok(Some((start, self.line[nul..].trim_ascii())));
            }
        }
    }

    /// What stands behind the last whole line.
    pub fn rest(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    /// Fills `line`; gives the length in the file. A longer line is read past.
    fn fill(&mut self) -> Result<Option<u64>> {
        self.line.clear();
        let mut length = 0;
        loop {
            let bytes = self.input.fill_buf().context("cannot read the log")?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = memchr(bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = self.longest - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            length += used as u64;
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_passed_over() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("log");
        let mut bytes = b"one\r\n\0\0\0two\n\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 100));
        bytes.extend_from_slice(b"\nthree\ntorn");
        crate::state::file::replace(&path, &bytes, Default::default(), false).expect("written");
        let mut lines = Lines::open(&path, 0, 50).expect("opened");
        let mut found = Vec::new();
        while let Some((at, line)) = lines.next_line().expect("read") {
            found.push((at, String::from_utf8_lossy(line).into_owned()));
        }
        assert_eq!(
            found,
            [(0, "one".into()), (5, "two".into()), (114, "three".into())] as [(u64, String); 3]
        );
        assert_eq!(
            lines.passed(),
            Passed {
                broken: 0,
                long: 1,
                nul: 3
            }
        );
        assert_eq!((lines.offset(), lines.rest()), (120, &b"torn"[..]));
    }
}
