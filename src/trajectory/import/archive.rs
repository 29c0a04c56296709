//! Transcripts that their agent has put away, compressed: `….jsonl.zst`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;

use crate::error::{Context, Result};
use crate::events::Lines;

/// The lines of the transcript at `path`, compressed or not; those of `longest` bytes
/// and more are passed over.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn lines(path: &Path, longest: usize) -> Result<Lines> {
    if !is_compressed(path) {
        return Lines::open(path, 0, longest);
    }
    let file = File::open(path).with_context(|| format!("cannot read '{}'", path.display()))?;
    let frames = Frames {
        next: Some(BufReader::new(file)),
        frame: None,
    };
    Ok(Lines::of(Box::new(frames), 0, longest))
}

/// Whether `path` names a transcript, compressed or not.
pub(super) fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "jsonl")
        || (is_compressed(path)
            && path
                .file_stem()
                .is_some_and(|stem| Path::new(stem).extension().is_some_and(|e| e == "jsonl")))
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "zst")
}

/// The transcript at `path`, or the compressed one that has taken its place.
pub(crate) fn present(path: PathBuf) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path);
    }
    let mut name = path.into_os_string();
    name.push(".zst");
    Some(PathBuf::from(name)).filter(|path| path.is_file())
}

/// Frames of zstd one after another, which together are one text (RFC 8878).
struct Frames {
    next: Option<BufReader<File>>,
    frame: Option<Box<StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>>>,
}

impl Read for Frames {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(to)?;
                if read > 0 || to.is_empty() {
                    return Ok(read);
                }
                self.next = self.frame.take().map(|frame| frame.into_inner());
            }
            let Some(mut file) = self.next.take() else {
                return Ok(0);
            };
            if file.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let frame = StreamingDecoder::new(file).map_err(io::Error::other)?;
            self.frame = Some(Box::new(frame));
        }
    }
}
