//! Ignored data that someone declared, databases among them, and what is never
//! captured.

use std::process::{Child, Command, Stdio};

use crate::common::Repo;

fn project() -> Repo {
    let repo = Repo::with(&[(".gitignore", "data/\n*.log\n"), ("a", "1\n")]);
    repo.write("data/settings", "old\n");
    repo.write("data/other", "not declared\n");
    repo
}

#[test]
fn what_is_declared_comes_back_and_the_rest_stays() {
    let repo = project();
    repo.git("config checkpoint.include data/settings").ok();
    repo.save("");
    repo.write("data/settings", "new\n");
    repo.write("data/other", "changed\n");
    repo.git("checkpoint undo --to 1 -y").ok();
    assert_eq!(repo.read("data/settings"), "old\n");
    assert_eq!(repo.read("data/other"), "changed\n");
    repo.git("checkpoint redo -y").ok();
    assert_eq!(repo.read("data/settings"), "new\n");
    repo.fsck();
}

#[test]
fn once_on_the_command_line() {
    let repo = project();
    let saved = repo
        .in_dir("data")
        .git("checkpoint save --include settings --json")
        .ok()
        .json();
    let tree = saved["tree"].as_str().unwrap();
    let listed = repo
        .git(&format!("ls-tree -r --name-only {tree}"))
        .ok()
        .out();
    assert_eq!(listed, ".gitignore\na\ndata/settings");
    assert_eq!(
        repo.trailer("refs/harness/checkpoints/main/001", "Harness-Include"),
        ["data/settings"]
    );
    // Declared then: it is looked at now, too, without being asked for again.
    repo.remove("data/settings");
    repo.git("checkpoint undo --to 1 -y").ok();
    assert_eq!(repo.read("data/settings"), "old\n");
}

#[test]
fn what_was_not_declared_then_is_not_deleted_now() {
    let repo = project();
    repo.save("");
    repo.git("config checkpoint.include data").ok();
    repo.write("a", "2\n");
    repo.git("checkpoint undo --to 1 -y").ok();
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("data/settings"), "old\n");
}

#[test]
fn what_is_excluded_is_never_captured_nor_touched() {
    let repo = Repo::with(&[("a", "1\n"), ("keys/tracked", "k 1\n")]);
    repo.git("config checkpoint.exclude keys").ok();
    repo.write("keys/new", "n 1\n");
    repo.write("keys/tracked", "k 2\n");
    let saved = repo.save("");
    let tree = saved["tree"].as_str().unwrap();
    let shown = repo.git(&format!("show {tree}:keys/tracked")).ok().out();
    assert_eq!(shown, "k 1", "as the index has it");
    repo.git(&format!("cat-file -e {tree}:keys/new")).fails(128);
    repo.write("keys/new", "n 2\n");
    repo.write("keys/tracked", "k 3\n");
    repo.write("a", "2\n");
    repo.git("checkpoint undo --to 1 -y").ok();
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.read("keys/new"), "n 2\n");
    assert_eq!(repo.read("keys/tracked"), "k 3\n");
}

/// A process that writes to a database until it is killed, two rows a
/// transaction whose sum is 0; it has written when this returns.
fn writer(repo: &Repo) -> Option<Child> {
    use std::io::{BufRead, BufReader};
    if !repo.has_programs(&["python3", "sqlite3"]) {
        return None;
    }
    let script = "\
import sqlite3, sys
c = sqlite3.connect('data/app.db')
c.execute('pragma journal_mode=wal')
c.execute('pragma wal_autocheckpoint=100000')
c.execute('create table t (x)')
n = 0
while True:
    n += 1
    with c:
        c.execute('insert into t values (?)', (n,))
        c.execute('insert into t values (?)', (-n,))
    if n == 50:
        print('going', flush=True)
";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .current_dir(repo.root())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "going\n");
    Some(child)
}

#[test]
fn a_database_under_a_live_writer_comes_back_consistent() {
    let repo = project();
    repo.git("config checkpoint.include 'data/*.db'").ok();
    let Some(mut writing) = writer(&repo) else {
        return;
    };
    for _ in 0..5 {
        repo.git("checkpoint save").ok();
    }
    let refused = repo.git("checkpoint undo --to 1 --others=revert").fails(1);
    writing.kill().unwrap();
    writing.wait().unwrap();
    refused.says("data/app.db: it is open in process");
    for number in 1..=5 {
        repo.git(&format!("checkpoint undo --to {number} --others=revert"))
            .ok();
        let sound = repo
            .sh("sqlite3 data/app.db 'pragma integrity_check; select sum(x), count(*) >= 100 from t'")
            .ok();
        assert_eq!(sound.out(), "ok\n0|1", "checkpoint {number}");
    }
    repo.fsck();
}
