//! Files that git calls unchanged although a conversion applies to them: is the
//! blob in the index what would give their bytes back? Proven once per file
//! version and remembered.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use gix::ThreadSafeRepository;
use gix::bstr::ByteSlice;
use gix::index::Entry;
use gix::index::entry::{Flags, Mode};

use crate::error::Result;
use crate::snapshot::convert::{Conversion, Converter};
use crate::snapshot::root::Root;
use crate::snapshot::scan::{Candidate, Scan};
use crate::snapshot::workers;

/// What the proof found.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// Files whose content must be looked at although their stat data is the index's.
    pub(super) doubtful: Vec<Candidate>,
    /// Hashes of the entries that are settled, sorted: to be remembered.
    pub(super) proven: Vec<u64>,
}

/// Entries for one thread at a time.
const CHUNK: usize = 512;

/// Looks at every entry that `scan` found unchanged and that is not in `proven`
/// (sorted; made under the same attributes). `outside` is whether rules exist that
/// no checkpoint holds.
///
/// # Errors
/// When attributes or objects cannot be read.
pub(super) fn prove(
    shared: &ThreadSafeRepository,
    root: &Root,
    index: &gix::index::State,
    scan: &Scan,
    proven: &[u64],
    outside: bool,
) -> Result<Proof> {
    let mut looked_at = vec![false; index.entries().len()];
    for position in scan.candidates.iter().filter_map(|c| c.entry) {
        looked_at[position] = true;
    }
    let result = Mutex::new(Proof::default());
    let chunks: Vec<&[Entry]> = index.entries().chunks(CHUNK).collect();
    workers::each(
        workers::threads_for(chunks.len(), 4),
        chunks.len(),
        || Ok(()),
        |(), number| {
            let chunk = chunks[number];
            let mut settled = Vec::new();
            let mut open = Vec::new();
            for (offset, entry) in chunk.iter().enumerate() {
                let position = number * CHUNK + offset;
                if looked_at[position] || !is_plain(entry) {
                    continue;
                }
                let key = key(entry, index);
                if proven.binary_search(&key).is_ok() {
                    settled.push(key);
                } else {
                    open.push((position, key));
                }
            }
            let mut doubtful = Vec::new();
            if !open.is_empty() {
                let repo = shared.to_thread_local();
                let mut converters = vec![Converter::on_disk(&repo, index)?];
                if outside {
                    converters.push(Converter::of_index(&repo, index)?);
                }
                for (position, key) in open {
                    let entry = &index.entries()[position];
                    if is_settled(&repo, &mut converters, index, entry)? {
                        settled.push(key);
                    } else {
                        doubtful.push(position);
                    }
                }
            }
            let doubtful = doubtful.into_iter().filter_map(|position| {
                let path = index.entries()[position].path(index);
                let stat = root.stat(path).ok().flatten()?;
                let mode = index.entries()[position].mode;
                Some(Candidate {
                    path: path.to_owned(),
                    entry: Some(position),
                    stat,
                    mode,
                })
            });
            let mut result = result.lock().unwrap_or_else(|e| e.into_inner());
            result.doubtful.extend(doubtful);
            result.proven.append(&mut settled);
            Ok(())
        },
    )?;
    let mut proof = result.into_inner().unwrap_or_else(|e| e.into_inner());
    proof
        .doubtful
        .retain(|c| scan.gone.binary_search(&c.path).is_err());
    proof.doubtful.sort_by(|a, b| a.path.cmp(&b.path));
    proof.proven.sort_unstable();
    Ok(proof)
}

fn is_plain(entry: &Entry) -> bool {
    matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
        && entry.flags.stage_raw() == 0
        && !entry.flags.contains(Flags::INTENT_TO_ADD)
}

/// What stands for one version of one file in the list of the proven.
pub(super) fn key(entry: &Entry, index: &gix::index::State) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.path(index).as_bytes().hash(&mut hasher);
    entry.id.as_slice().hash(&mut hasher);
    // One file version: another with the same size may have its line ends elsewhere.
    entry.stat.hash(&mut hasher);
    hasher.finish()
}

/// Whether the blob of an unchanged entry is known to give its file back: under the
/// rules that a checkpoint holds, and under those by which git made it.
fn is_settled(
    repo: &gix::Repository,
    converters: &mut [Converter<'_>],
    index: &gix::index::State,
    entry: &Entry,
) -> Result<bool> {
    for converter in converters {
        let is_settled = match converter.conversion(entry.path(index))? {
            // The pointer is the file as far as we go: running git-lfs may need the network.
            Conversion::None | Conversion::Lfs => true,
            // Line ends only ever go away: the same size is the same content. (git keeps
            // the low 32 bits of a size.) A blob that is not here proves nothing.
            Conversion::Lines => repo
                .find_header(entry.id)
                .is_ok_and(|header| header.size() as u32 == entry.stat.size),
            Conversion::BothWays | Conversion::Git(_) => false,
        };
        if !is_settled {
            return Ok(false);
        }
    }
    Ok(true)
}
