//! Killed at any instant: no ref without its objects, nothing that fsck minds,
//! and running it again completes it. A debug build is killed right before the
//! n-th step when `HARNESS_TEST_CRASH` is n.

use crate::common::Repo;
use crate::replay::Replay;

/// No replay takes as many steps in these small scenes.
const FAR: usize = 200;

/// Replays in copies of `scene`, killed before the 1st, 2nd, … step; gives how
/// many steps there were.
#[track_caller]
fn kill_at_every_step(scene: &Repo, journal: &str, tip: &str) -> usize {
    let refs = scene.refs();
    for step in 1..FAR {
        let copy = scene.duplicate();
        let command = format!("{journal} --branch rebuilt");
        let outcome = copy
            .env("HARNESS_TEST_CRASH", step.to_string())
            .replay(&command);
        if outcome.code() == Some(0) {
            return step - 1;
        }
        assert_eq!(outcome.signal(), Some(9), "step {step}: {outcome:?}");
        // What it left is invisible: the branch is made by the last step of all.
        assert_eq!(copy.refs(), refs, "step {step}");
        copy.git("fsck --strict").ok();
        assert_eq!(copy.git("status --porcelain").ok().out(), "");
        copy.replay(&command).ok();
        assert_eq!(copy.oid("rebuilt"), tip, "step {step}");
        copy.git("fsck --strict").ok();
        copy.git("gc -q --prune=now").ok();
        let left = copy.sh("find .git/objects -name 'tmp_*'").ok().out();
        assert_eq!(left, "", "step {step}");
    }
    panic!("it never ends");
}

/// A fresh repository without the run, the run's tip, and its journal.
fn scene(commits: usize, options: &str) -> (Repo, String, String) {
    let repo = Repo::with(&[("a", "a\n"), ("d/b", "b\n")]);
    repo.git("checkout -q -b run").ok();
    for number in 0..commits {
        repo.write("d/b", format!("{number}\n"));
        repo.write(format!("d/new{number}"), format!("new {number}\n"));
        repo.commit_all("change");
    }
    let fresh = repo.fresh("main");
    let journal = fresh.scene().join("j.json").display().to_string();
    repo.replay(&format!(
        "record main..run --no-prompt {options} -o {journal}"
    ))
    .ok();
    (fresh, repo.oid("run"), journal)
}

#[test]
fn a_small_replay_can_be_killed_anywhere() {
    let (repo, tip, journal) = scene(2, "");
    assert!(kill_at_every_step(&repo, &journal, &tip) >= 4);
}

#[test]
fn a_large_replay_can_be_killed_anywhere() {
    // More objects than are stored loose: they come as a pack.
    let (repo, tip, journal) = scene(30, "");
    assert!(kill_at_every_step(&repo, &journal, &tip) >= 4);
}

#[test]
fn a_replay_with_git_at_work_can_be_killed_anywhere() {
    let (repo, tip, journal) = scene(2, "--patches=text");
    // Without its ids a text patch is left to git, which writes into the quarantine.
    let text = repo.read(&journal);
    let bare = text
        .split("\\n")
        .filter(|line| !line.starts_with("index "))
        .collect::<Vec<_>>();
    repo.write(&journal, bare.join("\\n"));
    assert!(kill_at_every_step(&repo, &journal, &tip) >= 4);
}
