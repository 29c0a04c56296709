//! File systems that take `Readme` and `README` for one name (macOS as it comes;
//! ext4 with casefold). A snapshot has the names as they are listed; a name that
//! is found but not listed is another spelling, and never a second file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::os::fd::AsFd;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Flags;
use rustix::fs::Dir;
use rustix::io::Errno;

use crate::snapshot::difference::Difference;
use crate::snapshot::root::{Root, open_folder, stat_at};
use crate::snapshot::tree::Change;

/// Finds the one of some names that differs from another by case only (as git
/// compares with `core.ignoreCase`: ASCII letters).
pub(super) struct Spellings<'n>(HashMap<Vec<u8>, &'n [u8]>);

impl<'n> Spellings<'n> {
    pub(super) fn of(names: impl Iterator<Item = &'n [u8]>) -> Self {
        Spellings(
            names
                .map(|name| (name.to_ascii_lowercase(), name))
                .collect(),
        )
    }

    pub(super) fn other(&self, name: &[u8]) -> Option<&'n [u8]> {
        match self.0.is_empty() {
            true => None,
            false => self.0.get(&name.to_ascii_lowercase()).copied(),
        }
    }
}

/// Two spellings of a path below the root, as the index has it and as it is listed:
/// of the same length, different in their last component.
pub(super) type Recased = (BString, BString);

/// `path` as it is listed.
fn as_listed(recased: &[Recased], path: &BStr) -> BString {
    let mut listed = path.to_owned();
    for (indexed, on_disk) in recased {
        let below = path
            .strip_prefix(indexed.as_slice())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        if below {
            let last = last_component(indexed.as_bstr());
            listed[last.clone()].copy_from_slice(&on_disk[last]);
        }
    }
    listed
}

fn last_component(path: &BStr) -> Range<usize> {
    path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..path.len()
}

/// Gives `changes` (sorted by path) and the paths in `named` their listed names.
pub(super) fn rename<'p>(
    index: &gix::index::State,
    recased: &[Recased],
    changes: &mut Vec<Change>,
    named: impl Iterator<Item = &'p mut BString>,
) {
    if recased.is_empty() {
        return;
    }
    for path in named {
        *path = as_listed(recased, path.as_bstr());
    }
    let mut all: BTreeMap<BString, _> = std::mem::take(changes).into_iter().collect();
    let mut renamed: Vec<Change> = Vec::new();
    all.retain(|path, value| {
        let is_new = index.entry_by_path(path.as_bstr()).is_none();
        let listed = as_listed(recased, path.as_bstr());
        if is_new && listed != *path {
            renamed.push((listed, *value));
            return false;
        }
        true
    });
    for entry in index.entries() {
        let path = entry.path(index);
        let listed = as_listed(recased, path);
        let left_out = entry.flags.contains(Flags::SKIP_WORKTREE);
        if listed == path || left_out || entry.stage_raw() != 0 {
            continue;
        }
        let value = match all.insert(path.to_owned(), None) {
            Some(value) => value,
            None => Some((entry.mode, entry.id)),
        };
        renamed.push((listed, value));
    }
    all.extend(renamed);
    changes.extend(all);
}

/// How `path` is listed, if something is found there.
pub(super) fn listed_name(root: &Root, path: &BStr) -> Result<BString, Errno> {
    let mut listed = path.to_owned();
    let mut folder = rustix::io::fcntl_dupfd_cloexec(root.fd(), 0)?;
    let mut start = 0;
    for component in path.split(|b| *b == b'/') {
        let mut other = None;
        let mut is_listed = false;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            is_listed |= name == component;
            if name.eq_ignore_ascii_case(component) {
                other = Some(name.to_owned());
            }
        }
        let end = start + component.len();
        match other {
            Some(other) if !is_listed && stat_at(folder.as_fd(), component.as_bstr()).is_ok() => {
                listed[start..end].copy_from_slice(&other);
            }
            _ => {}
        }
        start = end + 1;
        if start < path.len() {
            folder = open_folder(folder.as_fd(), component)?;
        }
    }
    Ok(listed)
}

/// Makes one of two differences that are the same file in two spellings: under the
/// name it has now, with the one it had then.
pub(super) fn join(
    root: &Root,
    differences: Vec<Difference>,
) -> Result<Vec<(Difference, Option<BString>)>, Errno> {
    let letters = |d: &Difference| d.path.to_ascii_lowercase();
    let now_only = |d: &Difference| d.old.is_none() && d.new.is_some();
    let mut then: HashMap<Vec<u8>, usize> = HashMap::new();
    for (at, difference) in differences.iter().enumerate() {
        if difference.new.is_none() {
            then.insert(letters(difference), at);
        }
    }
    let mut of: HashMap<usize, usize> = HashMap::new();
    for (at, now) in differences.iter().enumerate().filter(|(_, d)| now_only(d)) {
        if let Some(other) = then.get(&letters(now))
            && listed_name(root, differences[*other].path.as_bstr()) == Ok(now.path.clone())
        {
            of.insert(at, *other);
        }
    }
    let taken: HashSet<usize> = of.values().copied().collect();
    let joined = differences.iter().enumerate().filter_map(|(at, one)| {
        let other = of.get(&at).map(|other| &differences[*other]);
        (!taken.contains(&at)).then(|| {
            let old = other.map_or(one.old, |other| other.old);
            let name = other.map(|other| other.path.clone());
            (Difference { old, ..one.clone() }, name)
        })
    });
    Ok(joined.collect())
}

/// Gives what is at `path` the spelling `name`, each component where it differs.
/// False when the file system keeps the other one.
pub(super) fn respell(root: &Root, path: &BStr, name: &BStr) -> Result<bool, Errno> {
    let now = listed_name(root, path)?;
    let mut folder = rustix::io::fcntl_dupfd_cloexec(root.fd(), 0)?;
    let mut components = now
        .split(|b| *b == b'/')
        .zip(name.split(|b| *b == b'/'))
        .peekable();
    while let Some((now, name)) = components.next() {
        if now != name {
            // In one step: under a third name it would be lost to who looks meanwhile.
            rustix::fs::renameat(&folder, now, &folder, name)?;
        }
        if components.peek().is_some() {
            folder = open_folder(folder.as_fd(), name)?;
        }
    }
    Ok(listed_name(root, path)? == name)
}

#[cfg(test)]
mod tests {
    use gix::bstr::{BStr, BString};

    use super::{Spellings, as_listed};

    #[test]
    fn a_name_is_found_in_its_other_spelling() {
        let names: [&[u8]; 2] = [b"Readme", b"gone"];
        let spellings = Spellings::of(names.into_iter());
        assert_eq!(spellings.other(b"README"), Some(b"Readme".as_slice()));
        assert_eq!(spellings.other(b"new"), None);
    }

    #[test]
    fn folders_and_files_are_spelled_one_by_one() {
        let recased = [
            (BString::from("Dir"), BString::from("dir")),
            (BString::from("Dir/Sub/A"), BString::from("Dir/Sub/a")),
        ];
        let listed = |path: &str| as_listed(&recased, BStr::new(path));
        assert_eq!(listed("Dir/Sub/A"), "dir/Sub/a");
        assert_eq!(listed("Dir/x"), "dir/x");
        assert_eq!(listed("Dirs/x"), "Dirs/x");
    }
}
