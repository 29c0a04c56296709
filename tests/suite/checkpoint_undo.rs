//! `git checkpoint undo` and `redo`: the way back and forth, HEAD, the plan,
//! what is printed.

use crate::common::{Repo, texts};

/// Three edits of an agent, each after a checkpoint.
fn edited() -> Repo {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n"), ("untouched", "u\n")]);
    repo.agent_writes("a", "1\n");
    repo.agent_writes("b", "1\n");
    repo.agent_writes("a", "2\n");
    repo
}

#[track_caller]
fn holds(repo: &Repo, a: &str, b: &str) {
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        (format!("{a}\n"), format!("{b}\n"))
    );
}

#[test]
fn walks_back_and_forth() {
    let repo = edited();
    holds(&repo, "2", "1");
    repo.git("checkpoint undo").ok();
    holds(&repo, "1", "1");
    repo.git("checkpoint undo").ok();
    holds(&repo, "1", "0");
    repo.git("checkpoint undo").ok();
    holds(&repo, "0", "0");
    repo.git("checkpoint undo").fails(1);
    holds(&repo, "0", "0");
    repo.git("checkpoint redo").ok();
    holds(&repo, "1", "0");
    repo.git("checkpoint redo").ok();
    holds(&repo, "1", "1");
    repo.git("checkpoint redo").ok();
    holds(&repo, "2", "1");
    repo.git("checkpoint redo").fails(1).says("nothing to redo");
    repo.git("checkpoint undo").ok();
    holds(&repo, "1", "1");
    repo.fsck();
}

#[test]
fn two_undos_two_redos() {
    let repo = edited();
    let newest = repo.disk();
    repo.git("checkpoint undo").ok();
    let middle = repo.disk();
    repo.git("checkpoint undo").ok();
    repo.git("checkpoint redo").ok();
    assert_eq!(repo.disk(), middle);
    repo.git("checkpoint redo").ok();
    assert_eq!(repo.disk(), newest);
    repo.git("checkpoint redo").fails(1);
    assert_eq!(repo.disk(), newest);
}

#[test]
fn a_new_edit_after_an_undo_starts_a_new_history() {
    let repo = edited();
    repo.git("checkpoint undo").ok();
    repo.git("checkpoint undo").ok();
    holds(&repo, "1", "0");
    repo.agent_writes("b", "new\n");
    repo.agent_writes("a", "new\n");
    repo.git("checkpoint undo").ok();
    holds(&repo, "1", "new");
    repo.git("checkpoint undo").ok();
    holds(&repo, "1", "0");
}

#[test]
fn redo_without_undo_has_nothing_to_do() {
    let repo = edited();
    let disk = repo.disk();
    repo.git("checkpoint redo").fails(1).says("nothing to redo");
    assert_eq!(repo.disk(), disk);
}

#[test]
fn without_any_checkpoint_the_answer_is_no() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("checkpoint undo").fails(1);
    repo.git("checkpoint redo").fails(1).says("nothing to redo");
}

#[test]
fn an_unknown_number_is_no_checkpoint() {
    let repo = edited();
    let disk = repo.disk();
    for name in [
        "17",
        "other/1",
        "@{9}",
        "HEAD",
        "refs/heads/main",
        "refs/harness/x",
        "0",
        "-1",
    ] {
        let refused = repo.git(&format!("checkpoint undo {name}"));
        assert!(matches!(refused.code(), Some(128 | 129)), "{refused:?}");
    }
    assert_eq!(repo.disk(), disk);
}

#[test]
fn a_checkpoint_has_several_names() {
    let names = [
        "1",
        "001",
        "--to 1",
        "main/1",
        "main/001",
        "refs/harness/checkpoints/main/001",
        "@{2}",
    ];
    let repo = edited();
    for name in names {
        let copy = repo.duplicate();
        copy.git(&format!("checkpoint undo {name}")).ok();
        holds(&copy, "0", "0");
    }
    let copy = repo.duplicate();
    copy.git("checkpoint undo @{0}").ok();
    holds(&copy, "1", "1");
}

#[test]
fn a_named_target_that_is_already_there_is_done() {
    let repo = edited();
    repo.git("checkpoint undo 1").ok();
    let (disk, user) = (repo.disk(), repo.fingerprint());
    repo.git("checkpoint undo 1").ok();
    assert_eq!((repo.disk(), repo.fingerprint()), (disk, user));
}

#[test]
fn says_what_it_restored() {
    let repo = edited();
    let told = repo.git("checkpoint undo --to 1").ok();
    assert_eq!(told.out(), "restored 001 (before edit_file a); files: a, b");
    assert!(
        told.err().contains("004"),
        "the safety checkpoint is named\n{told:?}"
    );
    repo.git("checkpoint undo -q --to 3").ok().silent();
}

#[test]
fn more_than_twenty_files_are_counted() {
    let repo = Repo::with(&[("a", "0\n")]);
    for number in 10..40 {
        repo.agent_writes(&format!("f{number}"), "x\n");
    }
    let told = repo.git("checkpoint undo --to 1").ok().out();
    assert!(told.contains("f29") && !told.contains("f35"), "{told}");
    assert!(told.contains("10 more"), "{told}");
}

#[test]
fn json_tells_all() {
    let repo = edited();
    repo.agent_writes("made", "m\n");
    let told = repo.undo("--to 1").ok().json();
    assert_eq!(told["restored"], 1);
    assert_eq!(told["safety"], 5);
    assert_eq!(texts(&told["written"]), ["a", "b"]);
    assert_eq!(texts(&told["deleted"]), ["made"]);
    assert_eq!(told["kept"], serde_json::json!([]));
    assert_eq!(told["left_alone"], serde_json::json!([]));
    assert_eq!(told["verified"], true);
}

#[test]
fn a_dry_run_shows_the_plan_and_does_nothing() {
    let repo = edited();
    repo.agent_writes("made", "m\n");
    let before = (repo.disk(), repo.fingerprint(), repo.checkpoints());
    let shown = repo.git("checkpoint undo -n --to 1").ok();
    for path in ["a", "b", "made"] {
        assert!(
            shown
                .lines()
                .iter()
                .any(|line| line.split_whitespace().nth(1) == Some(path)),
            "{shown:?}"
        );
    }
    assert_eq!(
        (repo.disk(), repo.fingerprint(), repo.checkpoints()),
        before
    );
    let planned = repo.undo("-n --to 1").ok().json();
    assert_eq!(planned["target"], 1);
    assert_eq!(texts(&planned["written"]), ["a", "b"]);
    assert_eq!(texts(&planned["deleted"]), ["made"]);
    assert!(planned["restored"].is_null() && planned["safety"].is_null());
    assert_eq!(texts(&planned["others"]), [""; 0]);
    assert_eq!(
        (repo.disk(), repo.fingerprint(), repo.checkpoints()),
        before
    );
    // The plan was the truth.
    let done = repo.undo("--to 1").ok().json();
    assert_eq!(done["written"], planned["written"]);
    assert_eq!(done["deleted"], planned["deleted"]);
}

/// Everything below `.git` but the locks, which name who held them last.
fn inside_git(repo: &Repo) -> String {
    repo.sh("find .git -type f ! -name '*.lock' -exec sha256sum '{}' + | sort -k 2")
        .ok()
        .out()
}

#[test]
fn what_only_looks_writes_no_object() {
    let repo = edited();
    repo.write("a", "a content that no object has\n");
    repo.write("made", "this one too\n");
    repo.mkdir("empty");
    let before = (inside_git(&repo), repo.disk());
    let count = repo.git("count-objects -v").ok().out();
    for looks in [
        "undo -n",
        "undo -n --to 1",
        "undo -n --to 1 --json",
        "undo -n --to 1 --index",
        "undo -n --to 1 --head",
        "undo -n --to 1 --others=keep",
        "redo -n",
        "list",
        "list --json",
        "list --all",
        "list -- a",
        "show 1",
        "show 1 --stat",
        "show 1 -p",
        "diff 1 2",
        "diff 1",
        "diff 1 --stat",
        "status",
        "status --json",
        "fsck",
        "drop -n 1",
        "prune -n --keep 1",
        "prune -n",
    ] {
        // A patch is shown by the user's own diff program.
        let looked = repo
            .as_configured_here()
            .git(&format!("checkpoint {looks}"));
        assert!(matches!(looked.code(), Some(0 | 1)), "{looked:?}");
        assert_eq!(
            repo.git("count-objects -v").ok().out(),
            count,
            "git checkpoint {looks}"
        );
        assert_eq!(
            (inside_git(&repo), repo.disk()),
            before,
            "git checkpoint {looks}"
        );
    }
}

#[test]
fn redo_tells_and_shows_its_plan_as_undo_does() {
    let repo = edited();
    repo.write("made", "by hand\n");
    repo.git("checkpoint undo --to 1 --others=revert").ok();
    let before = (repo.disk(), repo.fingerprint(), repo.checkpoints());
    let shown = repo.git("checkpoint redo -n").ok();
    assert_eq!(
        shown.lines(),
        [
            "would restore 004 (before undo to 001)",
            "  write   a",
            "  write   b",
            "  write   made",
        ]
    );
    let planned = repo.git("checkpoint redo -n --json").ok().json();
    assert_eq!(planned["target"], 4);
    assert_eq!(texts(&planned["written"]), ["a", "b", "made"]);
    assert!(planned["restored"].is_null() && planned["safety"].is_null());
    assert_eq!(
        (repo.disk(), repo.fingerprint(), repo.checkpoints()),
        before
    );
    let told = repo.git("checkpoint redo --json").ok().json();
    assert_eq!(
        told,
        serde_json::json!({
            "restored": 4, "lane": "main", "safety": 5, "written": ["a", "b", "made"],
            "deleted": [], "kept": [], "left_alone": [], "verified": true, "wrong": [],
        })
    );
    holds(&repo, "2", "1");
    repo.git("checkpoint redo --json").fails(1);
}

#[test]
fn a_pathspec_limits_it() {
    let repo = edited();
    let told = repo.undo("--to 1 -- b").ok().json();
    assert_eq!(texts(&told["written"]), ["b"]);
    holds(&repo, "2", "0");
}

#[test]
fn pathspecs_are_relative_and_gits_own() {
    let repo = Repo::with(&[("dir/x.c", "0\n"), ("dir/y.h", "0\n"), ("x.c", "0\n")]);
    repo.agent_writes("dir/x.c", "1\n");
    repo.agent_writes("dir/y.h", "1\n");
    repo.agent_writes("x.c", "1\n");
    let state = |repo: &Repo| ["dir/x.c", "dir/y.h", "x.c"].map(|path| repo.read(path) == "0\n");
    for (pathspec, expected) in [
        ("x.c", [true, false, false]),
        ("'*.c'", [true, false, false]),
        ("':(top)x.c'", [false, false, true]),
        ("':/*.c'", [true, false, true]),
        // As 'git restore' reads it: everything, less what is excluded.
        ("':!*.h'", [true, false, true]),
        (".", [true, true, false]),
        ("..", [true, true, true]),
        ("./../dir/..", [true, true, true]),
        (":/", [true, true, true]),
        ("../x.c", [false, false, true]),
        ("x.c ../x.c", [true, false, true]),
    ] {
        let copy = repo.duplicate();
        copy.in_dir("dir")
            .git(&format!("checkpoint undo --to 1 -- {pathspec}"))
            .ok();
        assert_eq!(state(&copy), expected, "{pathspec}");
    }
    repo.git("checkpoint undo --to 1 -- .").ok();
    assert_eq!(state(&repo), [true, true, true]);
}

#[test]
fn a_mistyped_pathspec_is_said() {
    let repo = edited();
    repo.git("checkpoint undo --to 1 -- nosuch")
        .fails(128)
        .says("pathspec 'nosuch' did not match any file");
    repo.git("checkpoint undo -- b").ok();
    // There is such a file, and it is as it was.
    repo.git("checkpoint undo --to 1 -- b").ok();
}

#[test]
fn the_position_of_a_partial_undo_does_not_hide_the_rest() {
    let repo = edited();
    repo.git("checkpoint undo --to 1 -- b").ok();
    repo.git("checkpoint undo --to 1").ok();
    holds(&repo, "0", "0");
}

#[test]
fn files_only_when_the_branch_moved_on() {
    let repo = edited();
    repo.git("commit -q -a -m 'the work of the agent'").ok();
    repo.write("new", "n\n");
    repo.git("add new").ok();
    let (head, user) = (repo.oid("HEAD"), repo.fingerprint());
    let told = repo.git("checkpoint undo --to 1 --others=keep").ok();
    holds(&repo, "0", "0");
    assert_eq!((repo.oid("HEAD"), repo.fingerprint()), (head, user));
    assert!(told.err().contains("hint: "), "{told:?}");
}

#[test]
fn another_branch_meanwhile_is_refused() {
    let repo = edited();
    repo.git("checkout -q -b other").ok();
    let before = (repo.disk(), repo.fingerprint(), repo.checkpoints());
    repo.git("checkpoint undo").fails(1);
    repo.git("checkpoint undo --to 1 -y").fails(1);
    repo.undo("--to 1 -y").fails(1);
    assert_eq!(
        (repo.disk(), repo.fingerprint(), repo.checkpoints()),
        before
    );
    repo.git("checkout -q main").ok();
    repo.git("checkpoint undo --to 1").ok();
    holds(&repo, "0", "0");
}

#[test]
fn a_detached_head_meanwhile_is_refused() {
    let repo = edited();
    repo.git("checkout -q --detach").ok();
    let disk = repo.disk();
    repo.git("checkpoint undo").fails(1);
    assert_eq!(repo.disk(), disk);
}

#[test]
fn a_merge_begun_meanwhile_is_refused() {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    repo.git("checkout -q -b other").ok();
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    repo.git("checkout -q main").ok();
    repo.write("a", "ours\n");
    repo.commit_all("ours");
    repo.save("");
    repo.git("merge other").fails(1);
    let disk = repo.disk();
    repo.git("checkpoint undo -y").fails(1);
    assert_eq!(repo.disk(), disk);
    // Within the merge, back and forth is fine.
    repo.save("");
    repo.write("b", "changed\n");
    repo.git("checkpoint undo -y").ok();
    assert_eq!(repo.disk(), disk);
    // And ended since.
    repo.git("merge --abort").ok();
    repo.git("checkpoint undo -y").fails(1);
}

#[test]
fn the_first_commit_made_meanwhile_is_the_same_branch() {
    let repo = Repo::new();
    repo.agent_writes("a", "1\n");
    repo.commit_all("first");
    repo.agent_writes("a", "2\n");
    repo.git("checkpoint undo").ok();
    assert_eq!(repo.read("a"), "1\n");
    repo.git("checkpoint undo --to 1").ok();
    assert!(!repo.exists("a"));
}

#[test]
fn staged_work_is_not_touched() {
    let repo = edited();
    repo.write("b", "staged\n");
    repo.git("add b").ok();
    repo.write("b", "1\n");
    let user = repo.fingerprint();
    repo.git("checkpoint undo --to 1").ok();
    assert_eq!(repo.fingerprint(), user);
    assert_eq!(repo.git("cat-file blob :b").ok().out(), "staged");
}

#[test]
fn a_missing_object_is_an_error_and_nothing_is_done() {
    let repo = edited();
    let blob = repo.oid("refs/harness/checkpoints/main/001:a");
    repo.remove(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    let disk = repo.disk();
    let refused = repo.git("checkpoint undo --to 1 -y");
    assert_eq!(refused.code(), Some(128), "{refused:?}");
    assert_eq!(repo.disk(), disk);
}

#[test]
fn works_beside_a_locked_index() {
    let repo = edited();
    repo.write(".git/index.lock", "");
    repo.git("checkpoint undo --to 1").ok();
    holds(&repo, "0", "0");
    assert!(repo.exists(".git/index.lock"));
}

#[test]
fn undo_of_undo_keeps_what_was_there() {
    let repo = edited();
    repo.write("untracked-by-hand", "precious\n");
    let disk = repo.disk();
    repo.git("checkpoint undo --to 1 -y").ok();
    assert!(!repo.exists("untracked-by-hand"));
    repo.git("checkpoint redo").ok();
    assert_eq!(repo.disk(), disk);
}
