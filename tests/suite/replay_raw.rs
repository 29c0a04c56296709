//! Raw commits in a journal that say something else than what a reviewer reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::common::Repo;
use crate::replay::Replay;
use crate::replay_journal::{bytes_below, recorded};

/// The first commit of the journal `../j.json` with these bytes instead, whatever
/// they are, its id and its readable fields after `change`.
fn smuggled(repo: &Repo, headers: &str, message: Option<&str>, change: fn(&mut Value)) {
    let mut journal = repo.journal("../j.json");
    let commit = &mut journal[3]["commits"][0];
    let whole = match message {
        Some(message) => format!("{headers}\n{message}"),
        None => headers.to_owned(),
    };
    let oid = repo
        .feed("hash-object -t commit --literally --stdin", whole)
        .ok()
        .out();
    commit["oid"] = json!(oid);
    commit["x"]["headers"] = json!(headers);
    match message {
        Some(message) => commit["x"]["messageBase64"] = json!(STANDARD.encode(message)),
        None => drop(commit["x"].as_object_mut().unwrap().remove("messageBase64")),
    }
    change(commit);
    journal[3]["commits"].as_array_mut().unwrap().truncate(1);
    let lines: Vec<String> = journal.iter().map(Value::to_string).collect();
    repo.write("../bad.json", format!("[\n{}\n]\n", lines.join(",\n")));
}

#[test]
fn bytes_that_git_reads_otherwise_are_malformed() {
    let repo = recorded();
    let commit = repo.journal("../j.json")[3]["commits"][0].clone();
    let headers = commit["x"]["headers"].as_str().unwrap();
    let parent = headers.lines().nth(1).unwrap();
    let message = Some("first\n");
    let cases = [
        (
            "a second message",
            format!("{headers}\nAll is well\n"),
            message,
        ),
        ("an open end", headers.trim_end().to_owned(), message),
        ("a blank line first", format!("\n{headers}"), message),
        ("nothing", String::new(), message),
        (
            "the tree behind the parent",
            headers.lines().fold(String::new(), |all, line| match line {
                line if line.starts_with("tree ") => all,
                line if line == parent => {
                    format!("{all}{line}\n{}\n", headers.lines().next().unwrap())
                }
                line => format!("{all}{line}\n"),
            }),
            message,
        ),
        (
            "a parent that is none",
            headers.replace(parent, "parent x"),
            message,
        ),
        (
            "a folded author",
            headers.replace("\ncommitter", "\n x\ncommitter"),
            message,
        ),
    ];
    let before = bytes_below(repo.root());
    for (name, headers, message) in cases {
        smuggled(&repo, &headers, message, |_| {});
        let outcome = repo.replay("../bad.json --branch bad");
        assert_eq!(outcome.code(), Some(128), "{name}: {outcome:?}");
        let err = outcome.err();
        let said = "entry 4 (line 5), commit 1: 'x' is no commit: ";
        assert!(err.contains(said), "{name}: {err}");
    }
    assert_eq!(bytes_below(repo.root()), before);
}

#[test]
fn a_parent_stands_right_behind_the_tree_and_nowhere_else() {
    let repo = recorded();
    let commit = repo.journal("../j.json")[3]["commits"][0].clone();
    let headers = commit["x"]["headers"].as_str().unwrap();
    let parent = headers.lines().nth(1).unwrap();
    // To git this is a root commit, so it must not pass for one that stands on the base.
    let late = format!("{}{parent}\n", headers.replace(&format!("{parent}\n"), ""));
    smuggled(&repo, &late, Some("first\n"), |_| {});
    repo.replay("../bad.json --branch bad")
        .fails(128)
        .says("entry 4 (line 5), commit 1: 'x' and 'parents' do not say the same");
    smuggled(&repo, &late, Some("first\n"), |commit| {
        commit["x"]["parents"] = json!([]);
    });
    repo.replay("../bad.json --branch bad")
        .fails(128)
        .says("commit 1: its parent is not the commit before it");
    // Beside a real one it is only another header, and rebuilt as such.
    smuggled(
        &repo,
        &format!("{headers}{parent}\n"),
        Some("first\n"),
        |_| {},
    );
    repo.replay("../bad.json --branch kept").ok();
    assert_eq!(
        repo.git("rev-list --parents -1 kept")
            .ok()
            .out()
            .split(' ')
            .nth(1),
        parent.strip_prefix("parent ")
    );
}

#[test]
fn an_author_that_stands_twice_says_the_same_twice() {
    let repo = recorded();
    let commit = repo.journal("../j.json")[3]["commits"][0].clone();
    let headers = commit["x"]["headers"].as_str().unwrap();
    let other = "author Mallory <m@example.com> 1 +0000\n";
    smuggled(&repo, &format!("{headers}{other}"), Some("first\n"), |_| {});
    repo.replay("../bad.json --branch bad")
        .fails(128)
        .says("commit 1: 'x' and 'author' do not say the same");
}
