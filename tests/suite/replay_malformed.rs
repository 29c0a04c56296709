//! What a journal must not be: each case is refused with its entry and line,
//! and nothing is written.

use serde_json::{Value, json};

use crate::replay::Replay;
use crate::replay_journal::{bytes_below, recorded};

/// Changes that make the journal malformed: a name, what is done to the entries,
/// and what must be said.
type Case = (&'static str, fn(&mut Vec<Value>), &'static str);

const WORKSPACE: usize = 3;

fn commit(journal: &mut [Value]) -> &mut Value {
    &mut journal[WORKSPACE]["commits"][0]
}

/// Takes our raw commits away, so that only the plain fields are judged.
fn plain(journal: &mut [Value]) -> &mut Value {
    for commit in journal[WORKSPACE]["commits"].as_array_mut().unwrap() {
        commit.as_object_mut().unwrap().remove("x");
    }
    commit(journal)
}

const MALFORMED: &[Case] = &[
    (
        "entry null",
        |j| j[1] = json!(null),
        "entry 2 (line 3) is null, not an object",
    ),
    (
        "entry array",
        |j| j[1] = json!([]),
        "entry 2 (line 3) is an array, not an object",
    ),
    (
        "entry number",
        |j| j[4] = json!(7),
        "entry 5 (line 6) is the number 7",
    ),
    (
        "no kind",
        |j| drop(j[1].as_object_mut().unwrap().remove("kind")),
        "entry 2 (line 3): 'kind' is missing",
    ),
    (
        "kind number",
        |j| j[1]["kind"] = json!(1),
        "entry 2 (line 3): 'kind' is the number 1, not a string",
    ),
    (
        "source list",
        |j| j[1]["source"] = json!(["agent"]),
        "entry 2 (line 3): 'source' is an array",
    ),
    ("no prompt", |j| drop(j.remove(1)), "it has no agent turn"),
    ("empty", |j| j.clear(), "it has no agent turn"),
    (
        "prompt without text",
        |j| drop(j[1].as_object_mut().unwrap().remove("text")),
        "entry 2 (line 3): 'text' is missing",
    ),
    (
        "prompt text null",
        |j| j[1]["text"] = json!(null),
        "entry 2 (line 3): 'text' is null",
    ),
    (
        "marks of no version",
        |j| j[1]["x"] = json!({"prompt": {"cut": true}}),
        "entry 2 (line 3), x: 'v' is missing",
    ),
    (
        "mark is text",
        |j| j[1]["x"] = json!({"v": 1, "prompt": {"cut": "yes"}}),
        "'cut' is a string, not true or false",
    ),
    (
        "tokens missing",
        |j| drop(j[2].as_object_mut().unwrap().remove("tokens")),
        "entry 3 (line 4): 'tokens' is missing",
    ),
    (
        "tokens negative",
        |j| j[2]["tokens"]["input"] = json!(-1),
        "entry 3 (line 4), tokens: 'input' is the number -1",
    ),
    (
        "tokens half",
        |j| j[2]["tokens"]["output"] = json!(1.5),
        "'output' is the number 1.5",
    ),
    (
        "tokens huge",
        |j| j[2]["tokens"]["cached"] = json!(9_007_199_254_740_992_u64),
        "'cached' is the number 9007199254740992",
    ),
    (
        "tokens text",
        |j| j[2]["tokens"] = json!("many"),
        "'tokens' is a string, not an object",
    ),
    (
        "dispatch error text",
        |j| j[4]["error"] = json!("bad"),
        "entry 5 (line 6): 'error' is a string",
    ),
    (
        "dispatch error empty",
        |j| j[4]["error"] = json!({}),
        "entry 5 (line 6), error: 'message' is missing",
    ),
    (
        "failure without message",
        |j| j.insert(2, json!({"kind": "failure", "source": "agent"})),
        "entry 3 (line 4): 'message' is missing",
    ),
    (
        "fallback alone",
        |j| j.insert(2, json!({"kind": "fallback", "source": "agent"})),
        "entry 3 (line 4): 'from' is missing",
    ),
    (
        "fallback of a new kind",
        |j| {
            j.insert(
                2,
                json!({"kind": "fallback", "source": "agent", "message": "m", "failure": "boredom",
        "from": {"index": 0, "name": "a"}, "to": {"index": 1, "name": "b"}}),
            )
        },
        "'failure' is neither 'quota' nor 'unavailable'",
    ),
    (
        "steer without mode",
        |j| j.insert(2, json!({"kind": "steer", "source": "agent", "text": "t"})),
        "entry 3 (line 4): 'mode' is missing",
    ),
    (
        "no baseline",
        |j| drop(j[3].as_object_mut().unwrap().remove("baseline")),
        "entry 4 (line 5): 'baseline' is missing",
    ),
    (
        "baseline text",
        |j| j[3]["baseline"] = json!("main"),
        "entry 4 (line 5): 'baseline' is a string",
    ),
    (
        "baseline short",
        |j| j[3]["baseline"]["commit"] = json!("abc"),
        "entry 4 (line 5), baseline: 'commit' must be an object id",
    ),
    (
        "no commits",
        |j| drop(j[3].as_object_mut().unwrap().remove("commits")),
        "entry 4 (line 5): 'commits' is missing",
    ),
    (
        "commits object",
        |j| j[3]["commits"] = json!({}),
        "entry 4 (line 5): 'commits' is an object",
    ),
    (
        "commit null",
        |j| *commit(j) = json!(null),
        "entry 4 (line 5), commit 1 is null",
    ),
    (
        "unavailable true",
        |j| j[3]["unavailable"] = json!(true),
        "entry 4 (line 5): 'unavailable' is true, not a string",
    ),
    (
        "oid upper case",
        |j| commit(j)["oid"] = json!("A".repeat(40)),
        "commit 1: 'oid' must be an object id",
    ),
    (
        "oid of 41",
        |j| commit(j)["oid"] = json!("a".repeat(41)),
        "commit 1: 'oid' must be an object id",
    ),
    (
        "oid of 64 among 40",
        |j| plain(j)["oid"] = json!("a".repeat(64)),
        "ids of 40 and of 64 hex digits are mixed",
    ),
    (
        "no tree",
        |j| drop(commit(j).as_object_mut().unwrap().remove("tree")),
        "commit 1: 'tree' is missing",
    ),
    (
        "author text",
        |j| commit(j)["author"] = json!("A <a@b>"),
        "commit 1: 'author' is a string",
    ),
    (
        "no email",
        |j| drop(commit(j)["author"].as_object_mut().unwrap().remove("email")),
        "commit 1, author: 'email' is missing",
    ),
    (
        "NUL in a name",
        |j| plain(j)["author"]["name"] = json!("a\0b"),
        "commit 1: author: 'name' holds a NUL",
    ),
    (
        "newline in a name",
        |j| plain(j)["author"]["name"] = json!("a\nparent x"),
        "'name' holds a NUL, a newline",
    ),
    (
        "bracket in an address",
        |j| plain(j)["committer"]["email"] = json!("a>b"),
        "committer: 'email' holds",
    ),
    (
        "date in words",
        |j| plain(j)["author"]["date"] = json!("today"),
        "'date' is not '<seconds> <+hhmm>' but 'today'",
    ),
    (
        "zone of six",
        |j| plain(j)["author"]["date"] = json!("1 +051800"),
        "'date' is not",
    ),
    (
        "no message",
        |j| drop(commit(j).as_object_mut().unwrap().remove("message")),
        "commit 1: 'message' is missing",
    ),
    (
        "patch list",
        |j| commit(j)["patch"] = json!([]),
        "commit 1: 'patch' is an array",
    ),
    (
        "another author than in x",
        |j| commit(j)["author"]["name"] = json!("Mallory"),
        "commit 1: 'x' and 'author' do not say the same",
    ),
    (
        "another committer",
        |j| commit(j)["committer"]["date"] = json!("1 +0000"),
        "'x' and 'committer' do not",
    ),
    (
        "another message",
        |j| commit(j)["message"] = json!("harmless\n"),
        "'x' and 'message' do not",
    ),
    (
        "another tree",
        |j| commit(j)["tree"] = json!("1".repeat(40)),
        "'x' and 'tree' do not",
    ),
    (
        "another id",
        |j| commit(j)["oid"] = json!("1".repeat(40)),
        "'x' and 'oid' do not",
    ),
    (
        "other parents",
        |j| commit(j)["x"]["parents"] = json!([]),
        "'x' and 'parents' do not",
    ),
    (
        "raw headers with another author",
        |j| {
            let headers = commit(j)["x"]["headers"]
                .as_str()
                .unwrap()
                .replace("A U Thor", "Mallory");
            commit(j)["x"]["headers"] = json!(headers);
        },
        "'x' and 'author' do not",
    ),
    (
        "x without version",
        |j| commit(j)["x"] = json!({}),
        "commit 1, x: 'v' is missing",
    ),
    (
        "x without headers",
        |j| drop(commit(j)["x"].as_object_mut().unwrap().remove("headers")),
        "commit 1, x: 'headers' is missing",
    ),
    (
        "x in bad base64",
        |j| commit(j)["x"]["messageBase64"] = json!("%"),
        "'messageBase64' is no base64",
    ),
    (
        "order changed",
        |j| j[WORKSPACE]["commits"].as_array_mut().unwrap().reverse(),
        "commit 1: its parent is not the commit before it",
    ),
    (
        "patch out of the tree",
        |j| rename(j, "../x"),
        "commit 1: its patch names '../x', a path that leaves its folder",
    ),
    (
        "patch into .git",
        |j| rename(j, ".git/hooks/x"),
        "commit 1: its patch names '.git/hooks/x', a path inside a git folder",
    ),
    (
        "patch into .GIT",
        |j| rename(j, "a/.GIT/x"),
        "a path inside a git folder",
    ),
    (
        "patch through a link",
        |j| rename(j, "link/x"),
        "its patch writes through the link 'link'",
    ),
    (
        "foreign patch out of the tree",
        |j| foreign(j, "../x"),
        "entry 4 (line 5), commit 1: its patch names '../x', a path that leaves its folder",
    ),
    (
        "foreign patch into .git",
        |j| foreign(j, ".git/hooks/x"),
        "commit 1: its patch names '.git/hooks/x', a path inside a git folder",
    ),
    (
        "renamed into .git",
        |j| {
            plain(j)["patch"] = json!(
                "diff --git a/a b/x\nsimilarity index 100%\nrename from a\nrename to .git/x\n"
            )
        },
        "commit 1: its patch names '.git/x', a path inside a git folder",
    ),
    (
        "foreign patch through a link",
        |j| foreign(j, "link/x"),
        "its patch writes through a link: error: ",
    ),
];

/// Lets the first commit change `path` by a patch as other programs write it,
/// which is left to git.
fn foreign(journal: &mut [Value], path: &str) {
    plain(journal)["patch"] = json!(format!(
        "--- a/{path}\t2026-01-01 00:00:00\n+++ b/{path}\t2026-01-01 00:00:00\n@@ -0,0 +1 @@\n+Hello\n"
    ));
}

/// Lets the first commit create `path`.
fn rename(journal: &mut [Value], path: &str) {
    let zero = "0".repeat(40);
    let id = "e965047ad7c57865823c7d992b1d046ea66edf78"; // `git hash-object` of "Hello\n"
    plain(journal)["patch"] = json!(format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\nindex {zero}..{id}\n\
         --- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+Hello\n"
    ));
}

/// Texts that are no journal, whatever is in them.
fn broken_texts(good: &str) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    vec![
        ("nothing", b"".to_vec(), "it is empty"),
        ("blanks", b" \n\n".to_vec(), "it is empty"),
        ("text", b"hello".to_vec(), "it is no journal"),
        (
            "torn array",
            good.as_bytes()[..good.len() - 20].to_vec(),
            "after entry 4",
        ),
        (
            "after the end",
            format!("{good}x").into_bytes(),
            "after entry 5: trailing characters at line 8",
        ),
        (
            "latin-1",
            good.replace("\"p\"", "\"\u{fc}\"")
                .chars()
                .map(|c| c as u8)
                .collect(),
            "line 3 is not UTF-8",
        ),
        (
            "NUL",
            good.replace("\"p\"", "\"\0\"").into_bytes(),
            "control character",
        ),
        (
            "huge number",
            good.replace("\"status\":0", "\"status\":1e999")
                .into_bytes(),
            "entry 3 (line 4): number out of range",
        ),
        (
            "key twice",
            good.replace("\"text\":\"p\"", "\"text\":\"p\",\"text\":\"q\"")
                .into_bytes(),
            "entry 2 (line 3): the key 'text' stands twice",
        ),
        (
            "key twice below",
            good.replace("\"input\":0", "\"input\":0,\"input\":1")
                .into_bytes(),
            "the key 'input' stands twice",
        ),
        (
            "deep",
            good.replace(
                "\"p\"",
                &format!("{}{}", "[".repeat(5000), "]".repeat(5000)),
            )
            .into_bytes(),
            "entry 2 (line 3): recursion limit exceeded",
        ),
        (
            "half a surrogate",
            good.replace("\"p\"", "\"\\ud800\"").into_bytes(),
            "line 3",
        ),
        (
            "broken line",
            b"{\"kind\":\"dispatch-start\"}\n{\"kind\":\n{}\n".to_vec(),
            "entry 2 (line 2)",
        ),
        (
            "a line of something else",
            b"{\"kind\":\"dispatch-start\"}\n[]\n".to_vec(),
            "entry 2 (line 2) is an array",
        ),
    ]
}

#[test]
fn what_is_malformed_is_refused_with_entry_and_line_and_nothing_is_written() {
    let repo = recorded();
    let good = repo.read("../j.json");
    let entries = repo.journal("../j.json");
    let mut cases: Vec<(&str, Vec<u8>, &str)> = broken_texts(&good);
    for (name, change, said) in MALFORMED {
        let mut journal = entries.clone();
        change(&mut journal);
        let lines: Vec<String> = journal.iter().map(Value::to_string).collect();
        cases.push((
            name,
            format!("[\n{}\n]\n", lines.join(",\n")).into_bytes(),
            said,
        ));
    }
    assert!(cases.len() >= 40, "{}", cases.len());
    let before = bytes_below(repo.root());
    for (name, text, said) in cases {
        repo.write("../bad.json", &text);
        for check in ["", " --check"] {
            let outcome = repo.replay(&format!("../bad.json{check}"));
            assert_eq!(outcome.code(), Some(128), "{name}: {outcome:?}");
            let err = outcome.err();
            assert!(err.contains(said), "{name}: expected '{said}' in {err}");
            assert!(err.starts_with("fatal: "), "{name}: {err}");
            assert!(!err.contains("panicked"), "{name}: {err}");
        }
    }
    assert_eq!(bytes_below(repo.root()), before);
}

#[test]
fn a_journal_that_was_tampered_with_at_random_is_read_or_refused() {
    let repo = recorded();
    let good = repo.bytes("../j.json");
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(below).unwrap()).unwrap()
    };
    let mut refused = 0;
    for _ in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = b"{}[]\",:0-~\n\\x"[random(13)],
                1 => drop(bytes.drain(at..(at + random(40)).min(bytes.len()))),
                _ => {
                    let piece = bytes[at..(at + random(40)).min(bytes.len())].to_vec();
                    let to = random(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        // Not to panic is the point; the reader's own errors name a place.
        let read =
            git_harness::replay::journal::Journal::read("j".into(), bytes, Default::default());
        refused += usize::from(read.is_err());
    }
    assert!(refused > 1000, "{refused}");
}
