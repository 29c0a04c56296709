//! What is another thing by the time of the undo: rules that no tree holds,
//! filters, limits, the branch; and who is still at work.

use crate::common::{Repo, paths, texts};

/// The file `f.txt` with CRLF, under a rule that `set` makes and `unset` takes away.
fn comes_back_without_its_rule(set: &str, unset: &str) {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.sh(set).ok();
    repo.write("f.txt", "x\r\n");
    repo.write("staged.txt", "y\r\n");
    repo.git("add staged.txt").ok();
    repo.git("checkpoint save").ok();
    repo.sh(unset).ok();
    repo.write("f.txt", "spoilt\n");
    repo.write("staged.txt", "spoilt\n");
    repo.git("checkpoint undo --to 1 --others=revert").ok();
    assert_eq!(repo.read("f.txt"), "x\r\n");
    assert_eq!(repo.read("staged.txt"), "y\r\n");
}

#[test]
fn rules_of_the_repository_alone_may_go() {
    comes_back_without_its_rule(
        "mkdir -p .git/info; echo '*.txt text eol=crlf' >.git/info/attributes",
        "rm .git/info/attributes",
    );
}

#[test]
fn rules_of_the_user_may_go() {
    comes_back_without_its_rule(
        "echo '*.txt text eol=crlf' >.git/mine; git config core.attributesFile \"$PWD/.git/mine\"",
        "git config --unset core.attributesFile",
    );
}

#[test]
fn rules_of_the_user_may_come() {
    let repo = Repo::with(&[("a.txt", "1\n")]);
    repo.write("f.txt", "x\n");
    repo.git("checkpoint save").ok();
    repo.sh("mkdir -p .git/info; echo '*.txt text eol=crlf' >.git/info/attributes")
        .ok();
    repo.write("f.txt", "spoilt\n");
    repo.git("checkpoint undo --to 1 --others=revert").ok();
    assert_eq!(repo.read("f.txt"), "x\n");
}

#[test]
fn a_filter_that_is_set_no_more_leaves_its_file_alone() {
    let repo = Repo::with(&[("a", "1\n"), (".gitattributes", "*.r filter=rot\n")]);
    repo.run(["config", "filter.rot.clean", "tr a-z b-za"]).ok();
    repo.run(["config", "filter.rot.smudge", "tr b-za a-z"])
        .ok();
    repo.write("x.r", "abc\n");
    repo.git("checkpoint save").ok();
    repo.git("config --remove-section filter.rot").ok();
    repo.write("x.r", "mine\n");
    let told = repo.undo("--to 1 --others=revert").fails(1).json();
    assert_eq!(told["left_alone"][0]["path"], "x.r");
    assert_eq!(repo.read("x.r"), "mine\n");
}

#[test]
fn a_filter_that_is_set_since_does_not_touch_what_it_never_cleaned() {
    let repo = Repo::with(&[("a", "1\n"), (".gitattributes", "*.r filter=rot\n")]);
    repo.write("x.r", "abc\n");
    repo.git("checkpoint save").ok();
    repo.run(["config", "filter.rot.clean", "tr a-z b-za"]).ok();
    repo.run(["config", "filter.rot.smudge", "tr b-za a-z"])
        .ok();
    repo.write("x.r", "spoilt\n");
    repo.git("checkpoint undo --to 1 --others=revert").ok();
    assert_eq!(repo.read("x.r"), "abc\n");
}

#[test]
fn what_an_ignore_file_of_the_user_hid_then_is_not_deleted() {
    for (hide, show) in [
        ("echo secret >>.git/info/exclude", ": >.git/info/exclude"),
        (
            "echo secret >.git/mine; git config core.excludesFile \"$PWD/.git/mine\"",
            "git config --unset core.excludesFile",
        ),
        (
            "git config checkpoint.exclude secret",
            "git config --unset checkpoint.exclude",
        ),
    ] {
        let repo = Repo::with(&[("a", "1\n")]);
        repo.sh(hide).ok();
        repo.write("secret", "k\n");
        // Only whole seconds are compared: the checkpoint is younger for sure.
        let late = repo.env("HARNESS_TEST_LATER", "2");
        late.git("checkpoint save -q --tool e --path a").ok();
        repo.write("a", "2\n");
        repo.sh(show).ok();
        let told = repo.undo("--to 1 --others=revert").ok().json();
        assert_eq!(told["deleted"], serde_json::json!([]), "{hide}");
        assert_eq!(paths(&told["left_alone"]), ["secret"], "{hide}");
        assert_eq!(repo.read("secret"), "k\n");
    }
}

#[test]
fn what_is_made_since_and_cannot_be_captured_is_listed() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("config checkpoint.maxFileSize 10").ok();
    repo.git("checkpoint save -q --tool e --path big").ok();
    repo.write("big", "more than ten bytes\n");
    repo.sh("mkfifo pipe").ok();
    repo.write("a", "2\n");
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(paths(&told["left_alone"]), ["big", "pipe"]);
    assert!(repo.exists("big") && repo.exists("pipe"));
    // Which is no reason to stay at this checkpoint for ever.
    repo.git("checkpoint undo").fails(1).says("nothing to undo");
}

#[test]
fn the_way_back_holds_what_the_undo_writes_whatever_its_size() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("config checkpoint.maxFileSize 20").ok();
    repo.write("f", "small\n");
    repo.git("checkpoint save").ok();
    let grown = "it has grown to more than twenty bytes\n";
    repo.write("f", grown);
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(texts(&told["written"]), ["f"]);
    assert_eq!(repo.read("f"), "small\n");
    repo.git("checkpoint redo --others=revert").ok();
    assert_eq!(repo.read("f"), grown);
}

#[test]
fn a_rollback_does_not_write_over_another_branch() {
    for options in ["--test false", "--allow nowhere"] {
        let repo = Repo::with(&[("a", "main\n")]);
        repo.git("checkout -q -b other").ok();
        repo.write("a", "other\n");
        repo.git("commit -q -a -m other").ok();
        repo.git("checkout -q main").ok();
        repo.git(&format!(
            "checkpoint run {options} -- git -c core.hooksPath=/dev/null switch -q other"
        ))
        .fails(1)
        .says("you are now on 'other'");
        assert_eq!(repo.read("a"), "other\n", "{options}");
        assert_eq!(repo.git("status --porcelain").ok().out(), "");
    }
}

#[test]
fn a_rollback_names_the_checkpoint_after_the_command() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.run([
        "checkpoint",
        "run",
        "--test",
        "exit 3",
        "--",
        "sh",
        "-c",
        "echo x >a",
    ])
    .fails(1)
    .says("1 files are as in checkpoint 001; what the command left is 002");
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn the_commands_code_is_not_lost_over_a_checkpoint_that_cannot_be_taken() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("config checkpoint.maxFiles 3").ok();
    let fill = "for i in 1 2 3 4 5; do echo >f$i; done; exit 7";
    repo.run(["checkpoint", "run", "--", "sh", "-c", fill])
        .fails(7)
        .says("no checkpoint after the command: 6 files are more than checkpoint.maxFiles (3)");
}

#[test]
fn a_secret_in_the_label_of_a_run_is_masked() {
    let repo = Repo::with(&[("a", "1\n")]);
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    repo.run(["checkpoint", "run", "-m", token, "--", "true"])
        .ok();
    let log = repo.git("log --all --format=%B").ok().out();
    assert!(!log.contains(token), "{log}");
}

#[test]
fn a_file_the_agent_renamed_gets_its_old_name_back() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("draft", "mine\n");
    let late = repo.env("HARNESS_TEST_LATER", "60");
    late.git("checkpoint save -q --before=command --tool bash")
        .ok();
    repo.rename("draft", "final");
    late.git("checkpoint save -q --after 1").ok();
    let told = repo.undo("--to 1").ok().json();
    assert_eq!(texts(&told["written"]), ["draft"]);
    assert_eq!(texts(&told["deleted"]), ["final"]);
    assert_eq!(repo.read("draft"), "mine\n");
}

#[test]
fn what_is_only_assumed_is_said() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.git("checkpoint save -q --tool t --path a").ok();
    repo.write("a", "2\n");
    repo.git("checkpoint save -q --tool t --path b").ok();
    repo.write("b", "2\n");
    repo.git("checkpoint wrote b").ok();
    let plan = repo.git("checkpoint undo --to 1 -n").ok().out();
    assert!(plan.contains("a  (by an agent, assumed)\n"), "{plan}");
    assert!(plan.ends_with("write   b"), "{plan}");
    let plan = repo.undo("--to 1 -n").ok().json();
    assert_eq!(texts(&plan["assumed"]), ["a"]);
}

#[test]
fn a_session_behind_a_save_by_hand_may_still_be_writing() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("checkpoint save -q --tool t --path a --session s9")
        .ok();
    repo.git("checkpoint save -q -m by-hand").ok();
    repo.write("a", "2\n");
    repo.git("checkpoint undo 1 --others=revert")
        .ok()
        .says("session s9 took a checkpoint");
}

#[test]
fn in_a_shadow_a_command_may_take_any_time() {
    let repo = Repo::with(&[("a", "1\n")]);
    let shadow = repo.shadow("task");
    for (place, code) in [(&shadow, 0), (&repo, 1)] {
        let numbers = place.in_dir(place.root());
        let before = numbers
            .env("HARNESS_TEST_LATER", "-1200")
            .git("checkpoint save --before=command --tool bash")
            .ok()
            .out();
        place.write("a", "2\n");
        numbers
            .git(&format!("checkpoint save -q --after {before}"))
            .ok();
        let undone = numbers.git(&format!("checkpoint undo --to {before}"));
        assert_eq!(undone.code(), Some(code), "{}", undone.err());
    }
}

#[test]
fn new_files_count_among_all_of_which_half_is_deleted() {
    let repo = Repo::new();
    for number in 0..60 {
        repo.write(format!("t{number}"), "t\n");
    }
    repo.commit_all("sixty");
    repo.git("checkpoint save").ok();
    for number in 0..55 {
        repo.write(format!("n{number}"), "n\n");
    }
    // 55 of 115 is less than half.
    repo.git("checkpoint undo --to 1 -y").ok();
    for number in 0..61 {
        repo.write(format!("n{number}"), "n\n");
    }
    repo.git("checkpoint undo --to 1 -y")
        .fails(1)
        .says("more than half of all files");
    assert!(repo.exists("n0"));
}

#[test]
fn every_command_clears_what_a_killed_undo_left_beside_the_files() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.git("checkpoint save").ok();
    repo.write("a", "2\n");
    repo.write("b", "2\n");
    repo.mkdir(".git/harness/stage");
    repo.write(".git-harness-77-n0~", "left behind\n");
    repo.git("checkpoint list").ok();
    assert!(!repo.exists(".git-harness-77-n0~"));
    assert!(!repo.exists(".git/harness/stage"));
}

#[test]
fn json_is_printed_also_when_there_is_nothing_to_do() {
    let repo = Repo::with(&[("a", "1\n")]);
    for command in ["undo", "redo"] {
        let told = repo.git(&format!("checkpoint {command} --json")).fails(1);
        assert_eq!(told.json()["restored"], serde_json::Value::Null);
    }
}

#[test]
fn a_large_database_is_captured_through_sqlite_too() {
    let repo = Repo::with(&[(".gitignore", "data/\n")]);
    if !repo.has_programs(&["sqlite3"]) {
        return;
    }
    repo.git("config checkpoint.include data/app.db").ok();
    repo.mkdir("data");
    // The second writer leaves its row in the -wal file.
    repo.sh(
        "sqlite3 data/app.db 'pragma journal_mode=wal; create table t(b); \
         insert into t values(zeroblob(36000000));' >/dev/null
         sqlite3 data/app.db '.dbconfig no_ckpt_on_close on' '.filectrl persist_wal 1' \
         'insert into t values(42)' >/dev/null",
    )
    .ok();
    let alone = repo.sh("cp data/app.db alone; sqlite3 alone 'select count(*) from t'; rm alone");
    assert_eq!(alone.ok().out(), "1", "the file alone lacks it");
    repo.git("checkpoint save").ok();
    repo.sh("git cat-file blob refs/harness/checkpoints/main/001:data/app.db >copy")
        .ok();
    let rows = repo.sh("sqlite3 copy 'select count(*) from t'").ok().out();
    assert_eq!(rows, "2");
}

#[test]
fn what_is_written_while_the_undo_ends_is_told() {
    for (what, wrong) in [
        ("echo late >a", "a"),
        ("echo late >untouched", "untouched"),
        ("echo late >made", "made"),
        ("rm untouched", "untouched"),
    ] {
        let repo = Repo::with(&[("a", "1\n"), ("untouched", "u\n")]);
        repo.git("checkpoint save").ok();
        repo.write("a", "2\n");
        let body = format!("cd {}; {what}", repo.root().display());
        let script = repo.script("late", &body);
        let told = repo
            .env("HARNESS_TEST_AFTER_APPLY", script)
            .undo("--to 1 --others=revert")
            .fails(1)
            .json();
        assert_eq!(told["verified"], false, "{what}");
        assert_eq!(texts(&told["wrong"]), [wrong], "{what}");
        assert_eq!(texts(&told["written"]), ["a"], "{what}");
    }
}

#[test]
fn a_conflicted_file_that_is_as_ours_is_captured_like_any_other() {
    for resolve in [
        "git checkout -q --ours a",
        "git checkout -q --theirs a",
        "true",
    ] {
        let repo = Repo::with(&[("a", "base\n"), ("gone", "base\n")]);
        repo.git("checkout -q -b other").ok();
        repo.write("a", "theirs\n");
        repo.remove("gone");
        repo.commit_all("theirs");
        repo.git("checkout -q main").ok();
        repo.write("a", "ours\n");
        repo.write("gone", "ours\n");
        repo.commit_all("ours");
        repo.git("merge -q other").fails(1);
        repo.sh(resolve).ok();
        let disk = repo.disk();
        let saved = repo.save("");
        let held = repo.run(["ls-tree", "--name-only", saved["tree"].as_str().unwrap()]);
        assert_eq!(held.ok().lines(), ["a", "gone"], "{resolve}");
        repo.write("a", "spoilt\n");
        repo.write("gone", "spoilt\n");
        repo.git("checkpoint undo 1 --others=revert").ok();
        assert_eq!(repo.disk(), disk, "{resolve}");
    }
}

#[test]
fn the_flags_of_an_entry_that_was_not_there_are_no_matter() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("checkpoint save").ok();
    repo.write("n", "n\n");
    repo.git("add n").ok();
    repo.git("update-index --assume-unchanged n").ok();
    repo.git("checkpoint undo 1 --index --others=revert").ok();
    assert_eq!(repo.git("ls-files").ok().lines(), ["a"]);
    assert!(!repo.exists(".git/harness/restore"), "no journal is left");
}

#[test]
fn what_cannot_be_read_any_more_is_told() {
    let repo = Repo::with(&[("a", "1\n")]);
    let Some(user) = repo.for_whom_modes_count() else {
        return;
    };
    user.git("checkpoint save").ok();
    user.write("a", "changed\n");
    user.chmod("a", 0);
    let told = user.undo("--to 1 --others=revert").fails(1).json();
    assert_eq!(paths(&told["left_alone"]), ["a"]);
}

#[test]
fn what_an_ignore_line_hid_until_the_undo_is_listed() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("checkpoint save").ok();
    repo.write(".gitignore", "cache/\n");
    repo.write("cache/r", "w\n");
    let told = repo.undo("1 --others=revert").ok().json();
    assert_eq!(told["verified"], true);
    assert_eq!(paths(&told["left_alone"]), ["cache/r"]);
    assert_eq!(repo.read("cache/r"), "w\n");
}

#[test]
fn a_pathspec_may_name_what_is_only_on_disk() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.sh("mkdir p && mkfifo p/x").ok();
    repo.git("checkpoint save").ok();
    repo.sh("rm p/x && echo f >p/x").ok();
    repo.git("checkpoint undo 1 --others=revert -- p").ok();
}

#[test]
fn a_filter_that_commits_commits_into_the_repository() {
    let repo = Repo::with(&[("a", "1\n"), (".gitattributes", "*.r filter=f\n")]);
    let commit = "git -c user.name=f -c user.email=f@localhost -c commit.gpgsign=false \
                  -c core.hooksPath=/dev/null commit -q --allow-empty -m filter >&2; cat";
    repo.run(["config", "filter.f.clean", commit]).ok();
    repo.write("x.r", "abc\n");
    repo.git("checkpoint save").ok();
    repo.git("log -1 --format=%s").ok().prints("filter");
    repo.git("fsck --strict").ok();
}
