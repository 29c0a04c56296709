//! What others do while a command of ours runs: the user's git moves HEAD and index
//! under a scan, two undos and many saves want the same tree.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use crate::common::{Outcome, Repo};

const FIRST: &str = "refs/harness/checkpoints/main/001";

/// A repository where every scan runs `act` (a line of shell, in its root): a clean
/// filter has the new file `x.f`.
fn scanned_while(act: &str) -> Repo {
    let repo = Repo::with(&[("a", "1\n"), (".gitattributes", "*.f filter=f\n")]);
    let clean = repo.script(
        "clean",
        &format!(
            // As git says to do it in another repository (git-rev-parse(1)).
            "unset $(git rev-parse --local-env-vars)\ncd '{}'\n\
             git() {{ command git -c core.hooksPath=/dev/null -c commit.gpgsign=false \"$@\"; }}\n\
             echo scan >>../scans\n({act}) >/dev/null\ncat",
            repo.root().display()
        ),
    );
    repo.run(["config", "filter.f.clean", clean.to_str().unwrap()])
        .ok();
    repo.git("config filter.f.smudge cat").ok();
    repo.write("x.f", "through the filter\n");
    repo
}

/// How many scans there were.
fn scans(repo: &Repo) -> usize {
    repo.read("../scans").lines().count()
}

const MOVED: &str = "warning: HEAD or the index moved while this was taken";

#[test]
fn head_that_moves_during_every_scan_is_said() {
    let repo = scanned_while("git commit -q --allow-empty -m more");
    repo.git("checkpoint save").ok().prints("001").says(MOVED);
    assert_eq!(
        repo.trailer(FIRST, "Harness-Moved"),
        ["HEAD or the index moved while this was taken"]
    );
    assert!(scans(&repo) >= 3, "it was tried {} times", scans(&repo));
    // HEAD is that of the last scan's begin: it is kept, whatever it was.
    let head = repo.trailer(FIRST, "Harness-Head").pop().unwrap();
    repo.git(&format!("merge-base --is-ancestor {} HEAD", &head[..40]))
        .ok();
    let content = repo.run(["cat-file", "blob", &format!("{FIRST}:x.f")]);
    content.ok().prints("through the filter");
    repo.fsck();
    repo.git("checkpoint fsck").ok();
}

#[test]
fn an_index_that_moves_during_every_scan_is_said() {
    let repo = scanned_while("date +%s%N >moving && git update-index --add moving");
    repo.git("checkpoint save").ok().prints("001").says(MOVED);
    assert_eq!(repo.trailer(FIRST, "Harness-Moved").len(), 1);
    repo.fsck();
    repo.git("checkpoint fsck").ok();
}

#[test]
fn what_moved_once_is_scanned_again_and_not_said() {
    let repo =
        scanned_while("test -e ../moved || { touch ../moved; git commit -q --allow-empty -m x; }");
    repo.git("checkpoint save").ok().prints("001").silent();
    assert!(repo.exists("../moved"));
    assert!(repo.trailer(FIRST, "Harness-Moved").is_empty());
    let head = repo.oid("HEAD");
    assert_eq!(
        repo.trailer(FIRST, "Harness-Head"),
        [format!("{head} refs/heads/main")]
    );
}

/// Runs all of `commands` (arguments of git) at once.
fn at_once(repo: &Repo, commands: &[&str]) -> Vec<Outcome> {
    let start = Barrier::new(commands.len());
    thread::scope(|scope| {
        let running: Vec<_> = commands
            .iter()
            .map(|command| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    repo.git(command)
                })
            })
            .collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

const FILES: usize = 40;

/// Two checkpoints of many files that are all 0 in the one, all 1 in the other, and on
/// disk all 2, which the third has.
fn all_or_nothing() -> Repo {
    let repo = Repo::new();
    for content in 0..3 {
        for file in 0..FILES {
            repo.write(format!("{}/f{file}", file % 4), format!("{content}\n"));
        }
        if content == 0 {
            repo.commit_all("base");
        }
        repo.save("");
    }
    repo
}

/// The one content that all files have.
#[track_caller]
fn content(repo: &Repo) -> String {
    let all: BTreeSet<String> = (0..FILES)
        .map(|file| repo.read(format!("{}/f{file}", file % 4)))
        .collect();
    assert_eq!(all.len(), 1, "a tree of two states: {all:?}");
    all.into_iter().next().unwrap()
}

/// Each checkpoint has one of the trees of the first three.
#[track_caller]
fn no_mixed_tree(repo: &Repo) {
    let whole: BTreeSet<String> = (1..=3).map(|number| repo.tree_of(number)).collect();
    for name in repo.checkpoints() {
        let tree = repo.oid(&format!("{name}^{{tree}}"));
        assert!(whole.contains(&tree), "{name} is of two states");
    }
    repo.git("checkpoint fsck").ok();
    repo.fsck();
    let status = repo.git("checkpoint status --json").ok().json();
    assert!(status["unfinished"].is_null(), "{status}");
}

#[test]
fn two_undos_at_once_are_one_after_the_other() {
    let repo = all_or_nothing();
    let mut ends = BTreeSet::new();
    for _ in 0..3 {
        for done in at_once(&repo, &["checkpoint undo 1 -y", "checkpoint undo 2 -y"]) {
            done.ok();
        }
        ends.insert(content(&repo));
        assert!(ends.iter().all(|end| end == "0\n" || end == "1\n"));
    }
    no_mixed_tree(&repo);
    // Every step is a step back.
    repo.git("checkpoint redo -y").ok();
    content(&repo);
}

#[test]
fn savers_beside_an_undo_see_it_whole_or_not_at_all() {
    let repo = all_or_nothing();
    for goal in ["1", "2", "1"] {
        let undo = format!("checkpoint undo {goal} -y");
        let save = "checkpoint save";
        for done in at_once(&repo, &[&undo, save, save, save, save]) {
            done.ok();
        }
        let expected = if goal == "1" { "0\n" } else { "1\n" };
        assert_eq!(content(&repo), expected);
    }
    no_mixed_tree(&repo);
    assert_eq!(repo.checkpoints().len(), 3 + 3 * 5);
}

#[test]
fn undo_and_redo_at_once_leave_one_state() {
    let repo = all_or_nothing();
    repo.git("checkpoint undo 1 -y").ok();
    for done in at_once(
        &repo,
        &[
            "checkpoint redo -y",
            "checkpoint undo 2 -y",
            "checkpoint save",
        ],
    ) {
        done.ok();
    }
    content(&repo);
    no_mixed_tree(&repo);
}
