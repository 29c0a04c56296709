//! How undo touches the disk: only what differs, by rename, never through a
//! link, never what was not captured.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::checkpoint_matrix::nest;
use crate::common::{Repo, paths, texts};

fn small() -> Repo {
    Repo::with(&[
        ("a", "1\n"),
        ("b", "2\n"),
        ("dir/c", "3\n"),
        ("dir/d", "4\n"),
    ])
}

#[test]
fn unchanged_files_keep_inode_and_time() {
    let repo = small();
    repo.write("untracked", "u\n");
    repo.agent_writes("a", "changed\n");
    let stamps = |repo: &Repo| ["b", "dir/c", "dir/d", "untracked"].map(|path| repo.stamp(path));
    let before = stamps(&repo);
    repo.git("checkpoint undo").ok();
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(stamps(&repo), before);
    repo.git("checkpoint redo").ok();
    assert_eq!(stamps(&repo), before);
}

#[test]
fn a_hard_link_elsewhere_is_not_written_through() {
    let repo = small();
    repo.save("");
    repo.sh("ln a ../elsewhere && printf 'changed\\n' >a").ok();
    repo.git("checkpoint undo -y").ok();
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("../elsewhere"), "changed\n");
}

#[test]
fn permission_bits_stay_and_the_executable_bit_comes_back() {
    let repo = small();
    repo.chmod("a", 0o640);
    repo.chmod("b", 0o700);
    repo.save("");
    repo.write("a", "changed\n");
    repo.chmod("b", 0o600);
    repo.git("checkpoint undo -y").ok();
    assert_eq!(repo.mode("a"), 0o640);
    assert_eq!(repo.mode("b") & 0o700, 0o700);
    repo.chmod("a", 0o750);
    repo.git("checkpoint undo 1 -y").ok();
    assert_eq!(repo.mode("a") & 0o111, 0);
}

/// Saves, lets `change` happen, undoes: the disk is as it was; then redo: as it was changed.
#[track_caller]
fn goes_back(prepare: fn(&Repo), change: fn(&Repo)) {
    let repo = small();
    prepare(&repo);
    let start = repo.disk();
    repo.save("");
    change(&repo);
    let changed = repo.disk();
    let user = repo.fingerprint();
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.disk(), start);
    repo.git("checkpoint redo --others=revert").ok();
    assert_eq!(repo.disk(), changed);
    assert_eq!(repo.fingerprint(), user);
    repo.fsck();
}

macro_rules! swaps {
    ($($name:ident: $prepare:expr, $change:expr;)*) => {
        $(
            #[test]
            fn $name() {
                goes_back($prepare, $change);
            }
        )*
    };
}

swaps! {
    file_to_folder: |_| {}, |r| {
        r.remove("a");
        r.write("a/x/y", "new\n");
    };
    folder_to_file: |_| {}, |r| {
        r.remove("dir");
        r.write("dir", "file\n");
    };
    file_to_link: |_| {}, |r| {
        r.remove("a");
        r.link("b", "a");
    };
    link_to_file: |r| r.link("a", "l"), |r| {
        r.remove("l");
        r.write("l", "file\n");
    };
    link_to_another: |r| r.link("a", "l"), |r| {
        r.remove("l");
        r.link("b", "l");
    };
    link_to_folder: |r| r.link("dir", "l"), |r| {
        r.remove("l");
        r.write("l/x", "x\n");
    };
    folder_to_link: |_| {}, |r| {
        r.rename("dir", "moved");
        r.link("moved", "dir");
    };
    names_swapped: |_| {}, |r| {
        r.rename("a", "t");
        r.rename("b", "a");
        r.rename("t", "b");
    };
    everything_moved_down: |_| {}, |r| {
        r.sh("mkdir t && mv a b dir t && mkdir dir && mv t dir/a").ok();
    };
    made_executable: |_| {}, |r| r.chmod("a", 0o755);
    deleted: |_| {}, |r| r.remove("dir");
    created: |_| {}, |r| r.write("new/deep/file", "n\n");
    odd_names: |r| {
        r.write(OsStr::from_bytes(b"\xff"), "1\n");
        r.write("new\nline", "1\n");
        r.write(" ", "1\n");
    }, |r| {
        r.write(OsStr::from_bytes(b"\xff"), "2\n");
        r.remove("new\nline");
        r.remove(" ");
        r.write(OsStr::from_bytes(b"\xfe"), "2\n");
        r.write("-n", "2\n");
    };
    case_changed: |_| {}, |r| r.rename("a", "A");
    a_large_file: |r| r.write("large", "x".repeat(3_000_000)), |r| r.write("large", "y".repeat(3_000_000));
    emptied_file: |_| {}, |r| r.write("a", "");
    empty_file_filled: |r| r.write("e", ""), |r| r.write("e", "x");
    untracked_removed: |r| r.write("u/v", "w\n"), |r| r.remove("u");
}

#[test]
fn emptied_folders_go_but_never_the_callers_own() {
    let repo = small();
    repo.save("");
    repo.write("new/deep/file", "n\n");
    repo.write("other/deep/file", "n\n");
    repo.in_dir("new/deep")
        .git("checkpoint undo --others=revert")
        .ok();
    assert!(!repo.exists("other"));
    assert!(repo.exists("new/deep") && !repo.exists("new/deep/file"));
}

#[test]
fn a_folder_that_was_empty_before_stays() {
    let repo = small();
    repo.mkdir("empty");
    repo.agent_writes("a", "changed\n");
    repo.git("checkpoint undo").ok();
    assert!(repo.exists("empty"));
}

#[test]
fn nothing_is_written_through_a_link_that_replaced_a_folder() {
    let repo = small();
    repo.save("");
    repo.sh("rm -r dir && mkdir ../outside && echo theirs >../outside/c && ln -s ../outside dir")
        .ok();
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.read("dir/c"), "3\n");
    assert!(!repo.path("dir").symlink_metadata().unwrap().is_symlink());
    assert_eq!(repo.read("../outside/c"), "theirs\n");
    assert!(!repo.exists("../outside/d"));
}

#[test]
fn a_link_to_a_folder_outside_is_not_emptied() {
    let repo = small();
    repo.save("");
    repo.mkdir("../outside");
    repo.write("../outside/precious", "p\n");
    repo.link("../outside", "way-out");
    repo.git("checkpoint undo --others=revert").ok();
    assert!(!repo.exists("way-out"));
    assert_eq!(repo.read("../outside/precious"), "p\n");
}

#[test]
fn an_ignore_line_added_meanwhile_costs_no_file() {
    let repo = small();
    repo.save("");
    repo.agent_writes(".gitignore", "cache/\n");
    repo.write("cache/result", "a day of work\n");
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(texts(&told["deleted"]), [".gitignore"]);
    assert_eq!(paths(&told["left_alone"]), ["cache/result"]);
    assert!(!repo.exists(".gitignore"));
    assert_eq!(repo.read("cache/result"), "a day of work\n");
}

#[test]
fn an_ignore_line_dropped_meanwhile_costs_no_file() {
    let repo = small();
    repo.write(".gitignore", "secret\ncache/\n");
    repo.commit_all("ignore");
    repo.write("secret", "key\n");
    repo.write("cache/result", "a day of work\n");
    repo.save("");
    repo.agent_writes(".gitignore", "");
    repo.agent_writes("a", "changed\n");
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(
        told["left_alone"],
        serde_json::json!([
            {"path": "cache/result", "reason": "ignored when the checkpoint was taken"},
            {"path": "secret", "reason": "ignored when the checkpoint was taken"},
        ])
    );
    assert_eq!(texts(&told["written"]), [".gitignore", "a"]);
    assert_eq!(texts(&told["deleted"]), [""; 0]);
    assert_eq!(repo.read(".gitignore"), "secret\ncache/\n");
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("secret"), "key\n");
    assert_eq!(repo.read("cache/result"), "a day of work\n");
}

#[test]
fn a_nested_ignore_file_counts_in_both_trees() {
    let repo = small();
    repo.write("dir/.gitignore", "/local\n");
    repo.commit_all("ignore");
    repo.write("dir/local", "mine\n");
    repo.save("");
    repo.remove("dir/.gitignore");
    let told = repo.undo("--others=revert").ok().json();
    assert_eq!(
        told["left_alone"],
        serde_json::json!([
            {"path": "dir/local", "reason": "ignored when the checkpoint was taken"},
        ])
    );
    assert_eq!(repo.read("dir/local"), "mine\n");
    assert_eq!(repo.read("dir/.gitignore"), "/local\n");
}

#[test]
fn an_ignored_file_is_not_removed_to_make_room() {
    let repo = small();
    repo.write(".gitignore", "*.o\n");
    repo.commit_all("ignore");
    repo.save("");
    repo.remove("a");
    repo.write("a/build.o", "not captured\n");
    let told = repo.undo("--others=revert").fails(1).json();
    assert_eq!(repo.read("a/build.o"), "not captured\n");
    assert_eq!(paths(&told["left_alone"]), ["a"], "{told}");
}

#[test]
fn a_folder_with_an_ignored_file_in_it_stays() {
    let repo = small();
    repo.write(".gitignore", "*.o\n");
    repo.commit_all("ignore");
    repo.save("");
    repo.write("new/x.c", "made\n");
    repo.write("new/x.o", "ignored\n");
    repo.git("checkpoint undo --others=revert").ok();
    assert!(!repo.exists("new/x.c"));
    assert_eq!(repo.read("new/x.o"), "ignored\n");
}

#[test]
fn a_nested_repository_made_meanwhile_is_not_deleted() {
    let repo = small();
    repo.agent_writes("a", "changed\n");
    nest(&repo, "inner");
    repo.write("inner/uncommitted", "u\n");
    let told = repo.undo("--to 1 --others=revert").fails(1).json();
    assert_eq!(
        told["left_alone"],
        serde_json::json!([{"path": "inner", "reason": "a repository of its own"}])
    );
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("inner/file"), "inside\n");
    assert_eq!(repo.read("inner/uncommitted"), "u\n");
    assert!(repo.exists("inner/.git/HEAD"));
}

#[test]
fn a_nested_repository_that_was_there_is_left_alone() {
    let repo = small();
    nest(&repo, "inner");
    repo.agent_writes("a", "changed\n");
    repo.write("inner/file", "edited\n");
    // With the commit of then checked out it is as it was, dirty or not.
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(paths(&told["left_alone"]), [""; 0]);
    repo.write("a", "changed\n");
    repo.sh("git -C inner commit -q -a -m more").ok();
    let told = repo.undo("--to 1 --others=revert").fails(1).json();
    assert_eq!(
        told["left_alone"],
        serde_json::json!([{"path": "inner", "reason": "a repository of its own"}])
    );
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("inner/file"), "edited\n");
}

#[test]
fn special_files_stay() {
    let repo = small();
    repo.save("");
    repo.write("a", "changed\n");
    repo.sh("mkfifo pipe && mkdir new && mkfifo new/pipe && git init -q hollow")
        .ok();
    repo.git("checkpoint undo --others=revert");
    assert_eq!(repo.read("a"), "1\n");
    assert!(repo.exists("pipe") && repo.exists("new/pipe") && repo.exists("hollow/.git"));
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_removed() {
    let repo = small();
    repo.save("");
    repo.sh("rm a && mkfifo a").ok();
    repo.write("b", "changed\n");
    let told = repo.undo("--others=revert").fails(1).json();
    assert_eq!(paths(&told["left_alone"]), ["a"]);
    assert_eq!(repo.read("b"), "2\n");
    repo.sh("test -p a").ok();
}

#[test]
fn a_file_above_the_limit_is_neither_deleted_nor_lost() {
    let repo = small();
    repo.git("config checkpoint.maxFileSize 10").ok();
    repo.write("big", "more than ten bytes\n");
    repo.agent_writes("a", "changed\n");
    repo.write("big", "changed, still more than ten bytes\n");
    repo.git("checkpoint undo --to 1 --others=revert");
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("big"), "changed, still more than ten bytes\n");
}

#[test]
fn an_unreadable_file_is_left_alone() {
    let Some(repo) = small().for_whom_modes_count() else {
        return;
    };
    repo.agent_writes("a", "changed\n");
    repo.write("closed", "unreadable\n");
    repo.chmod("closed", 0);
    repo.git("checkpoint undo --to 1 --others=revert");
    assert_eq!(repo.read("a"), "1\n");
    repo.chmod("closed", 0o600);
    assert_eq!(repo.read("closed"), "unreadable\n");
}

#[test]
fn a_folder_that_cannot_be_written_is_listed_and_costs_no_other() {
    let Some(repo) = small().for_whom_modes_count() else {
        return;
    };
    repo.save("");
    repo.write("a", "changed\n");
    repo.write("dir/c", "changed\n");
    repo.chmod("dir", 0o555);
    let told = repo.undo("--others=revert").fails(1);
    repo.chmod("dir", 0o755);
    assert_eq!(paths(&told.json()["left_alone"]), ["dir/c"], "{told:?}");
    assert_eq!(repo.read("dir/c"), "changed\n");
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn nothing_of_ours_stays_behind() {
    let repo = small();
    repo.agent_writes("a", "changed\n");
    repo.agent_writes("new/file", "n\n");
    repo.git("checkpoint undo --to 1").ok();
    let stage = repo.git_dir().join("harness/stage");
    let left = std::fs::read_dir(&stage).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{}", stage.display());
    repo.sh("test -z \"$(find . -name '.git-harness-*')\"").ok();
    repo.git("status --porcelain").ok().prints("");
}

#[test]
fn sparse_holes_stay_holes() {
    let repo = small();
    repo.git("sparse-checkout set --no-cone /a /b").ok();
    assert!(!repo.exists("dir"));
    repo.agent_writes("a", "changed\n");
    repo.git("checkpoint undo").ok();
    assert_eq!(repo.read("a"), "1\n");
    assert!(!repo.exists("dir"));
}

#[test]
fn shows_what_was_written_in_gits_order() {
    let repo = small();
    repo.save("");
    repo.write("dir/c", "x\n");
    repo.write("a", "x\n");
    repo.remove("b");
    repo.write("z", "x\n");
    let told = repo.undo("--others=revert").ok().json();
    assert_eq!(texts(&told["written"]), ["a", "b", "dir/c"]);
    assert_eq!(texts(&told["deleted"]), ["z"]);
}

#[test]
fn empty_folders_do_not_stand_in_the_way_of_a_file() {
    let repo = Repo::with(&[("a", "a file\n")]);
    repo.save("");
    repo.remove("a");
    repo.write("a/x", "made since\n");
    repo.mkdir("a/empty/deeper");
    repo.git("checkpoint undo --to 1 --others=revert").ok();
    assert_eq!(repo.read("a"), "a file\n");
}
