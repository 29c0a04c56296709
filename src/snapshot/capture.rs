//! From candidates to blobs: reads what the walk could not prove unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;
use gix::objs::Kind;
use gix::{ObjectId, ThreadSafeRepository};

use crate::error::Result;
use crate::snapshot::convert::{Converter, Stored};
use crate::snapshot::root::{Root, is_absent};
use crate::snapshot::scan::{Candidate, Skipped};
use crate::snapshot::sink::{Sink, put_stream};
use crate::snapshot::sqlite;
use crate::snapshot::stat::{FileKind, Stat};
use crate::snapshot::workers;

/// Above this, a file that nothing converts is hashed without being held in memory.
const STREAM_FROM: u64 = 32 << 20;

/// How often a file is read again that changes under our hands.
const TRIES: usize = 3;

/// What became of a candidate.
#[derive(Debug)]
pub enum Capture {
    /// Its blob.
    Blob {
        /// How git stores it.
        mode: Mode,
        /// The blob's id.
        id: ObjectId,
        /// Whether a conversion applies that would not give the same bytes back.
        raw: bool,
        /// Its stat data when it was read, unless it changed meanwhile.
        stat: Option<Stat>,
    },
    /// It went away since the walk.
    Gone,
    /// It could not be read.
    Skipped(String),
}

/// What a capture needs to know.
pub struct Capturer<'c> {
    /// The worktree.
    pub root: &'c Root,
    /// The repository, for each thread's own handle.
    pub shared: &'c ThreadSafeRepository,
    /// The user's index.
    pub index: &'c gix::index::State,
    /// Whether any conversion can apply.
    pub convert: bool,
    /// Where blobs go.
    pub sink: &'c Sink,
    /// Files that are captured because someone declared them.
    pub included: &'c BTreeSet<BString>,
}

impl Capturer<'_> {
    /// Captures all `candidates`, in their order.
    ///
    /// # Errors
    /// When an object cannot be written, or the rules cannot be read. A file that
    /// cannot be read is no error.
    pub fn all(&self, candidates: &[Candidate]) -> Result<Vec<Capture>> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Capture>>> =
            candidates.iter().map(|_| Mutex::new(None)).collect();
        let threads = workers::threads_for(candidates.len(), 16);
        workers::each(
            threads,
            threads,
            || Ok(()),
            |(), _| self.share(candidates, &next, &results),
        )?;
        Ok(results
            .into_iter()
            .map(|slot| slot.into_inner().unwrap_or_else(|e| e.into_inner()))
            // Every slot was filled, or an error has been returned.
            .map(|slot| slot.unwrap_or(Capture::Gone))
            .collect())
    }

    /// One thread's share: it needs a handle and a converter that borrows it.
    fn share(
        &self,
        candidates: &[Candidate],
        next: &AtomicUsize,
        results: &[Mutex<Option<Capture>>],
    ) -> Result<()> {
        let repo = self.shared.to_thread_local();
        let mut converter = match self.convert {
            true => Some(Converter::on_disk(&repo, self.index)?),
            false => None,
        };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = candidates.get(at) else {
                return Ok(());
            };
            let capture = self.one(&repo, converter.as_mut(), candidate)?;
            if let Ok(mut slot) = results[at].lock() {
                *slot = Some(capture);
            }
        }
    }

    fn one(
        &self,
        repo: &gix::Repository,
        converter: Option<&mut Converter<'_>>,
        candidate: &Candidate,
    ) -> Result<Capture> {
        let path = candidate.path.as_bstr();
        if candidate.mode == Mode::SYMLINK && candidate.stat.kind == FileKind::Link {
            return self.link(repo, path, candidate.stat);
        }
        self.file(repo, converter, path, candidate)
    }

    fn link(&self, repo: &gix::Repository, path: &BStr, stat: Stat) -> Result<Capture> {
        match self.root.read_link(path) {
            Ok(target) => Ok(Capture::Blob {
                mode: Mode::SYMLINK,
                id: self.sink.put(repo, Kind::Blob, target.into())?,
                raw: false,
                stat: (self.root.stat(path) == Ok(Some(stat))).then_some(stat),
            }),
            Err(e) if is_absent(e) => Ok(Capture::Gone),
            Err(e) => Ok(Capture::Skipped(io::Error::from(e).to_string())),
        }
    }

    fn file(
        &self,
        repo: &gix::Repository,
        mut converter: Option<&mut Converter<'_>>,
        path: &BStr,
        candidate: &Candidate,
    ) -> Result<Capture> {
        let mut stat = candidate.stat;
        let mut mode = candidate.mode;
        for attempt in 1..=TRIES {
            let read = self.blob(repo, converter.as_deref_mut(), path, &stat);
            let (id, raw) = match read {
                Ok(blob) => blob?,
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Capture::Gone),
                Err(_) if attempt < TRIES && self.changed(path, &mut stat) => continue,
                Err(e) => return Ok(Capture::Skipped(e.to_string())),
            };
            if self.included.contains(&candidate.path) {
                // A database changes beside its main file, which then looks the same.
                return Ok(Capture::Blob {
                    mode,
                    id,
                    raw,
                    stat: None,
                });
            }
            if !self.changed(path, &mut stat) {
                return Ok(Capture::Blob {
                    mode,
                    id,
                    raw,
                    stat: Some(stat),
                });
            }
            if attempt == TRIES {
                // It never holds still (a log): what was read last was there at that moment.
                return Ok(Capture::Blob {
                    mode,
                    id,
                    raw,
                    stat: None,
                });
            }
            if let (FileKind::File { executable }, Mode::FILE | Mode::FILE_EXECUTABLE) =
                (stat.kind, mode)
                && candidate.stat.kind != stat.kind
            {
                mode = if executable {
                    Mode::FILE_EXECUTABLE
                } else {
                    Mode::FILE
                };
            }
        }
        Ok(Capture::Skipped("changed while it was read".to_owned()))
    }

    /// Whether the file is another one than `stat` says, which then says the new.
    fn changed(&self, path: &BStr, stat: &mut Stat) -> bool {
        match self.root.stat(path) {
            Ok(Some(now)) if now == *stat => false,
            Ok(Some(now)) => {
                *stat = now;
                true
            }
            _ => true,
        }
    }

    /// A declared file: as it is, or a database as one consistent copy.
    fn declared(
        &self,
        repo: &gix::Repository,
        path: &BStr,
        stat: &Stat,
    ) -> io::Result<Result<(ObjectId, bool)>> {
        let mut bytes = self.root.read_file(path, stat.size)?;
        if sqlite::is_database(&bytes) {
            bytes = sqlite::copy(&self.root.join(path))
                .map_err(|e| io::Error::other(format!("{e:#}")))?;
        }
        Ok(self.sink.put(repo, Kind::Blob, bytes).map(|id| (id, false)))
    }

    /// Outer errors are of reading, inner ones of writing.
    fn blob(
        &self,
        repo: &gix::Repository,
        converter: Option<&mut Converter<'_>>,
        path: &BStr,
        stat: &Stat,
    ) -> io::Result<Result<(ObjectId, bool)>> {
        let is_declared = self.included.contains(path.as_bytes().as_bstr());
        let is_database = is_declared && sqlite::is_database_file(&self.root.join(path));
        if (converter.is_none() || is_declared) && !is_database && stat.size >= STREAM_FROM {
            let file = self.root.open_file(path)?;
            return Ok(put_stream(self.sink, file, stat.size).map(|id| (id, false)));
        }
        if is_declared {
            return self.declared(repo, path, stat);
        }
        let bytes = self.root.read_file(path, stat.size)?;
        let stored = match converter {
            Some(converter) => converter.store(path, &bytes),
            None => Ok(Stored::Same),
        };
        let put = |bytes, raw| self.sink.put(repo, Kind::Blob, bytes).map(|id| (id, raw));
        Ok(match stored {
            Ok(Stored::Same) => put(bytes, false),
            Ok(Stored::Git(form)) => put(form, false),
            Ok(Stored::Raw) => put(bytes, true),
            Err(e) => Err(e),
        })
    }
}

/// Takes away the new files that are too large, and of what remains the largest
/// ones until the whole is small enough; never what was `asked` for by name.
pub fn limit(
    candidates: &mut Vec<Candidate>,
    asked: &[BString],
    file_at_most: u64,
    total_at_most: u64,
) -> Vec<Skipped> {
    let mut dropped: BTreeMap<BString, String> = BTreeMap::new();
    let is_new = |c: &Candidate| c.entry.is_none() && !asked.contains(&c.path);
    let mut new: Vec<(u64, BString)> = candidates
        .iter()
        .filter(|c| is_new(c))
        .map(|c| (c.stat.size, c.path.clone()))
        .collect();
    let mut total: u64 = new.iter().map(|(size, _)| size).sum();
    if total <= file_at_most.min(total_at_most) {
        return Vec::new();
    }
    new.sort_by(|a, b| b.cmp(a));
    for (size, path) in new {
        let reason = if size > file_at_most {
            format!("{size} bytes, more than checkpoint.maxFileSize")
        } else if total > total_at_most {
            "beyond checkpoint.maxNew".to_owned()
        } else {
            break;
        };
        dropped.insert(path, reason);
        total -= size;
    }
    candidates.retain(|c| !dropped.contains_key(&c.path));
    dropped
        .into_iter()
        .map(|(path, reason)| Skipped { path, reason })
        .collect()
}
