//! Our loose objects, into a pack when they are many.

use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Repo;
use crate::lane::upkeep::packs;
use crate::state::crash;

/// git's own gc begins at 6,700 (`gc.auto`); ours shall not be what makes it so many.
/// And `git fetch` reads the commit of every ref: a loose one takes it several times
/// as long as one in a pack.
const MANY: usize = 256;

/// Packs the loose objects that our refs reach, when there are more than
/// [`MANY`], and removes the loose copies of what is then in the pack.
///
/// # Errors
/// When git cannot pack them.
pub(super) fn pack(repo: &Repo) -> Result<()> {
    let objects = repo.objects_dir();
    if count(&objects) <= MANY {
        return Ok(());
    }
    // Without walking: the parent of an index state is the user's history.
    let listed = repo
        .git(["rev-list", "--objects", "--no-walk=unsorted", "--unpacked"])
        .args(["--missing=allow-any", "--glob=refs/harness"])
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdout()?;
    let ids: Vec<ObjectId> = listed
        .lines()
        .filter_map(|line| ObjectId::from_hex(line.split(|b| *b == b' ').next()?).ok())
        .collect();
    if ids.len() <= MANY {
        return Ok(());
    }
    let name = packs::write(repo, &[], listed)?;
    packs::note(repo, &name)?;
    crash::point();
    let packed = packs::index(repo, &name)?;
    for id in ids {
        if packed.lookup(id).is_some() {
            let hex = id.to_hex().to_string();
            let _ = fs::remove_file(objects.join(&hex[..2]).join(&hex[2..]));
        }
    }
    Ok(())
}

/// How many loose objects there are, ours and others.
fn count(objects: &Path) -> usize {
    let folders = fs::read_dir(objects).into_iter().flatten().flatten();
    folders
        .filter(|folder| folder.file_name().len() == 2)
        .map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count))
        .sum()
}
