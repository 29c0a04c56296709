//! The floor: what any program must do to see a working tree. Every tracked
//! entry is looked at, every folder is read, on all cores, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rayon::prelude::*;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, statat};

/// Walks the paths in `list` (NUL after each), relative to the current folder.
pub(crate) fn walk(list: &Path) {
    let bytes = fs::read(list).unwrap();
    let mut folders: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for path in bytes.split(|b| *b == 0).filter(|path| !path.is_empty()) {
        let (folder, name) = match path.iter().rposition(|b| *b == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b"."[..], path),
        };
        folders.entry(folder).or_default().push(name);
    }
    let folders: Vec<_> = folders.into_iter().collect();
    let seen: i64 = folders
        .par_iter()
        .map(|(folder, names)| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = openat(CWD, *folder, flags, Mode::empty()).unwrap();
            let sizes: i64 = names
                .iter()
                .map(|name| {
                    statat(&folder, *name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |s| s.st_size)
                })
                .sum();
            let entries = Dir::read_from(&folder).unwrap().count();
            sizes + i64::try_from(entries).unwrap()
        })
        .sum();
    assert!(seen > 0);
}
