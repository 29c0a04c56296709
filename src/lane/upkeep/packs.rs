//! Our small packs, into fewer and larger ones. Each is at least as large as all
//! smaller ones together, so that an object is copied a few times only, however
//! many saves follow.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use gix::bstr::ByteSlice;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::state::{crash, file};

/// As few as this are no burden.
const FEW: usize = 4;

/// Names of packs that we made, one a line. git's own gc may take them at any time.
fn list_path(repo: &Repo) -> PathBuf {
    repo.shared_state().join("packs")
}

/// Remembers that the pack `name` (`pack-<hash>`) is ours.
///
/// # Errors
/// When the list cannot be written.
pub fn note(repo: &Repo, name: &str) -> Result<()> {
    let path = list_path(repo);
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut list| list.write_all(format!("{name}\n").as_bytes()))
        .map_err(|e| file::explain(e, &path))
        .with_context(|| format!("cannot write '{}'", path.display()))
}

/// Writes the packs `from`, or the objects that `listed` names, as one pack; its name.
pub(super) fn write(repo: &Repo, from: &[&str], listed: Vec<u8>) -> Result<String> {
    let input = if from.is_empty() {
        listed
    } else {
        let lines = from.iter().map(|name| format!("{name}.pack\n"));
        lines.collect::<String>().into_bytes()
    };
    let mode = if from.is_empty() {
        "--delta-base-offset"
    } else {
        "--stdin-packs"
    };
    let printed = repo
        .git(["pack-objects", "-q", "--threads=1", mode])
        .arg(repo.objects_dir().join("pack/pack"))
        .env("GIT_NO_LAZY_FETCH", "1")
        .input(input)
        .stdout()?;
    Ok(format!("pack-{}", printed.trim_ascii().as_bstr()))
}

/// The index of the pack `name`.
pub(super) fn index(repo: &Repo, name: &str) -> Result<gix::odb::pack::index::File> {
    let path = repo.objects_dir().join(format!("pack/{name}.idx"));
    gix::odb::pack::index::File::at(&path, repo.gix().object_hash())
        .with_context(|| format!("cannot read '{}'", path.display()))
}

/// Rolls the small ones up.
///
/// # Errors
/// When git cannot write the new pack, or an old one stays.
pub(super) fn consolidate(repo: &Repo) -> Result<()> {
    let folder = repo.objects_dir().join("pack");
    let is_indexed_together = ["multi-pack-index", "multi-pack-index.d"]
        .iter()
        .any(|name| folder.join(name).exists());
    let Some(list) = file::read(&list_path(repo))? else {
        return Ok(());
    };
    let mut sizes: BTreeMap<String, u32> = BTreeMap::new();
    for line in list.lines() {
        let name = String::from_utf8_lossy(line).into_owned();
        if folder.join(format!("{name}.keep")).exists() {
            continue;
        }
        if let Ok(index) = index(repo, &name) {
            sizes.insert(name, index.num_objects());
        }
    }
    // A pack that such an index names must not go away under it: then the user's
    // own maintenance does this work.
    if sizes.len() <= FEW || is_indexed_together {
        return Ok(());
    }
    let mut ascending: Vec<(u32, String)> = sizes.into_iter().map(|(n, size)| (size, n)).collect();
    ascending.sort();
    let numbers: Vec<u64> = ascending.iter().map(|(size, _)| u64::from(*size)).collect();
    let small = rolled_up(&numbers);
    if small < 2 {
        return Ok(());
    }
    let from: Vec<&str> = ascending[..small].iter().map(|(_, n)| n.as_str()).collect();
    let new = write(repo, &from, Vec::new())?;
    note(repo, &new)?;
    crash::point();
    // Everything is in the new one: nothing is lost when one of these stays.
    let whole = index(repo, &new)?;
    for name in from {
        let is_kept = folder.join(format!("{name}.keep")).exists();
        let is_inside = index(repo, name)?
            .iter()
            .all(|entry| whole.lookup(entry.oid).is_some());
        if name != new && !is_kept && is_inside {
            // The index first: git finds packs by it.
            for extension in ["idx", "pack", "rev"] {
                file::remove(&folder.join(format!("{name}.{extension}")))?;
            }
        }
    }
    forget_gone(repo, &folder)
}

/// Rewrites the list when much of it is gone. A line that is added meanwhile is
/// lost; its pack is then git's alone to manage.
fn forget_gone(repo: &Repo, folder: &std::path::Path) -> Result<()> {
    let path = list_path(repo);
    let Some(list) = file::read(&path)? else {
        return Ok(());
    };
    let there: Vec<u8> = list
        .lines()
        .filter(|line| {
            let name = format!("{}.idx", line.as_bstr());
            fs::exists(folder.join(name)).unwrap_or(true)
        })
        .flat_map(|line| [line, b"\n"].concat())
        .collect();
    file::replace(&path, &there, repo.sharing(), false)
}

/// How many of the `ascending` sizes go into one, so that each that is left has at
/// least twice the size of all smaller ones together.
fn rolled_up(ascending: &[u64]) -> usize {
    let mut split = 0;
    for at in (1..ascending.len()).rev() {
        if ascending[at] < 2 * ascending[at - 1] {
            split = at + 1;
            break;
        }
    }
    let mut total: u64 = ascending[..split].iter().sum();
    while split > 0 && split < ascending.len() && ascending[split] < 2 * total {
        total += ascending[split];
        split += 1;
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_doubles() {
        assert_eq!(rolled_up(&[]), 0);
        assert_eq!(rolled_up(&[5]), 0);
        assert_eq!(rolled_up(&[5, 5]), 2);
        assert_eq!(rolled_up(&[1, 2, 4, 8]), 0);
        assert_eq!(rolled_up(&[15, 15, 15, 100]), 3);
        assert_eq!(rolled_up(&[15, 15, 15, 80]), 4);
    }

    #[test]
    fn many_equal_saves_leave_few_packs() {
        let mut packs: Vec<u64> = Vec::new();
        let mut copied = 0;
        for save in 1..=2_000 {
            packs.push(20);
            if save % 16 == 0 {
                packs.sort();
                let small = rolled_up(&packs);
                let new: u64 = packs.drain(..small).sum();
                copied += new;
                packs.push(new);
            }
        }
        assert!(packs.len() < 16 + 12, "{}", packs.len());
        assert!(copied < 2_000 * 20 * 9, "{copied}");
    }
}
