//! Where a checkpoint is not the tree that `git add -A` makes, on purpose: git
//! would lose an edit, a byte, or everything.

use std::os::unix::ffi::OsStrExt;

use crate::checkpoint_matrix::{base, comes_back, nest, same_tree_as_git};
use crate::common::{Repo, paths};

/// The tree of `repo` with git's flags `flag` taken off `path`: what git would
/// store, did it look.
#[track_caller]
fn tree_without_flag(repo: &Repo, flag: &str, path: &str) -> String {
    let copy = repo.duplicate();
    copy.git(&format!("update-index --no-{flag} {path}")).ok();
    copy.oracle_tree()
}

#[test]
fn an_edit_under_assume_unchanged_is_captured() {
    let repo = base();
    repo.git("update-index --assume-unchanged a").ok();
    repo.write("a", "edited all the same\n");
    let seen = tree_without_flag(&repo, "assume-unchanged", "a");
    assert_ne!(repo.oracle_tree(), seen, "git looks away");
    assert_eq!(repo.save("")["tree"], seen.as_str());
    comes_back(&repo);
}

#[test]
fn an_edit_under_skip_worktree_is_captured() {
    let repo = base();
    repo.git("update-index --skip-worktree a").ok();
    repo.write("a", "edited all the same\n");
    let seen = tree_without_flag(&repo, "skip-worktree", "a");
    assert_eq!(repo.save("")["tree"], seen.as_str());
    comes_back(&repo);
}

#[test]
fn an_edit_under_ignore_stat_is_captured() {
    let repo = Repo::new();
    repo.git("config core.ignoreStat true").ok();
    repo.write("a", "1\n");
    repo.write("b", "1\n");
    repo.commit_all("base");
    repo.write("a", "2\n");
    let seen = tree_without_flag(&repo, "assume-unchanged", "a b");
    assert_eq!(repo.save("")["tree"], seen.as_str());
}

#[test]
fn a_file_in_a_sparse_hole_is_captured_when_it_is_there() {
    let repo = base();
    repo.git("sparse-checkout set --cone dir/sub").ok();
    repo.mkdir("far");
    repo.write("far/x", "new, outside the cone\n");
    let saved = repo.save("");
    let listed = repo.run([
        "ls-tree",
        "-r",
        "--name-only",
        saved["tree"].as_str().unwrap(),
    ]);
    let listed = listed.ok().lines();
    assert!(listed.contains(&"far/x".to_owned()), "{listed:?}");
    assert!(listed.contains(&"dir/sub/d".to_owned()), "{listed:?}");
}

#[test]
fn an_edit_with_its_time_put_back_is_captured() {
    let repo = base();
    repo.git("config core.trustctime false").ok();
    repo.sh("touch -d '2001-02-03 04:05:06' a && git add a && touch -r a stamp")
        .ok();
    // The index is younger than the file: git trusts size and time.
    repo.write("a", "9\n");
    repo.sh("touch -r stamp a && rm stamp").ok();
    let saved = repo.save("");
    let name = format!("{}:a", saved["tree"].as_str().unwrap());
    assert_eq!(repo.run(["cat-file", "blob", &name]).ok().out(), "9");
}

/// Git's form of a file that does not come back with the same bytes: the file itself is kept.
#[track_caller]
fn kept_raw(repo: &Repo, path: &str) {
    let saved = repo.save("");
    assert_eq!(crate::common::texts(&saved["raw"]), [path], "{saved}");
    let name = format!("{}:{path}", saved["tree"].as_str().unwrap());
    let stored = repo.run(["cat-file", "blob", &name]).ok().stdout;
    assert_eq!(stored, repo.bytes(path));
    assert_eq!(repo.save("")["tree"], saved["tree"], "the second time");
    comes_back(repo);
}

#[test]
fn mixed_line_ends_come_back_mixed() {
    let repo = base();
    repo.git("config core.eol lf").ok();
    repo.write(".gitattributes", "* text=auto\n");
    repo.write("mixed", "1\r\n2\n");
    kept_raw(&repo, "mixed");
}

#[test]
fn mixed_line_ends_come_back_mixed_also_when_nothing_changed() {
    let repo = base();
    repo.write(".gitattributes", "*.txt text eol=lf\n");
    repo.write("mixed.txt", "1\r\n2\n");
    repo.git("add -A").ok();
    repo.git("commit -q -m mixed").ok();
    repo.git("status").ok();
    kept_raw(&repo, "mixed.txt");
}

#[test]
fn lf_under_autocrlf_comes_back_as_lf() {
    let repo = Repo::new();
    repo.git("config core.autocrlf true").ok();
    repo.write("unix", "1\n2\n");
    kept_raw(&repo, "unix");
}

#[test]
fn a_filter_that_loses_bytes_is_not_trusted() {
    let repo = base();
    repo.write(".gitattributes", "*.s filter=lossy\n");
    repo.run(["config", "filter.lossy.clean", "sed s/secret/xxx/"])
        .ok();
    repo.run(["config", "filter.lossy.smudge", "cat"]).ok();
    repo.write("x.s", "my secret\n");
    kept_raw(&repo, "x.s");
}

#[test]
fn an_old_identification_comes_back_as_it_was() {
    let repo = base();
    repo.write(".gitattributes", "id ident\n");
    repo.write("id", "$Id: from another system $\n");
    kept_raw(&repo, "id");
}

#[test]
fn an_identification_of_another_content_is_kept_as_it_is() {
    let repo = base();
    repo.write(".gitattributes", "id ident\n");
    repo.write("id", "$Id$\n");
    repo.commit_all("ident");
    repo.remove("id");
    repo.git("checkout -q id").ok();
    repo.append("id", "more\n");
    kept_raw(&repo, "id");
}

#[test]
fn a_changed_lfs_file_is_raw_and_its_filter_is_not_run() {
    let repo = base();
    repo.write(".gitattributes", "*.big filter=lfs -text\n");
    repo.run(["config", "filter.lfs.clean", "touch \"$HOME/lfs-ran\"; cat"])
        .ok();
    repo.run([
        "config",
        "filter.lfs.smudge",
        "touch \"$HOME/lfs-ran\"; cat",
    ])
    .ok();
    repo.write("x.big", "large\n");
    kept_raw(&repo, "x.big");
    assert!(!repo.home().join("lfs-ran").exists());
}

#[test]
fn a_tracked_file_that_became_a_pipe_costs_no_other() {
    let repo = base();
    repo.sh("rm a && mkfifo a").ok();
    repo.write("b", "changed\n");
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["a"]);
    let name = format!("{}:b", saved["tree"].as_str().unwrap());
    assert_eq!(repo.run(["cat-file", "blob", &name]).ok().out(), "changed");
}

#[test]
fn an_empty_nested_repository_costs_no_other() {
    let repo = base();
    repo.sh("git init -q hollow").ok();
    repo.write("new", "n\n");
    let copy = repo.duplicate();
    copy.remove("hollow");
    let saved = repo.save("");
    assert_eq!(saved["tree"], copy.oracle_tree().as_str());
    assert_eq!(paths(&saved["skipped"]), ["hollow/"]);
}

#[test]
fn a_dirty_nested_repository_is_said() {
    let repo = base();
    nest(&repo, "inner");
    repo.write("inner/file", "changed inside\n");
    same_tree_as_git(&repo);
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["inner"]);
}

#[test]
fn a_path_that_is_not_utf8_is_bytes_in_json() {
    let repo = base();
    repo.write(std::ffi::OsStr::from_bytes(b"latin-\xe9"), "1\n");
    repo.sh("mkfifo \"$(printf 'pipe-\\351')\"").ok();
    let saved = repo.save("");
    assert_eq!(saved["skipped"][0]["path"]["bytes"], "cGlwZS3p");
}
