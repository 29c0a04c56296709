//! A journal, read whole and checked.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use gix::hash::Kind as HashKind;

use crate::error::{Context, Result, anyhow, bail};
use crate::replay::journal::container::Form;
use crate::replay::journal::fields::Fields;
use crate::replay::journal::turns::{Turn, Turns};
use crate::replay::journal::{Container, storage, strict};

/// How much is read at most; more is an error, never a cut.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Entries.
    pub entries: usize,
    /// Bytes of the whole journal.
    pub bytes: u64,
}

impl Default for Limits {
    /// What Outpost reads: 100,000 entries in 64 MiB.
    fn default() -> Self {
        Limits {
            entries: 100_000,
            bytes: 64 << 20,
        }
    }
}

/// A journal: its name, its entries and the turns they form.
#[derive(Debug)]
pub struct Journal {
    /// The file's name without its extension.
    pub name: String,
    /// The entries as they stand.
    pub container: Container,
    /// The turns.
    pub turns: Vec<Turn>,
    /// Which kind of ids it holds; `None` when it holds none.
    pub hash: Option<HashKind>,
}

impl Journal {
    /// Reads the journal at `path`: a file, `-` for standard input, or a storage
    /// folder of Outpost with `#<log>` when it holds several logs.
    ///
    /// # Errors
    /// When it cannot be read, is malformed, or passes one of the `limits`; the
    /// message names entry and line.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        let name = name_of(path);
        let bytes = bytes_of(path, limits);
        bytes
            .and_then(|bytes| Self::read(name, bytes, limits))
            .with_context(|| format!("cannot read the journal '{}'", path.display()))
    }

    /// Whether `path` names a journal that is there: `-`, a file, or a storage
    /// folder, with or without the name of a log.
    pub fn is_at(path: &Path) -> bool {
        let (place, _) = storage::address(path);
        path == Path::new("-") || storage::is_at(&place) || (place.exists() && !place.is_dir())
    }

    /// Reads `bytes` as a journal called `name`.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn read(name: String, bytes: Vec<u8>, limits: Limits) -> Result<Self> {
        let container = Container::cut(bytes, limits)?;
        let mut turns = Turns::default();
        for index in 0..container.len() {
            let fields = fields_at(&container, index)?;
            turns.take(index, fields)?;
        }
        let turns = turns.finish()?;
        let hash = hash_of(&turns)?;
        Ok(Journal {
            name,
            container,
            turns,
            hash,
        })
    }

    /// The fields of the entry at `index`, from 0.
    ///
    /// # Errors
    /// When there is no such entry.
    pub fn fields(&self, index: usize) -> Result<Fields> {
        fields_at(&self.container, index)
    }

    /// The line of a torn last entry that was left out.
    pub fn torn(&self) -> Option<usize> {
        self.container.torn
    }

    /// The form of its container.
    pub fn form(&self) -> Form {
        self.container.form
    }
}

fn fields_at(container: &Container, index: usize) -> Result<Fields> {
    let place = container.place(index);
    let text = container.entry(index).unwrap_or_default();
    let value = strict::parse(text).map_err(|e| match e.line() {
        // Counted from the entry's own first line, which `place` names.
        0 | 1 => anyhow!("{place}: {}", without_position(&e)),
        line => anyhow!("{place}: on its line {line}: {}", without_position(&e)),
    })?;
    Fields::of(place, value)
}

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

fn hash_of(turns: &[Turn]) -> Result<Option<HashKind>> {
    let mut kind = None;
    for workspace in turns.iter().filter_map(|turn| turn.workspace.as_ref()) {
        for id in workspace.ids() {
            if *kind.get_or_insert(id.kind()) != id.kind() {
                bail!(
                    "{}: ids of 40 and of 64 hex digits are mixed",
                    workspace.place
                );
            }
        }
    }
    Ok(kind)
}

fn bytes_of(path: &Path, limits: Limits) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        return limited(io::stdin().lock(), limits);
    }
    let (folder, log) = storage::address(path);
    if folder.is_dir() {
        return storage::read(&folder, log.as_deref(), limits);
    }
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return limited(file, limits);
    }
    let size = file.metadata()?.len();
    if size > limits.bytes {
        bail!(
            "it has {size} bytes, more than the {} of journal.maxSize",
            limits.bytes
        );
    }
    limited(file, limits)
}

fn limited(from: impl Read, limits: Limits) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits.bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "journal".into();
    }
    let (folder, log) = storage::address(path);
    match log {
        Some(log) => log,
        None => folder
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_else(|| "journal".into()),
    }
}
