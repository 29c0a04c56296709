//! `git-replay test`: many journals as a gate in CI.

use serde_json::json;

use crate::common::Repo;
use crate::replay::Replay;
use crate::replay_commands::recorded;

/// The same with one journal that diverges and one that is broken.
fn gate() -> Repo {
    let repo = recorded();
    let mut journal = repo.journal("../fixtures/good.json");
    for commit in journal[3]["commits"].as_array_mut().unwrap() {
        commit.as_object_mut().unwrap().remove("x");
    }
    journal[3]["commits"][1]["tree"] = json!(repo.oid("main^{tree}"));
    repo.write(
        "../fixtures/<odd> & #1.json",
        serde_json::to_vec(&journal).unwrap(),
    );
    repo.write("../fixtures/broken.jsonl", "{\"kind\":1}\n");
    repo.write("../fixtures/README", "no journal\n");
    repo
}

#[test]
fn a_line_is_one_verdict_whatever_the_file_is_called() {
    let repo = recorded();
    let text = repo.read("../fixtures/good.json");
    repo.write("../fixtures/new\nline.json", text);
    let lines = repo.replay("test ../fixtures").ok().lines();
    assert_eq!(
        lines,
        [
            "passed   ../fixtures/good.json: 2 commits with the recorded ids",
            "passed   \"../fixtures/new\\nline.json\": 2 commits with the recorded ids",
        ]
    );
}

#[test]
fn a_folder_of_journals_is_a_gate() {
    let repo = gate();
    let outcome = repo.replay("test ../fixtures").fails(1);
    let lines = outcome.lines();
    assert!(
        lines[0].starts_with("diverged ../fixtures/<odd> & #1.json: tree: turn 1: commit "),
        "{lines:?}"
    );
    assert_eq!(
        lines[1],
        "error    ../fixtures/broken.jsonl: cannot read the journal '../fixtures/broken.jsonl': \
         entry 1 (line 1): 'kind' is the number 1, not a string"
    );
    assert_eq!(
        lines[2],
        "passed   ../fixtures/good.json: 2 commits with the recorded ids"
    );
    outcome.says("1 passed, 1 diverged, 1 in error");
    let found = repo
        .replay("test ../fixtures --format=json -j 2")
        .fails(1)
        .json();
    assert_eq!(
        (&found["passed"], &found["diverged"], &found["errors"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let verdicts: Vec<&str> = found["journals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|journal| journal["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["diverged", "error", "passed"]);
    assert_eq!(found["journals"][0]["divergences"][0]["kind"], "tree");
    let tap = repo
        .replay("test ../fixtures --format=tap")
        .fails(1)
        .lines();
    assert_eq!(tap[..2], ["TAP version 13", "1..3"]);
    assert_eq!(
        tap.iter()
            .filter(|line| line.starts_with("not ok "))
            .count(),
        2
    );
    assert!(
        tap.contains(&"ok 3 - ../fixtures/good.json".to_owned()),
        "{tap:?}"
    );
    assert!(
        tap.contains(&"not ok 1 - ../fixtures/<odd> & \\#1.json".to_owned()),
        "{tap:?}"
    );
    repo.replay("test ../fixtures/good.json ../fixtures/good.json")
        .ok();
    repo.replay("test ../fixtures/good.json --from run")
        .fails(1)
        .says("0 passed, 1 diverged");
    repo.mkdir("../empty");
    repo.replay("test ../empty")
        .fails(128)
        .says("holds no journals");
    repo.replay("test").fails(129);
}

#[test]
fn junit_is_valid_by_its_schema() {
    let repo = gate();
    if !repo.has_programs(&["xmllint"]) {
        return;
    }
    let xml = repo
        .replay("test ../fixtures --format=junit")
        .fails(1)
        .stdout;
    repo.write("../found.xml", &xml);
    repo.write("../junit.xsd", include_str!("../fixtures/junit.xsd"));
    let valid = || repo.sh("xmllint --nonet --noout --schema ../junit.xsd ../found.xml");
    valid().ok();
    let found = |path: &str| {
        let outcome = repo.sh(&format!("xmllint --nonet --xpath '{path}' ../found.xml"));
        outcome.ok().out()
    };
    for (path, expected) in [
        ("count(//testcase)", "3"),
        ("count(//testcase[failure])", "1"),
        ("count(//testcase[error])", "1"),
        ("string(//testsuite/@tests)", "3"),
        ("string(//testsuite/@failures)", "1"),
        ("string(//testsuite/@errors)", "1"),
        ("string(//testcase[1]/@name)", "../fixtures/<odd> & #1.json"),
    ] {
        assert_eq!(found(path), expected, "{path}");
    }
    // The schema is one that can be broken.
    for (right, wrong) in [
        ("<testcase ", "<test "),
        ("classname=", "class="),
        ("time=\"", "time=\"about "),
        ("</testsuite>", "<testcase/></testsuite>"),
    ] {
        repo.write("../found.xml", text(&xml).replacen(right, wrong, 1));
        assert_ne!(valid().code(), Some(0), "{wrong}");
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
