//! What a journal may look like, and what it may not.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::Repo;
use crate::replay::Replay;

/// A repository and its journal `../j.json` of two commits in readable patches.
pub(crate) fn recorded() -> Repo {
    let repo = Repo::with(&[("a", "a\n"), ("b", "b\n")]);
    repo.link("a", "link");
    repo.commit_all("link");
    repo.git("checkout -q -b run").ok();
    repo.write("a", "A\n");
    repo.commit_all("first");
    repo.write("b", b"B\0\n");
    repo.commit_all("second");
    repo.git("checkout -q main").ok();
    repo.replay("record main..run -o ../j.json --prompt p --patches=text")
        .ok();
    repo
}

/// Every file below `folder` and its bytes.
pub(crate) fn bytes_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        found.insert(folder.clone(), Vec::new());
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                folders.push(path);
            } else {
                let bytes = match path.is_symlink() {
                    true => std::fs::read_link(&path)
                        .unwrap()
                        .into_os_string()
                        .into_encoded_bytes(),
                    false => std::fs::read(&path).unwrap(),
                };
                found.insert(path, bytes);
            }
        }
    }
    found
}

#[test]
fn every_container_is_read() {
    let repo = recorded();
    let array = repo.read("../j.json");
    repo.replay("convert ../j.json ../j.jsonl").ok();
    let lines = repo.read("../j.jsonl");
    assert_eq!(lines.lines().count(), 5);
    let entries: Vec<Value> = serde_json::from_str(&array).unwrap();
    let forms = [
        ("as written", array.clone()),
        ("one line", serde_json::to_string(&entries).unwrap()),
        ("pretty", serde_json::to_string_pretty(&entries).unwrap()),
        ("byte order mark", format!("\u{feff}{array}")),
        ("CRLF", array.replace('\n', "\r\n")),
        ("lines", lines.clone()),
        (
            "lines with CRLF and blanks",
            format!("\u{feff}\r\n{}", lines.replace('\n', "\r\n\r\n")),
        ),
        ("no final newline", lines.trim_end().to_owned()),
    ];
    for (name, text) in forms {
        repo.write("../form", &text);
        let outcome = repo.replay("../form --check").ok();
        outcome.says("2 commits with the recorded ids");
        let _ = name;
    }
    // From standard input, too.
    repo.sh_ours("git-replay - --check <../j.jsonl")
        .ok()
        .says("journal: 2 commits");
}

#[test]
fn a_torn_last_line_is_said_and_left_out() {
    let repo = recorded();
    repo.replay("convert ../j.json ../j.jsonl").ok();
    let lines = repo.read("../j.jsonl");
    let end = lines.len() - 10;
    repo.write("../torn.jsonl", &lines[..end]);
    repo.replay("../torn.jsonl --check")
        .ok()
        .says("warning: '../torn.jsonl': line 5 is torn");
    assert_eq!(
        repo.replay("../torn.jsonl --json").ok().json()["torn_line"],
        5
    );
    // In the middle it is not torn but broken.
    repo.write("../broken.jsonl", lines.replacen("}\n", "\n", 1));
    repo.replay("../broken.jsonl")
        .fails(128)
        .says("entry 1 (line 1)");
}

#[test]
fn a_storage_folder_of_outpost_is_read() {
    let repo = recorded();
    let storage = repo.scene().join("storage");
    store(&storage, "one", &repo.journal("../j.json"));
    repo.replay("../storage --check")
        .ok()
        .says("storage: 2 commits with the recorded ids");
    store(&storage, "two", &repo.journal("../j.json"));
    repo.replay("../storage --check")
        .fails(128)
        .says("it holds 2 logs")
        .says("hint: name one: ../storage#one")
        .says("hint: name one: ../storage#two");
    repo.replay("../storage#two")
        .ok()
        .says("branch 'replay/two-");
    repo.replay("bisect ../j.json ../storage#one")
        .ok()
        .says("they do not part");
    repo.replay("../storage#../two").fails(128);
    repo.replay("../storage#three").fails(128);
    // A log that was changed while it was read, a loop, a header of another size, a link.
    let segment = storage.join("objects/logs/one/s1.object");
    let good = std::fs::read(&segment).unwrap();
    let broken = |from: &str, to: &str, why: &str| {
        let text = String::from_utf8(good.clone()).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        std::fs::write(&segment, text.replacen(from, to, 1)).unwrap();
        repo.replay("../storage#one --check").fails(128).says(why);
        std::fs::write(&segment, &good).unwrap();
    };
    broken(
        "\"revision\":\"r1\"",
        "\"revision\":\"r9\"",
        "changed while",
    );
    broken("\"size\":", "\"size\":1", "names another size");
    broken("logs/one/s1", "logs/one/s9", "names another key");
    broken(
        "\"key\":\"logs/one/s0\"",
        "\"key\":\"logs/one/s3\"",
        "twice in its own chain",
    );
    std::fs::rename(&segment, storage.join("moved")).unwrap();
    symlink(storage.join("moved"), &segment).unwrap();
    repo.replay("../storage#one --check")
        .fails(128)
        .says("cannot read");
}

/// Writes `events` as the log `name` of a storage folder.
fn store(storage: &Path, name: &str, events: &[Value]) {
    let folder = storage.join("objects/logs").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let object = |key: &str, revision: &str, payload: Value| {
        let payload = payload.to_string();
        let header = json!({"key": format!("logs/{name}/{key}"), "revision": revision,
            "size": payload.len(), "modifiedAt": "2026-01-01T00:00:00.000Z"});
        let text = format!("{:<1024}{payload}", header.to_string());
        std::fs::write(folder.join(format!("{key}.object")), text).unwrap();
    };
    let mut previous = Value::Null;
    for (number, event) in events.iter().enumerate() {
        let (key, revision) = (format!("s{number}"), format!("r{number}"));
        object(
            &key,
            &revision,
            json!({"previous": previous, "event": event}),
        );
        previous = json!({"key": format!("logs/{name}/{key}"), "revision": revision});
    }
    object("index", "r", json!({"closed": true, "head": previous}));
}

#[test]
fn a_trimmed_patch_is_mended() {
    let repo = recorded();
    for form in ["text", "binary"] {
        repo.replay(&format!(
            "convert ../j.json ../form.json --yes --patches={form}"
        ))
        .ok();
        let mut journal = repo.journal("../form.json");
        for commit in journal[3]["commits"].as_array_mut().unwrap() {
            let patch = commit["patch"].as_str().unwrap().trim_end().to_owned();
            commit["patch"] = patch.into();
        }
        repo.write("../form.json", serde_json::to_vec(&journal).unwrap());
        repo.replay("../form.json --check")
            .ok()
            .says("2 commits with the recorded ids");
    }
}

#[test]
fn bounds_are_errors_and_never_cuts() {
    let repo = recorded();
    let big = repo.scene().join("big.json");
    let bytes = |n: u64| std::fs::File::create(&big).unwrap().set_len(n).unwrap();
    bytes((64 << 20) + 1);
    repo.replay("../big.json")
        .fails(128)
        .says("67108865 bytes, more than the 67108864 of journal.maxSize");
    let size = repo.bytes("../j.json").len();
    repo.git(&format!("config journal.maxSize {size}")).ok();
    repo.replay("../j.json --check").ok();
    repo.git(&format!("config journal.maxSize {}", size - 1))
        .ok();
    repo.replay("../j.json --check")
        .fails(128)
        .says("of journal.maxSize");
    repo.sh_ours("git-replay - --check <../j.json")
        .fails(128)
        .says("of journal.maxSize");
    repo.git("config --unset journal.maxSize").ok();
    let many = format!("{}{{\"kind\":\"x\"}}", "{\"kind\":\"x\"}\n".repeat(100_000));
    repo.write("../many.jsonl", many);
    repo.replay("../many.jsonl")
        .fails(128)
        .says("it has more than 100000 entries");
}

#[test]
fn what_is_new_in_a_journal_is_skipped() {
    let repo = recorded();
    let mut journal = repo.journal("../j.json");
    journal.insert(
        2,
        json!({"kind": "brand-new", "source": "agent", "what": {"ever": [1]}}),
    );
    journal.push(json!({"kind": "later", "source": "moon"}));
    journal[4]["commits"][0]["x"]["more"] = json!(1);
    journal[4]["commits"][1]["x"] = json!({"v": 2, "other": true});
    journal[4]["new"] = json!(1);
    repo.write("../new.json", serde_json::to_vec(&journal).unwrap());
    repo.replay("../new.json --check")
        .ok()
        .says("2 commits with the recorded ids");
}

#[test]
fn a_journal_of_another_object_format_is_refused() {
    let repo = recorded();
    let other = Repo::init("--object-format=sha256");
    let path = repo.path("../j.json").display().to_string();
    other
        .replay(&path)
        .fails(128)
        .says("ids of another kind than this sha256 repository");
}
