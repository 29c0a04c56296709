//! A folder that held nothing but tracked names is not read again while its times
//! stand. Whatever comes, goes or changes its kind in one is seen all the same.

use std::fs;
use std::os::unix::fs::MetadataExt;

use git_harness::snapshot::cache::Cache;

use crate::checkpoint_matrix::{base, check};
use crate::common::{Repo, not_here};

/// How many folders the last save has found worth remembering.
fn remembered(repo: &Repo) -> usize {
    let bytes = fs::read(repo.git_dir().join("harness/cache")).unwrap();
    Cache::decode(&bytes, gix::hash::Kind::Sha1)
        .unwrap()
        .listed
        .len()
}

/// Turns the file system's clock past the last change of the folder `path`.
fn let_the_clock_tick(repo: &Repo, path: &str) {
    let probe = repo.scene().join("probe");
    let time = |m: fs::Metadata| (m.ctime(), m.ctime_nsec());
    let changed = time(repo.path(path).metadata().unwrap());
    loop {
        fs::write(&probe, "x").unwrap();
        if time(probe.metadata().unwrap()) > changed {
            return;
        }
    }
}

/// `dir` and `dir/sub`, remembered. `None` on a file system that is not trusted so far.
fn settled() -> Option<Repo> {
    let repo = base();
    for path in ["dir", "dir/sub"] {
        let_the_clock_tick(&repo, path);
    }
    repo.save("");
    let system = repo.sh("stat -f -c %T .").ok().out();
    let trusted = ["ext2/ext3", "xfs", "btrfs", "tmpfs", "f2fs", "overlayfs"];
    if !trusted.contains(&system.trim()) {
        not_here("a file system of Linux's own");
        return None;
    }
    assert_eq!(remembered(&repo), 2, "{system}");
    Some(repo)
}

#[test]
fn whatever_happens_in_a_remembered_folder_is_seen() {
    for script in [
        "echo x >dir/new",
        "echo x >dir/sub/new",
        "rm dir/c",
        "mv dir/c dir/e",
        "mv dir/c t; mv dir/sub/d dir/c; mv t dir/sub/d",
        "echo x >t; mv t dir/c",
        "git rm -q --cached dir/c",
        "git rm -q --cached dir/c; echo c >.git/info/exclude",
        "git rm -rq --cached dir/sub",
        "rm dir/c; mkdir dir/c; echo x >dir/c/x",
        "rm -r dir/sub; echo x >dir/sub",
        "mv dir/sub elsewhere; ln -s ../elsewhere dir/sub",
        "cp -a dir copy; mv dir old; mv copy dir; echo x >dir/new; rm -r old",
        // mtime can be set back; ctime cannot.
        "touch -r dir t; echo x >dir/new; touch -r t dir; rm t",
        "touch -r dir/sub t; rm dir/sub/d; touch -r t dir/sub; rm t",
        "git mv dir/c dir/e; git commit -qm moved; mv dir/e dir/c",
        "git checkout -q --orphan other; git rm -rqf dir; mkdir dir; echo x >dir/c",
    ] {
        let Some(repo) = settled() else { return };
        repo.sh(script).ok();
        check(&repo);
    }
}

#[test]
fn a_folder_with_more_than_tracked_names_is_read_each_time() {
    let Some(repo) = settled() else { return };
    repo.write(".gitignore", "*.o\n");
    repo.write("dir/x.o", "o\n");
    repo.write("dir/sub/new", "n\n");
    let_the_clock_tick(&repo, "dir");
    let_the_clock_tick(&repo, "dir/sub");
    check(&repo);
    repo.save("");
    assert_eq!(remembered(&repo), 0);
    // Nothing in the folder has changed; what its names mean has.
    repo.remove(".gitignore");
    check(&repo);
}

#[test]
fn a_file_system_mounted_over_a_remembered_folder_is_seen() {
    let Some(repo) = settled() else { return };
    let Some(mount) = repo.mount("1m") else {
        return;
    };
    let script = format!(
        "cp dir/c '{0}' && mkdir '{0}/sub' && cp dir/sub/d '{0}/sub' && echo x >'{0}/new' &&
         mount --bind '{0}' dir",
        mount.path.display()
    );
    repo.sh(&script).ok();
    let tree = repo.save("")["tree"].as_str().unwrap().to_owned();
    let oracle = repo.oracle_tree();
    repo.sh("umount dir").ok();
    assert_eq!(tree, oracle);
}
