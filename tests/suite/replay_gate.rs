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
    let xml = repo
        .replay("test ../fixtures --format=junit")
        .fails(1)
        .out();
    let found = elements(&xml);
    // The parts of the schema of Jenkins' xUnit plugin (junit-10.xsd) that we write: an
    // element, its parent, the attributes that must and those that may be there.
    let schema: &[(&str, &str, &[&str], &[&str])] = &[
        (
            "testsuites",
            "",
            &[],
            &["name", "time", "tests", "failures", "errors"],
        ),
        (
            "testsuite",
            "testsuites",
            &["name", "tests", "failures", "errors"],
            &[
                "time",
                "disabled",
                "skipped",
                "timestamp",
                "hostname",
                "id",
                "package",
            ],
        ),
        (
            "testcase",
            "testsuite",
            &["name", "classname"],
            &["assertions", "time", "status"],
        ),
        ("failure", "testcase", &[], &["type", "message"]),
        ("error", "testcase", &[], &["type", "message"]),
    ];
    for (name, parent, attributes) in &found {
        let (_, above, must, may) = schema.iter().find(|(element, ..)| element == name).unwrap();
        assert_eq!(parent, above, "<{name}>");
        for attribute in *must {
            assert!(
                attributes.iter().any(|(key, _)| key == attribute),
                "<{name}> without {attribute}"
            );
        }
        for (key, _) in attributes {
            assert!(
                must.contains(&key.as_str()) || may.contains(&key.as_str()),
                "<{name} {key}>"
            );
        }
    }
    let count = |name: &str| found.iter().filter(|(element, ..)| element == name).count();
    assert_eq!(
        (count("testcase"), count("failure"), count("error")),
        (3, 1, 1)
    );
    let suite = &found
        .iter()
        .find(|(name, ..)| name == "testsuite")
        .unwrap()
        .2;
    let attribute = |key: &str| {
        suite
            .iter()
            .find(|(name, _)| name == key)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(
        (
            attribute("tests"),
            attribute("failures"),
            attribute("errors")
        ),
        ("3".into(), "1".into(), "1".into())
    );
    let case = &found
        .iter()
        .find(|(name, ..)| name == "testcase")
        .unwrap()
        .2;
    assert!(
        case.contains(&("name".into(), "../fixtures/<odd> & #1.json".into())),
        "{case:?}"
    );
}

type Element = (String, String, Vec<(String, String)>);

/// The elements of `xml` with their parents and attributes; panics where it is
/// not well formed.
fn elements(xml: &str) -> Vec<Element> {
    let mut rest = xml
        .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
        .unwrap();
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(
            !text.contains('>') && plain(text).is_some(),
            "bad text: {text}"
        );
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, mut left) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while !left.trim().is_empty() {
            let (key, after) = left.trim_start().split_once("=\"").unwrap();
            let (value, after) = after.split_once('"').unwrap();
            assert!(!value.contains('<'), "bad attribute: {value}");
            attributes.push((key.to_owned(), plain(value).unwrap()));
            left = after;
        }
        found.push((
            name.to_owned(),
            open.last().cloned().unwrap_or_default(),
            attributes,
        ));
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    found
}

/// `text` without its references; `None` where a `&` begins none.
fn plain(text: &str) -> Option<String> {
    let mut parts = text.split('&');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';')?;
        plain.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            _ => return None,
        });
        plain.push_str(rest);
    }
    Some(plain)
}
