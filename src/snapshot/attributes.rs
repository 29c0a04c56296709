//! Whether git converts any file of this worktree at all, and a fingerprint of
//! everything that decides it. Most repositories convert nothing, and pay nothing.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::root::Root;
use crate::snapshot::scan::Scan;

/// The sources of attributes, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Whether some rule converts something (line ends, `ident`, an encoding, a filter).
    pub convert: bool,
    /// Whether one of them is in no tree: the user's own, or of this repository only.
    pub outside: bool,
    /// Changes whenever a rule may have.
    pub fingerprint: u64,
}

/// The words whose presence in an attributes file can mean a conversion
/// (gitattributes(5)); a word too many costs time only.
pub(super) const CONVERTING: &[&str] = &[
    "text",
    "crlf",
    "eol",
    "ident",
    "filter",
    "working-tree-encoding",
];

/// Reads the attribute files of the worktree, those of the user and the configuration.
///
/// # Errors
/// When the user's own attributes path cannot be found out.
pub fn survey(
    repo: &Repo,
    root: &Root,
    index: &gix::index::State,
    scan: &Scan,
) -> Result<Attributes> {
    let mut sum = DefaultHasher::new();
    let mut convert = repo.config("core.autocrlf").is_some_and(|v| {
        !matches!(
            v.to_ascii_lowercase().as_slice(),
            b"false" | b"no" | b"off" | b"0" | b""
        )
    });
    for key in ["core.autocrlf", "core.eol"] {
        repo.config(key).hash(&mut sum);
    }
    for section in repo
        .gix()
        .config_snapshot()
        .plumbing()
        .sections_by_name("filter")
        .into_iter()
        .flatten()
    {
        section.to_bstring().hash(&mut sum);
    }
    let mut read = |content: Option<Vec<u8>>| {
        let converts = content.as_deref().is_some_and(may_convert);
        content.hash(&mut sum);
        converts
    };
    let mut outside = read(std::fs::read(info(repo.common_dir())).ok());
    for file in repo.gix().attribute_global_paths()? {
        outside |= read(std::fs::read(file).ok());
    }
    convert |= outside;
    for path in in_tree(index, scan) {
        let on_disk = root.read_file(path.as_bstr(), 0).ok();
        // What sparse checkout left out still has rules, from the index.
        let content = on_disk.or_else(|| {
            let entry = index.entry_by_path(path.as_bstr())?;
            repo.object(entry.id, gix::objs::Kind::Blob).ok()
        });
        convert |= read(content);
    }
    Ok(Attributes {
        convert,
        outside,
        fingerprint: sum.finish(),
    })
}

/// Where the rules of one repository are that are in no tree.
pub(super) fn info(common_dir: &Path) -> PathBuf {
    common_dir.join("info/attributes")
}

/// Whether an attributes file can mean a conversion.
pub(super) fn may_convert(content: &[u8]) -> bool {
    CONVERTING.iter().any(|word| content.find(word).is_some())
}

fn in_tree(index: &gix::index::State, scan: &Scan) -> Vec<BString> {
    let tracked = index
        .entries()
        .iter()
        .map(|entry| entry.path(index))
        .filter(|path| is_attributes_file(path))
        .map(ToOwned::to_owned);
    let new = scan
        .candidates
        .iter()
        .filter(|c| c.entry.is_none() && is_attributes_file(c.path.as_bstr()))
        .map(|c| c.path.clone());
    let mut all: Vec<BString> = tracked.chain(new).collect();
    all.sort();
    all.dedup();
    all
}

pub(super) fn is_attributes_file(path: &BStr) -> bool {
    path.strip_suffix(b".gitattributes")
        .is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
}
