//! Limits, and places where a checkpoint cannot be taken: a clear refusal, and
//! nothing half-done.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use crate::common::{Repo, paths};

/// Whether this test may mount and give files away.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn limits_take_single_files_and_say_so() {
    let repo = Repo::with(&[("tracked", "1\n")]);
    repo.write("large", vec![b'x'; 3000]);
    repo.write("small", "small\n");
    repo.write("tracked", vec![b'y'; 5000]);
    repo.git("config checkpoint.maxFileSize 2k").ok();
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["large"]);
    // A tracked file is captured whatever its size.
    assert_eq!(
        repo.git("cat-file -s refs/harness/checkpoints/main/001:tracked")
            .ok()
            .out(),
        "5000"
    );
    repo.git("config checkpoint.maxFileSize 1m").ok();
    repo.git("config checkpoint.maxNew 2k").ok();
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["large"]);
    repo.git("config --unset checkpoint.maxNew").ok();
    assert!(paths(&repo.save("")["skipped"]).is_empty());
    // Not captured is not absent.
    repo.git("checkpoint undo 1 -y").ok();
    assert!(repo.exists("large"));
}

#[test]
fn a_home_or_a_whole_disk_is_refused_unless_a_limit_is_set() {
    let repo = Repo::with(&[("a", "1\n")]);
    let at_home = repo.env("HOME", repo.root());
    at_home
        .git("checkpoint save")
        .fails(128)
        .says("refusing to take a checkpoint of all of")
        .says("checkpoint.maxFiles");
    assert!(repo.checkpoints().is_empty());
    repo.git("config checkpoint.maxFiles 100").ok();
    at_home.git("checkpoint save").ok();
    repo.git("config checkpoint.maxFiles 1").ok();
    repo.write("b", "2\n");
    repo.git("checkpoint save")
        .fails(128)
        .says("2 files are more than checkpoint.maxFiles (1)");
    repo.git("config --unset checkpoint.maxFiles").ok();
    repo.env("GIT_DIR", repo.git_dir())
        .env("GIT_WORK_TREE", "/")
        .git("checkpoint save")
        .fails(128)
        .says("refusing to take a checkpoint of all of '/'");
    assert_eq!(repo.checkpoints().len(), 1);
}

#[test]
fn a_repository_that_cannot_be_written_says_so() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.save("");
    let Some(other) = repo.for_whom_modes_count() else {
        return;
    };
    repo.write("a", "2\n");
    let set = |mode: u32| {
        for folder in [
            ".git/objects",
            ".git/refs/harness/checkpoints/main",
            ".git/harness",
        ] {
            repo.chmod(folder, mode);
        }
    };
    set(0o555);
    let refused = other.git("checkpoint save");
    let listed = other.git("checkpoint list");
    set(0o755);
    refused.fails(128).says("fatal: ").says("ermission denied");
    // What only reads still works.
    assert_eq!(listed.ok().lines().len(), 1);
    assert_eq!(repo.checkpoints().len(), 1);
    other.git("checkpoint save").ok().prints("002");
    repo.git("checkpoint fsck").ok();
}

#[test]
fn a_folder_of_somebody_else_names_chown() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.save("");
    let Some(other) = repo.for_whom_modes_count().filter(|_| is_root()) else {
        return;
    };
    let state = repo.git_dir().join("harness");
    for path in [state.join("clock"), state.clone()] {
        chown(path, Some(12345), Some(12345)).unwrap();
    }
    fs::set_permissions(&state, fs::Permissions::from_mode(0o500)).unwrap();
    repo.write("a", "2\n");
    other
        .git("checkpoint save")
        .fails(128)
        .says("belongs to user 12345")
        .says("hint: run 'sudo chown -R ");
    assert_eq!(repo.checkpoints().len(), 1);
}

#[test]
fn a_full_disk_leaves_no_checkpoint_and_no_litter() {
    let repo = Repo::outside();
    let Some(mount) = repo.mount("1m") else {
        return;
    };
    let full = repo.in_dir(&mount.path);
    full.git("init -q .").ok();
    full.write("a", "1\n");
    full.git("checkpoint save").ok().prints("001");
    // More than what is left, and it does not compress.
    let mut state = 1_u32;
    let noise: Vec<u8> = (0..700_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    full.write("noise", noise);
    full.git("checkpoint save")
        .fails(128)
        .says("No space left on device");
    let left = full
        .sh("find .git -name '*tmp*' -o -name '*.lock' -path '*refs*' -o -name 'git-harness-*'");
    let refs = full.git("for-each-ref --format='%(refname)'").ok().lines();
    full.remove("noise");
    full.git("checkpoint save").ok().prints("002");
    full.git("checkpoint fsck").ok();
    full.git("fsck --strict").ok();
    left.ok().prints("");
    assert_eq!(refs.len(), 2, "one checkpoint and its index state");
}

#[test]
fn a_lock_of_gits_is_no_obstacle_and_stays() {
    let repo = Repo::with(&[("a", "1\n")]);
    for lock in ["index.lock", "HEAD.lock", "packed-refs.lock"] {
        repo.write(format!(".git/{lock}"), "");
        repo.write("a", lock);
        repo.git("checkpoint save").ok();
        assert!(repo.exists(format!(".git/{lock}")));
    }
    assert_eq!(repo.checkpoints().len(), 3);
}

#[test]
fn what_we_keep_ourselves_is_in_no_checkpoint() {
    let repo = Repo::init("--separate-git-dir kept");
    repo.write("a", "1\n");
    repo.write("store/other", "o\n");
    for number in 1..4 {
        repo.write("a", format!("{number}\n"));
        repo.save("");
    }
    let names = repo.git("ls-tree -r --name-only refs/harness/checkpoints/main/003");
    assert_eq!(names.ok().lines(), ["a", "store/other"]);
    repo.git("checkpoint undo 1 -y").ok();
    assert_eq!(repo.read("a"), "1\n");
    repo.git("checkpoint redo").ok();
    repo.fsck();
}
