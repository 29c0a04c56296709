//! What no snapshot could take is still in the trash folder: it is moved back where
//! it has room. What is another file by now stays there, and is named.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix::bstr::{BString, ByteSlice};

use crate::git::quote::path_of_json;
use crate::shadow::removal::move_folder;
use crate::shadow::sweep;
use crate::shadow::task::shown;
use crate::shadow::trash::Place;
use crate::snapshot::root::{Root, bytes_of};

/// Moves back below `root` what is wanted of it, through no link.
pub(super) fn bring_back(
    place: &Place,
    root: &Root,
    skipped: &[(serde_json::Value, String)],
    warnings: &mut Vec<String>,
    is_wanted: impl Fn(&Path) -> bool,
) {
    let mut back = Back {
        from: place.tree(),
        to: root,
        skipped: skipped
            .iter()
            .filter_map(|(path, _)| path_of_json(path))
            .collect(),
        warnings,
    };
    for path in sweep::left(place) {
        let path = path.to_path_lossy();
        if is_wanted(&path) {
            back.one(&path);
        }
    }
    if place.temporary().exists() {
        back.warnings.push(format!(
            "what was in its temporary folder is in {}",
            shown(&place.temporary())
        ));
    }
}

struct Back<'b> {
    from: PathBuf,
    to: &'b Root,
    skipped: Vec<BString>,
    warnings: &'b mut Vec<String>,
}

impl Back<'_> {
    fn one(&mut self, path: &Path) {
        let inside = bytes_of(path);
        let (from, to) = (self.from.join(path), self.to.join(inside.as_bstr()));
        let Ok(old) = from.symlink_metadata() else {
            return;
        };
        if let Err(error) = self.to.make_parent(inside.as_bstr()) {
            self.stays(path, &from, &error);
            return;
        }
        if let Ok(now) = to.symlink_metadata() {
            if old.is_dir() && now.is_dir() {
                // A repository in a folder that the snapshot has files of.
                for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
                    self.one(&path.join(entry.file_name()));
                }
                let _ = fs::remove_dir(&from);
                return;
            }
            if is_same(&from, &old, &to, &now) {
                return;
            }
            // Of a file that could not be captured the tree has an older state, if any.
            let is_newer = self.skipped.contains(&bytes_of(path));
            if !(is_newer && now.is_file()) {
                self.warnings.push(format!(
                    "{} was changed after the snapshot: that state of it stays in {}",
                    shown(path),
                    shown(&from)
                ));
                return;
            }
        }
        if let Err(error) = moved(&from, &old, &to) {
            self.stays(path, &from, &format_args!("{error:#}"));
        }
    }

    fn stays(&mut self, path: &Path, from: &Path, why: &dyn std::fmt::Display) {
        let (path, from) = (shown(path), shown(from));
        self.warnings.push(format!("{path} stays in {from}: {why}"));
    }
}

/// A rename, or a copy where that is another disk.
fn moved(from: &Path, old: &fs::Metadata, to: &Path) -> crate::error::Result<()> {
    if old.is_dir() {
        return move_folder(from, to);
    }
    match fs::rename(from, to) {
        Err(e) if e.kind() == std::io::ErrorKind::CrossesDevices && old.is_file() => {
            fs::copy(from, to)?;
            fs::remove_file(from)?;
            Ok(())
        }
        outcome => Ok(outcome?),
    }
}

/// Whether both are the same file or link.
fn is_same(a: &Path, a_stat: &fs::Metadata, b: &Path, b_stat: &fs::Metadata) -> bool {
    if a_stat.is_symlink() && b_stat.is_symlink() {
        return fs::read_link(a).ok() == fs::read_link(b).ok();
    }
    let are_files = a_stat.is_file() && b_stat.is_file();
    are_files
        && a_stat.size() == b_stat.size()
        && matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}
