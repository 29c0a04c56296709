//! `list`, `show`, `status`, `diff`: looking changes nothing.

use crate::common::{Repo, texts};

fn edited() -> Repo {
    let repo = Repo::with(&[("a", "0\n"), ("dir/b", "0\n")]);
    repo.agent_writes("a", "1\n");
    repo.agent_writes("dir/b", "1\n");
    repo.agent_writes("a", "2\n");
    repo
}

fn numbers(repo: &Repo, options: &str) -> Vec<i64> {
    let listed = repo
        .git(&format!("checkpoint list --json {options}"))
        .ok()
        .json();
    listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["number"].as_i64().unwrap())
        .collect()
}

#[test]
fn of_nothing_is_nothing() {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("checkpoint list").ok().silent().prints("");
    repo.git("checkpoint list --json")
        .ok()
        .silent()
        .prints("[]");
    repo.git("checkpoint list --lane no-such-lane --json")
        .ok()
        .prints("[]");
}

#[test]
fn lists_number_commit_time_and_label() {
    let repo = edited();
    let lines = repo.git("checkpoint list").ok().silent().lines();
    assert_eq!(lines.len(), 3);
    let first: Vec<&str> = lines[0].split("  ").collect();
    assert_eq!(first[0], "001");
    assert_eq!(
        first[1],
        &repo.oid("refs/harness/checkpoints/main/001")[..10]
    );
    let clock: Vec<&str> = first[2].split(':').collect();
    assert_eq!(
        clock.iter().map(|part| part.len()).collect::<Vec<_>>(),
        [2, 2, 2],
        "{first:?}"
    );
    assert_eq!(first[3], "before edit_file a");
}

#[test]
fn a_checkpoint_of_another_day_has_its_date() {
    let repo = edited();
    let name = "refs/harness/checkpoints/main/001";
    let commit = repo.run(["cat-file", "commit", name]).ok().out();
    let author = commit
        .lines()
        .find(|line| line.starts_with("author "))
        .unwrap();
    let stamp = author.rsplit(' ').nth(1).unwrap();
    let commit = commit.replace(author, &author.replace(stamp, "1000000000")) + "\n";
    let commit = repo
        .feed("hash-object -t commit -w --stdin", commit)
        .ok()
        .out();
    repo.run(["update-ref", name, &commit]).ok();
    let lines = repo.git("checkpoint list").ok().lines();
    assert!(lines[0].contains("2001-09-09 01:46:40"), "{lines:?}");
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(listed[0]["time"], "2001-09-09T01:46:40Z");
}

#[test]
fn the_newest_few() {
    let repo = edited();
    assert_eq!(numbers(&repo, ""), [1, 2, 3]);
    assert_eq!(numbers(&repo, "-n 2"), [2, 3]);
    assert_eq!(numbers(&repo, "-n 0"), [0; 0]);
}

#[test]
fn of_a_path_are_those_that_changed_it() {
    let repo = edited();
    repo.save("");
    // 1: before the first write of a; 3 saw dir/b written, 4 saw a written.
    assert_eq!(numbers(&repo, "-- dir/b"), [1, 3]);
    let below = repo
        .in_dir("dir")
        .git("checkpoint list --json -- b")
        .ok()
        .json();
    assert_eq!(below.as_array().unwrap().len(), 2);
}

#[test]
fn equal_neighbours_are_folded() {
    let repo = Repo::with(&[("a", "0\n")]);
    for call in ["one", "two", "three"] {
        repo.git(&format!("checkpoint save -q --path a --call {call}"))
            .ok();
    }
    let lines = repo.git("checkpoint list").ok().lines();
    assert!(lines.len() < 3, "{lines:?}");
    assert_eq!(numbers(&repo, ""), [1, 2, 3], "--json has them all");
}

#[test]
fn json_says_the_same_as_save_did() {
    let repo = Repo::with(&[("a", "0\n")]);
    let saved = [
        repo.save("-m x"),
        repo.save("--tool t --path a --call c --session s"),
    ];
    assert_eq!(
        repo.git("checkpoint list --json").ok().json(),
        serde_json::json!(saved)
    );
    assert_eq!(
        repo.git("checkpoint show 2 --json").ok().json()["number"],
        2
    );
}

#[test]
fn packed_refs_are_seen_too() {
    let repo = edited();
    repo.git("pack-refs --all").ok();
    assert_eq!(numbers(&repo, ""), [1, 2, 3]);
    repo.git("checkpoint save").ok().prints("004");
    assert_eq!(numbers(&repo, ""), [1, 2, 3, 4]);
}

#[test]
fn looking_changes_nothing() {
    let repo = edited().as_configured_here();
    repo.sh("touch -d 2001-02-03 a").ok();
    let before = (repo.fingerprint(), repo.disk(), repo.checkpoints());
    for look in [
        "list",
        "show 1",
        "show 1 --stat",
        "show 1 -p",
        "status",
        "diff 1",
        "diff 1 2",
        "diff 1 --stat",
    ] {
        repo.git(&format!("checkpoint {look}")).ok();
    }
    assert_eq!(
        (repo.fingerprint(), repo.disk(), repo.checkpoints()),
        before
    );
}

#[test]
fn show_names_what_is_in_it() {
    let repo = edited();
    let shown = repo.git("checkpoint show 2").ok().out();
    assert!(shown.contains("before edit_file dir/b"), "{shown}");
    assert!(
        shown.contains(&repo.oid("refs/harness/checkpoints/main/002")[..10]),
        "{shown}"
    );
    repo.git("checkpoint show 9").fails(128).says("hint: ");
    repo.git("checkpoint show").fails(129);
}

#[test]
fn show_stat_and_patch_are_against_the_one_before() {
    let repo = edited().as_configured_here();
    let stat = repo.git("checkpoint show 3 --stat").ok().out();
    assert!(
        stat.contains("dir/b") && stat.contains("1 file changed"),
        "{stat}"
    );
    let patch = repo.git("checkpoint show 3 -p").ok().out();
    assert!(patch.contains("--- a/dir/b\n+++ b/dir/b\n"), "{patch}");
    assert!(patch.contains("\n-0\n+1"), "{patch}");
    // The first one: against the commit it was taken on, or nothing.
    repo.git("checkpoint show 1 -p").ok().prints("");
    let unborn = Repo::new().as_configured_here();
    unborn.write("x", "1\n");
    unborn.save("");
    let stat = unborn.git("checkpoint show 1 --stat").ok().out();
    assert!(stat.contains("1 insertion"), "{stat}");
}

#[test]
fn diff_between_two_and_to_the_disk() {
    let repo = edited().as_configured_here();
    let diff = repo.git("checkpoint diff 1 2").ok().out();
    assert!(diff.contains("+++ b/a") && diff.contains("+1"), "{diff}");
    assert!(!diff.contains("dir/b"), "{diff}");
    repo.write("new", "n\n");
    let diff = repo.git("checkpoint diff 1").ok().out();
    for line in ["+++ b/a", "+2", "+++ b/dir/b", "+++ b/new"] {
        assert!(diff.lines().any(|l| l == line), "no '{line}' in\n{diff}");
    }
    let diff = repo.git("checkpoint diff 1 -- dir").ok().out();
    assert!(diff.contains("dir/b") && !diff.contains("b/a"), "{diff}");
    let diff = repo.in_dir("dir").git("checkpoint diff 1 -- b").ok().out();
    assert!(diff.contains("dir/b") && !diff.contains("b/a"), "{diff}");
    let stat = repo.git("checkpoint diff 1 --stat").ok().out();
    assert!(stat.contains("3 files changed"), "{stat}");
    repo.git("checkpoint diff 1 1").ok().prints("");
}

#[test]
fn a_patch_can_be_applied() {
    let repo = edited();
    repo.sh("git checkpoint diff 1 3 >../patch && git checkout -q -- . && git apply ../patch")
        .ok();
    assert_eq!(
        (repo.read("a"), repo.read("dir/b")),
        ("1\n".into(), "1\n".into())
    );
}

#[test]
fn status_knows_the_lane_and_where_we_are() {
    let repo = edited();
    let status = repo.git("checkpoint status --json").ok().json();
    assert_eq!(status["lane"], "main", "{status}");
    repo.git("checkpoint status").ok();
    Repo::with(&[("a", "0\n")])
        .git("checkpoint status --json")
        .ok()
        .json();
}

#[test]
fn a_foreign_ref_among_ours_is_no_reason_to_fail() {
    let repo = edited();
    let head = repo.oid("HEAD");
    repo.git(&format!(
        "update-ref refs/harness/checkpoints/main/note {head}"
    ))
    .ok();
    repo.git(&format!(
        "update-ref refs/harness/checkpoints/main/099 {head}"
    ))
    .ok();
    assert!(numbers(&repo, "").starts_with(&[1, 2, 3]));
    repo.git("checkpoint save").ok();
}

#[test]
fn unknown_trailers_are_skipped() {
    let repo = edited();
    let message = repo
        .git("log -1 --format=%B refs/harness/checkpoints/main/003")
        .ok()
        .out();
    let tree = repo.tree_of(3);
    let commit = repo
        .feed(
            &format!("commit-tree {tree}"),
            format!("{message}\nHarness-Future: yes\n"),
        )
        .ok()
        .out();
    repo.git(&format!(
        "update-ref refs/harness/checkpoints/main/003 {commit}"
    ))
    .ok();
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(texts(&listed[2]["paths"]), ["a"]);
}
