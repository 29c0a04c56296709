//! Moves objects from a quarantine into the store, in an order in which a
//! reader never sees an index without its pack (git's tmp-objdir.c does the same).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use rustix::fs::{Access, access};

use crate::error::{Context, Result};
use crate::state::crash;
use crate::state::file::{Sharing, make_folder};

/// Moves what is in the object store `from` into the store `to`, all or nothing as
/// far as permissions say so before.
pub(super) fn objects(from: &Path, to: &Path, sharing: Sharing) -> Result<()> {
    for folder in folders(from)? {
        let target = to.join(folder.file_name().unwrap_or_default());
        let is_empty = entries(&folder)?.is_empty();
        if !is_empty && target.exists() {
            access(&target, Access::WRITE_OK | Access::EXEC_OK)
                .with_context(|| format!("cannot move objects to '{}'", target.display()))?;
        }
    }
    for folder in folders(from)? {
        let target = to.join(folder.file_name().unwrap_or_default());
        let mut files = entries(&folder)?;
        // `.idx` last: it is what makes a pack exist.
        files.sort_by_key(|file| file.extension() == Some(OsStr::new("idx")));
        if files.is_empty() {
            continue;
        }
        make_folder(&target, sharing)?;
        for file in files {
            let place = target.join(file.file_name().unwrap_or_default());
            if !place.exists() {
                crash::point();
                fs::rename(&file, &place)
                    .with_context(|| format!("cannot move an object to '{}'", place.display()))?;
            }
        }
        fs::File::open(&target)
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("cannot sync '{}'", target.display()))?;
    }
    Ok(())
}

/// The objects in the store `from` that are in no pack, and their files.
pub(super) fn loose(from: &Path) -> Result<Vec<(ObjectId, PathBuf)>> {
    let mut found = Vec::new();
    for folder in folders(from)? {
        let first = folder.file_name().unwrap_or_default().as_encoded_bytes();
        for file in entries(&folder)? {
            let rest = file.file_name().unwrap_or_default().as_encoded_bytes();
            if let Ok(id) = ObjectId::from_hex(&[first, rest].concat()) {
                found.push((id, file));
            }
        }
    }
    Ok(found)
}

fn folders(from: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = entries(from)?;
    folders.retain(|folder| folder.file_name().is_some_and(is_of_objects));
    Ok(folders)
}

/// `pack`, or the first two digits of loose objects.
fn is_of_objects(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"pack" || (name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect())
        .with_context(|| format!("cannot list '{}'", folder.display()))
}
