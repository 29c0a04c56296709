//! What a save remembers of the one before: folders that held nothing but tracked
//! names and whose times stand, and the tree that many changes gave. Whatever comes,
//! goes or changes is seen all the same.

use std::fs;
use std::os::unix::fs::MetadataExt;

use git_harness::snapshot::cache::Cache;

use crate::checkpoint_matrix::{base, check, comes_back};
use crate::common::{Repo, not_here};

fn cache(repo: &Repo) -> Cache {
    let bytes = fs::read(repo.git_dir().join("harness/cache")).unwrap();
    Cache::decode(&bytes, gix::hash::Kind::Sha1).unwrap()
}

/// How many folders the last save has found worth remembering.
fn remembered(repo: &Repo) -> usize {
    cache(repo).listed.len()
}

/// Turns the file system's clock past the last change of `path`.
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
fn what_may_have_changed_in_the_same_tick_is_not_remembered() {
    let Some(repo) = settled() else { return };
    repo.sh("touch -d tomorrow dir/sub").ok();
    repo.save("");
    assert_eq!(remembered(&repo), 1);
    check(&repo);
    let repo = many_modified();
    repo.sh("touch -d tomorrow .git/index").ok();
    repo.save("");
    assert_eq!(cache(&repo).built, None);
    // git itself would miss the edits now: it compares seconds, and trusts such an index.
    comes_back(&repo);
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

/// Many modified files, saved so often that their tree is remembered.
fn many_modified() -> Repo {
    let repo = base();
    for number in 0..150 {
        repo.write(format!("many/{}/{number}", number % 7), "1\n");
    }
    repo.commit_all("many");
    for number in 0..150 {
        repo.write(format!("many/{}/{number}", number % 7), "2\n");
    }
    for path in [".git/index", "many/0/0", "many/2/149"] {
        let_the_clock_tick(&repo, path);
    }
    repo.save("");
    repo.save("");
    assert!(cache(&repo).built.is_some());
    repo
}

#[test]
fn the_tree_of_many_changes_is_another_once_anything_else_is() {
    for script in [
        "true",
        "echo 3 >many/0/0",
        "rm many/1/1",
        "echo x >new",
        "git checkout -q -- many",
        "chmod +x many/2/2",
        // The changes to the index are the same, and the index another.
        "git rm -q --cached a; echo a >.git/info/exclude",
        "git update-index --cacheinfo 100755,$(git rev-parse :a),run.sh; chmod +x run.sh",
        "git mv a many/a",
    ] {
        let repo = many_modified();
        repo.sh(script).ok();
        check(&repo);
    }
}

#[test]
fn a_remembered_tree_that_is_gone_is_built_again() {
    let repo = many_modified();
    repo.sh(
        "git for-each-ref --format='delete %(refname)' refs/harness | git update-ref --stdin &&
         git gc -q --prune=now",
    )
    .ok();
    check(&repo);
}
