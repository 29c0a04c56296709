//! The floor: what any program must do to see a working tree. Every tracked
//! entry is looked at, every folder is read, on all cores, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

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
    let next = AtomicUsize::new(0);
    let look = || {
        let mut seen = 0;
        while let Some((folder, names)) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            seen += look_at(folder, names);
        }
        seen
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let seen: usize = thread::scope(|scope| {
        let started: Vec<_> = (1..threads).map(|_| scope.spawn(look)).collect();
        look()
            + started
                .into_iter()
                .map(|t| t.join().unwrap())
                .sum::<usize>()
    });
    assert!(seen > 0);
}

/// Looks at the files `names` of `folder`, and reads the folder.
fn look_at(folder: &[u8], names: &[&[u8]]) -> usize {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty()).unwrap();
    let there = names
        .iter()
        .filter(|name| statat(&folder, **name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
        .count();
    there + Dir::read_from(&folder).unwrap().count()
}
