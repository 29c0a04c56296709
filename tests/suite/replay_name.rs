//! The name: git has a builtin `replay` since 2.44, and a builtin always wins.

use crate::common::Repo;
use crate::replay::Replay;

/// Whether this git has the builtin.
fn has_builtin(repo: &Repo) -> bool {
    repo.git("--list-cmds=builtins")
        .ok()
        .lines()
        .iter()
        .any(|name| name == "replay")
}

#[test]
fn our_names_are_free_but_for_this_one() {
    let repo = Repo::new();
    let builtins = repo.git("--list-cmds=builtins").ok().lines();
    let taken: Vec<&str> = ["checkpoint", "shadow", "replay", "trajectory"]
        .into_iter()
        .filter(|name| builtins.iter().any(|builtin| builtin == name))
        .collect();
    let wanted: &[&str] = if has_builtin(&repo) { &["replay"] } else { &[] };
    assert_eq!(taken, wanted);
}

#[test]
fn the_first_lines_say_how_to_reach_it() {
    let repo = Repo::new();
    let usage = repo.replay("-h").fails(129).out();
    let first: Vec<&str> = usage.lines().take(6).collect();
    assert!(
        first
            .iter()
            .any(|line| line.contains("git trajectory replay")),
        "{first:?}"
    );
    assert_eq!(
        repo.replay("--help").ok().out().lines().next(),
        usage.lines().next()
    );
}

#[test]
fn options_of_the_builtin_are_handed_over_to_it() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.git("checkout -q -b topic").ok();
    repo.write("b", "b\n");
    repo.commit_all("topic");
    repo.git("checkout -q main").ok();
    repo.write("c", "c\n");
    repo.commit_all("main");
    let outcome = repo.replay("--onto main main..topic");
    let exec = repo.git("--exec-path").ok().out();
    if has_builtin(&repo) && std::path::Path::new(&exec).join("git-replay").exists() {
        // The very words of git's own program, whatever they are in this version.
        let own = repo.git("-c core.abbrev=40 replay --onto main main..topic");
        assert_eq!(outcome.code(), own.code());
        // The new commit has a time of its own.
        let shape = |text: String| -> Vec<String> {
            let words = text.split_whitespace();
            let is_id =
                |word: &str| word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
            words
                .map(|word| if is_id(word) { "<id>" } else { word }.to_owned())
                .collect()
        };
        assert_eq!(shape(outcome.out()), shape(own.out()));
        assert_eq!(shape(outcome.err()), shape(own.err()));
        assert!(outcome.out().contains("refs/heads/topic"), "{outcome:?}");
    } else {
        outcome
            .fails(129)
            .says("options of git's own 'replay', which this git does not have");
    }
    // Not where the first word is ours.
    repo.replay("run --onto main").fails(129);
    repo.write("there.json", "[]");
    repo.replay("there.json --onto main").fails(129);
}

#[test]
fn git_replay_reaches_us_where_there_is_no_builtin() {
    let repo = Repo::with(&[("a", "a\n")]);
    let outcome = repo.git("replay --version");
    match has_builtin(&repo) {
        true => assert!(!outcome.out().starts_with("git-replay ")),
        false => assert!(outcome.ok().out().starts_with("git-replay ")),
    }
}

#[test]
fn under_the_name_that_git_cannot_take() {
    let repo = crate::common::Repo::new();
    let told = repo
        .git("trajectory replay show no-such-journal")
        .fails(128);
    assert!(told.err().contains("no-such-journal"), "{told:?}");
    // Its usage is git-replay's, its code too.
    let own = repo.program("git-replay", "-h");
    let through = repo.git("trajectory replay -h");
    assert_eq!((through.code(), through.out()), (own.code(), own.out()));
}
