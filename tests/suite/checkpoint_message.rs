//! What a checkpoint's commit says of itself, value by value; long lists; and where
//! git shows these commits.

use crate::common::{Repo, paths, texts};

const FIRST: &str = "refs/harness/checkpoints/main/001";

/// The lines of the message after the label, in the order in which they stand.
#[track_caller]
fn trailers(repo: &Repo, name: &str) -> Vec<String> {
    let message = repo.run(["log", "-1", "--format=%B", name]).ok().lines();
    assert_eq!(message[1], "", "{message:?}");
    message[2..].to_vec()
}

#[test]
fn author_and_committer_are_ours() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.env("GIT_AUTHOR_NAME", "Somebody Else")
        .env("GIT_AUTHOR_EMAIL", "else@example.com")
        .env("GIT_COMMITTER_NAME", "Somebody Else")
        .env("GIT_COMMITTER_EMAIL", "else@example.com")
        .env("GIT_AUTHOR_DATE", "1999-12-31T23:59:59Z")
        .git("checkpoint save")
        .ok();
    let ours = "git-harness|git-harness@localhost|git-harness|git-harness@localhost|1 +0000";
    for name in [FIRST, "refs/harness/indexes/main/001"] {
        let format = "--format=%an|%ae|%cn|%ce|%cd";
        repo.run(["log", "-1", "--date=raw", format, name])
            .ok()
            .prints(ours);
        let at: u64 = repo
            .run(["log", "-1", "--format=%at", name])
            .ok()
            .out()
            .parse()
            .unwrap();
        assert!(at > 1_600_000_000, "the author date is now: {at}");
    }
}

#[test]
fn every_trailer_of_a_save_has_its_value() {
    let repo = Repo::with(&[("a", "1\n"), (".gitattributes", "*.mix text=auto\n")]);
    repo.git("config core.autocrlf input").ok();
    repo.git("config core.eol lf").ok();
    repo.write("x.mix", "one\r\ntwo\n");
    repo.write("b", "written by a tool\n");
    let head = repo.oid("HEAD");
    repo.git("checkpoint save -q --tool edit --path b").ok();
    repo.git("checkpoint wrote b gone").ok();
    repo.sh("mkfifo pipe").ok();
    repo.git(
        "checkpoint save -q -m second --tool write_file --path a --call c-1 --session s-1 \
         --include '*.log'",
    )
    .ok();
    let id = repo.read(".git/harness/id");
    let worktree = id.split_whitespace().nth(1).unwrap();
    assert_eq!(worktree.len(), 16);
    let blob = repo.sh("git hash-object b").ok().out();
    let version = "Harness-Version: 1".to_owned();
    assert_eq!(
        trailers(&repo, "refs/harness/checkpoints/main/002"),
        [
            version.clone(),
            "Harness-Number: 2".to_owned(),
            "Harness-Lane: main".to_owned(),
            format!("Harness-Worktree: {worktree}"),
            format!("Harness-Head: {head} refs/heads/main"),
            "Harness-Kind: before-write".to_owned(),
            "Harness-Tool: write_file".to_owned(),
            "Harness-Path: a".to_owned(),
            "Harness-Call: c-1".to_owned(),
            "Harness-Session: s-1".to_owned(),
            format!("Harness-Wrote: {blob} b"),
            "Harness-Wrote: absent gone".to_owned(),
            "Harness-Include: *.log".to_owned(),
            "Harness-Config: core.autocrlf=input".to_owned(),
            "Harness-Config: core.eol=lf".to_owned(),
            "Harness-Skipped: \"pipe\" not a file, link or folder".to_owned(),
            "Harness-Raw: x.mix".to_owned(),
        ]
    );
    // What was left stands in one checkpoint, the next after it.
    repo.git("checkpoint save -q").ok();
    let third = "refs/harness/checkpoints/main/003";
    assert!(repo.trailer(third, "Harness-Wrote").is_empty());
    // And the index state names the checkpoint that it belongs to.
    assert_eq!(
        trailers(&repo, "refs/harness/indexes/main/001"),
        [version.as_str(), "Harness-Number: 1", "Harness-Lane: main"]
    );
    let index = repo.oid("refs/harness/indexes/main/001");
    assert_eq!(repo.trailer(FIRST, "Harness-Index"), [index]);
}

#[test]
fn an_undo_names_its_target_and_where_head_was() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.save("");
    repo.write("a", "2\n");
    repo.git("checkout -q --detach").ok();
    repo.git("checkpoint undo 1 --no-head").ok();
    let safety = "refs/harness/checkpoints/main/002";
    assert_eq!(repo.trailer(safety, "Harness-Kind"), ["before-undo"]);
    assert_eq!(repo.trailer(safety, "Harness-Target"), ["main/001"]);
    let head = repo.oid("HEAD");
    assert_eq!(
        repo.trailer(safety, "Harness-Head"),
        [format!("{head} (detached)")]
    );
    let unborn = Repo::new();
    unborn.save("");
    assert_eq!(
        unborn.trailer(FIRST, "Harness-Head"),
        ["unborn refs/heads/main"]
    );
}

#[test]
fn a_command_is_stored_without_its_secrets() {
    let repo = Repo::with(&[("a", "1\n")]);
    let secret = "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";
    repo.run([
        "checkpoint",
        "run",
        "--",
        "sh",
        "-c",
        "echo 2 >a",
        "--password=Tr0ub4dor-and-3",
        secret,
    ])
    .ok();
    for (name, label) in [("001", "before"), ("002", "after")] {
        let name = format!("refs/harness/checkpoints/main/{name}");
        let shown = "sh -c echo 2 >a --password=[masked] [masked]";
        assert_eq!(repo.trailer(&name, "Harness-Command"), [shown]);
        repo.run(["log", "-1", "--format=%s", &name])
            .ok()
            .prints(&format!("{label} {shown}"));
    }
    // Nor does any other object have it.
    let all = repo
        .sh("git cat-file --batch-all-objects --batch")
        .ok()
        .stdout;
    assert!(!String::from_utf8_lossy(&all).contains(secret));
}

/// Above this many lines the message has their count and the first of them.
const LINES: usize = 1000;

/// Asserts that checkpoint 1 has the count of `key`, the first thousand lines, and all
/// of them in the blob `name` of its index state; gives that.
#[track_caller]
fn long_list(repo: &Repo, key: &str, name: &str, count: usize) -> Vec<String> {
    let lines = repo.trailer(FIRST, &format!("Harness-{key}"));
    assert_eq!(
        repo.trailer(FIRST, &format!("Harness-{key}-Count")),
        [count.to_string()]
    );
    let blob = format!("refs/harness/indexes/main/001:{name}");
    let all = repo.run(["cat-file", "blob", &blob]).ok().lines();
    assert_eq!(all.len(), count);
    assert_eq!(lines, all[..LINES]);
    all
}

#[test]
fn more_than_a_thousand_skipped_are_counted_and_kept_in_a_blob() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.sh("mkdir p && cd p && seq -f f%g 1001 2005 | xargs mkfifo")
        .ok();
    let saved = repo.git("checkpoint save").ok();
    assert!(saved.err().contains("and 985 more"), "{saved:?}");
    let all = long_list(&repo, "Skipped", "skipped", 1005);
    assert_eq!(all[0], "\"p/f1001\" not a file, link or folder");
    assert_eq!(all[1004], "\"p/f2005\" not a file, link or folder");
    // Also the last of them counts as not captured: no undo deletes what has its place.
    repo.remove("p/f2005");
    repo.write("p/f2005", "a file where a pipe was\n");
    repo.write("a", "2\n");
    let told = repo.undo("1 -y").ok().json();
    assert_eq!(paths(&told["left_alone"]), ["p/f2005"], "{told}");
    assert_eq!(texts(&told["written"]), ["a"], "{told}");
    assert_eq!(repo.read("p/f2005"), "a file where a pipe was\n");
    repo.git("checkpoint fsck 1").ok();
}

#[test]
fn a_thousand_skipped_stand_in_the_message() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.sh("mkdir p && cd p && seq 1001 2000 | xargs mkfifo")
        .ok();
    repo.save("-q");
    assert_eq!(repo.trailer(FIRST, "Harness-Skipped").len(), LINES);
    assert!(repo.trailer(FIRST, "Harness-Skipped-Count").is_empty());
    repo.git("cat-file -e refs/harness/indexes/main/001:skipped")
        .fails(128);
}

#[test]
fn more_than_a_thousand_raw_are_counted_and_kept_in_a_blob() {
    let repo = Repo::with(&[(".gitattributes", "* text=auto\n")]);
    for number in 1001..=2005 {
        repo.write(format!("f{number}"), "one\r\ntwo\n");
    }
    repo.save("");
    let all = long_list(&repo, "Raw", "raw", 1005);
    assert_eq!((all[0].as_str(), all[1004].as_str()), ("f1001", "f2005"));
    // Also the last of them comes back byte for byte.
    repo.write("f2005", "spoilt\n");
    repo.git("checkpoint undo 1 -y -- f2005").ok();
    assert_eq!(repo.read("f2005"), "one\r\ntwo\n");
}

#[test]
fn git_shows_and_pushes_them_only_where_the_page_says() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.save("-m 'not in your history'");
    let log = |arguments: &str| {
        repo.git(&format!("log --format=%s {arguments}"))
            .ok()
            .lines()
    };
    assert_eq!(log(""), ["base"]);
    assert_eq!(log("--branches --tags --remotes"), ["base"]);
    assert_eq!(log("--exclude=refs/harness/* --all"), ["base"]);
    // With it they are shown, behind all commits of today.
    let all = log("--all");
    assert_eq!(all[0], "base");
    assert!(all.contains(&"not in your history".to_owned()), "{all:?}");
    repo.git("branch --all").ok().prints("* main");
    repo.git("describe --all").ok().prints("heads/main");

    repo.git("init -q --bare ../backup").ok();
    repo.git("remote add backup ../backup").ok();
    let pushed = |arguments: &str| {
        repo.git(&format!("push -q {arguments} backup")).ok();
        repo.git("--git-dir=../backup for-each-ref --format='%(refname)'")
            .ok()
            .lines()
    };
    assert_eq!(pushed("--all"), ["refs/heads/main"]);
    assert_eq!(pushed("--all --follow-tags"), ["refs/heads/main"]);
    let mirrored = pushed("--mirror");
    assert!(mirrored.contains(&FIRST.to_owned()), "{mirrored:?}");
}
