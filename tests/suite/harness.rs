//! The harness itself: what the other tests lean on must hold.

use std::collections::BTreeSet;
use std::fs;

use crate::common::Repo;

#[test]
fn no_test_file_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite");
    let files: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned()))
        .filter(|name| name != "main")
        .collect();
    let declared: BTreeSet<String> = fs::read_to_string(format!("{folder}/main.rs"))
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned()))
        .collect();
    assert_eq!(files, declared);
}

#[test]
fn git_finds_our_program_and_a_quiet_world() {
    let repo = Repo::new();
    repo.git("checkpoint --version").ok();
    repo.git("config user.name").ok().prints("A U Thor");
    repo.git("symbolic-ref HEAD").ok().prints("refs/heads/main");
    assert!(repo.home().starts_with(repo.scene()));
}

#[test]
fn the_oracle_sees_what_git_add_sees_and_leaves_no_trace() {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "2\n")]);
    repo.write("a", "changed\n");
    repo.write("new", "3\n");
    let before = repo.fingerprint();
    let objects = repo.git("count-objects -v").ok().out();
    let tree = repo.oracle_tree();
    assert_eq!(repo.git("count-objects -v").ok().out(), objects);
    assert_eq!(repo.fingerprint(), before);
    repo.fsck();
    repo.git("add -A").ok();
    assert_eq!(repo.git("write-tree").ok().out(), tree);
}

#[test]
fn a_duplicate_is_equal_and_apart() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.link("a", "l");
    let copy = repo.duplicate();
    assert_eq!(copy.disk(), repo.disk());
    copy.write("a", "2\n");
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_linked_worktree_is_seen_from_its_own_folder() {
    let repo = Repo::with(&[("a", "1\n")]);
    let linked = repo.worktree("side");
    assert_ne!(linked.git_dir(), repo.git_dir());
    assert_eq!(linked.common_dir(), repo.common_dir());
    assert_eq!(
        linked.in_dir(".").git("rev-parse --show-prefix").ok().out(),
        ""
    );
}

#[test]
fn an_outcome_has_codes_signals_and_streams() {
    let repo = Repo::new();
    let died = repo.sh("kill -9 $$");
    assert_eq!((died.code(), died.signal()), (None, Some(9)));
    let spoke = repo
        .sh("echo '{\"n\":1}'; printf '\\033[33mwarn\\033[m\\n' >&2; exit 3")
        .fails(3);
    let spoke = spoke.says("warn").never_says("fatal").prints("{\"n\":1}");
    assert_eq!(spoke.json()["n"], 1);
    assert_eq!(spoke.err(), "warn");
    repo.sh("true").ok().silent();
    let blob = repo.feed("hash-object --stdin", "x\n").ok().out();
    assert_eq!(blob, "587be6b4c3f93f93c489c0111bba5596147a26cb");
    repo.feed("hash-object -w --stdin", "x\n").ok();
    assert_eq!(repo.oid(&blob), blob);
}

#[test]
fn our_programs_and_the_users_git_see_what_is_meant_for_them() {
    let repo = Repo::new();
    let pager = |said: String| said.lines().any(|line| line.starts_with("PAGER="));
    assert!(!pager(repo.sh("env").ok().out()));
    let hostile = std::env::var_os("HARNESS_TEST_HOSTILE").is_some_and(|v| v == "1");
    assert_eq!(pager(repo.sh_ours("env").ok().out()), hostile);
    repo.without_env("HOME").sh("test -z \"$HOME\"").ok();
    repo.env("X", "y z").sh("test \"$X\" = 'y z'").ok();
}

#[test]
fn files_are_handled_tersely() {
    let repo = Repo::new();
    repo.write("a/b", "1");
    repo.append("a/b", "2");
    assert_eq!(repo.bytes("a/b"), b"12");
    let stamp = repo.stamp("a/b");
    repo.rename("a/b", "c/d");
    assert_eq!(repo.stamp("c/d"), stamp);
    repo.chmod("c/d", 0o755);
    assert_eq!(repo.mode("c/d"), 0o755);
    repo.mkdir("empty");
    repo.remove("a");
    assert!(!repo.exists("a") && repo.exists("empty"));
    assert_eq!(
        format!("{:?}", repo.disk()),
        "\n  c/: \n  c/d: x 12\n  empty/: \n"
    );
    assert!(repo.path("c").starts_with(repo.root()));
    Repo::outside().git("rev-parse").fails(128);
}

#[test]
fn a_terminal_answers_a_program_that_asks() {
    let repo = Repo::new();
    let script = repo.script(
        "ask",
        "test -t 0 && test -t 2 && echo ready && read x && echo got $x",
    );
    repo.run(["config", "alias.ask", &format!("!{}", script.display())])
        .ok();
    repo.git("ask").fails(1);
    let mut terminal = repo.on_terminal(&["ask"]);
    terminal.shows("ready");
    terminal.press("hello\r");
    terminal.shows("got hello");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_terminal_chooses_one_of_several_answers() {
    let repo = Repo::new();
    // What a question of ours looks like: the answers, the chosen one with `>`.
    let script = repo.script(
        "choose",
        "stty -icanon -echo; echo '> revert'; dd bs=1 count=3 2>/dev/null >&2; \
         echo '> keep'; echo picked $(dd bs=1 count=1 2>/dev/null | od -An -tx1)",
    );
    repo.run(["config", "alias.choose", &format!("!{}", script.display())])
        .ok();
    let mut terminal = repo.on_terminal(&["choose"]);
    terminal.choose("keep");
    terminal.shows("picked 0a");
    assert_eq!(terminal.ends().0, 0);
}
