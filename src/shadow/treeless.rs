//! What no tree has of a removed shadow: folders with nothing in them, and permission
//! bits.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Context, Result};
use crate::git::quote::path_of_json;
use crate::shadow::task::path_json;
use crate::snapshot::root::{Root, is_absent};
use crate::snapshot::stat::FileKind;

/// It, as it was.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Treeless {
    #[serde(default)]
    empty: Vec<Value>,
    /// Of files and folders.
    modes: Vec<(Value, u32)>,
}

impl Treeless {
    /// That of the shadow at `root`, which has files at `paths` and these empty folders.
    pub(super) fn of<'p>(root: &Root, mut paths: Vec<&'p BStr>, empty: &'p [BString]) -> Self {
        paths.extend(empty.iter().map(|path| path.as_bstr()));
        let json = |path: &BString| path_json(&path.to_path_lossy());
        Treeless {
            empty: empty.iter().map(json).collect(),
            modes: odd_modes(root, &paths)
                .iter()
                .map(|(path, mode)| (json(path), *mode))
                .collect(),
        }
    }

    /// Makes the folders where nothing else has their place, and sets the bits: of what
    /// is below a folder first.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(super) fn give_back(&self, root: &Root) -> Result<()> {
        for path in &self.empty {
            let mut path = path_of_json(path).context("a record has no path")?;
            path.push(b'/');
            match root.make_parent(path.as_bstr()) {
                Err(e) if !is_absent(e) => {
                    return Err(e).with_context(|| format!("cannot make the folder '{path}'"));
                }
                _ => {}
            }
        }
        for (path, mode) in self.modes.iter().rev() {
            let path = path_of_json(path).context("a record has no path")?;
            set_mode(root, path.as_bstr(), *mode)
                .with_context(|| format!("cannot set the mode of '{path}'"))?;
        }
        Ok(())
    }
}

/// Not through a link: it may be one of ours, into the checkout.
fn set_mode(root: &Root, path: &BStr, mode: u32) -> Result<(), Errno> {
    let is_there = root
        .stat(path)?
        .is_some_and(|found| found.kind != FileKind::Link);
    if !is_there {
        return Ok(());
    }
    let (folder, name) = root.parent(path)?;
    let mode = Mode::from_raw_mode(mode as _);
    rustix::fs::chmodat(folder, name.as_bytes(), mode, AtFlags::empty())
}

/// Permission bits other than those that git gives a file or folder by itself, which
/// are those that the user's umask leaves: git's own file in the worktree has them.
fn odd_modes(root: &Root, paths: &[&BStr]) -> Vec<(BString, u32)> {
    let bits = |found: &Metadata| found.permissions().mode() & 0o7777;
    let pointer = root.join(BStr::new(".git")).symlink_metadata();
    let plain = pointer.as_ref().map_or(0o644, bits) & 0o666;
    let executable = plain | (plain & 0o444) >> 2;
    let mut all: BTreeSet<BString> = BTreeSet::from([BString::from(".")]);
    for path in paths {
        // Up to the first folder that another path has named already.
        let mut path = path.to_owned();
        while let Some(at) = path.rfind_byte(b'/') {
            path = path[..at].as_bstr();
            if !all.insert(path.to_owned()) {
                break;
            }
        }
    }
    all.extend(paths.iter().map(|path| BString::from(*path)));
    all.into_iter()
        .filter_map(|path| {
            let found = root.join(path.as_bstr()).symlink_metadata().ok()?;
            let bits = bits(&found);
            let is_odd = match found.is_dir() {
                true => bits != executable,
                false => found.is_file() && bits != plain && bits != executable,
            };
            is_odd.then_some((path, bits))
        })
        .collect()
}
