//! A recording that takes prompts, tools, usage and failure from a trajectory,
//! and a replay that tells a trajectory what it emitted.

use serde_json::{Value, json};

use crate::common::Repo;
use crate::replay::Replay;

/// A repository with a branch `run`, and a trajectory of the session `s1`.
fn session(events: &[Value]) -> Repo {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.git("checkout -q -b run").ok();
    repo.write("a", "A\n");
    repo.commit_all("change");
    repo.git("checkout -q main").ok();
    log(&repo, "claude-s1.jsonl", events);
    repo
}

fn log(repo: &Repo, name: &str, events: &[Value]) {
    let mut text = String::new();
    for (number, (kind, event)) in events
        .iter()
        .map(|event| (event["type"].as_str().unwrap(), event))
        .enumerate()
    {
        let second = event["s"].as_u64().unwrap_or(number as u64);
        let line = json!({
            "event_id": format!("hev_{name}{number}"),
            "ts": format!("2026-01-01T00:00:{second:02}.000Z"),
            "session_id": "s1", "type": kind, "name": event.get("name").unwrap_or(&json!("")),
            "payload": event["payload"], "v": 1, "call_key": event.get("call_key"),
            "tool_call_id": event["payload"].get("tool_call_id"),
        });
        text.push_str(&format!("{line}\n"));
    }
    let folder = repo.common_dir().join("harness/trajectories");
    repo.write(folder.join(name), text);
}

fn prompt(text: &str) -> Value {
    let head: String = text.chars().take(120).collect();
    json!({"type": "prompt", "payload": {"chars": text.chars().count(), "head": head, "text": text}})
}

fn assistant(key: &str, input: Value, s: u64) -> Value {
    json!({"type": "assistant", "call_key": key, "s": s, "payload": {
        "input": input, "output": 20, "cache_read": 5, "cache_write": 1, "cost_usd": 0.5}})
}

#[test]
fn prompts_tools_and_usage_come_from_the_trajectory() {
    let long = "x".repeat(5000);
    let mut cut = prompt(&long);
    cut["payload"]["text"] = json!(long[..4096]);
    cut["s"] = json!(20);
    let mut masked = prompt("use [masked] as the key");
    masked["s"] = json!(30);
    let repo = session(&[
        json!({"type": "session_start", "payload": {"model": "m"}}),
        prompt("Gr\u{fc}n machen.\n"),
        json!({"type": "tool_start", "name": "Edit", "s": 3, "payload": {
            "tool_call_id": "t1", "args": "{\"file\":\"a\"}", "args_text": "{\"file\":\"a\"}"}}),
        json!({"type": "tool_end", "name": "Edit", "s": 4, "payload": {
            "tool_call_id": "t1", "is_error": false, "result_chars": 9, "result_head": "ok"}}),
        assistant("k1", json!(100), 5),
        cut,
        assistant("k2", Value::Null, 21),
        masked,
        json!({"type": "session_shutdown", "s": 40, "payload": {"reason": "exit"}}),
    ]);
    // The transcript tells the same call again, and one more.
    log(
        &repo,
        "claude-s1.import.jsonl",
        &[
            json!({"type": "prompt", "s": 1, "payload": prompt("Gr\u{fc}n machen.\n")["payload"]}),
            assistant("k1", json!(100), 5),
            assistant("k3", json!(7), 6),
        ],
    );
    repo.replay("record main..run --session s1 -o ../j.json")
        .ok()
        .says("1 commit, rebuilt once");
    let shown = repo.replay("show ../j.json --json").ok().json();
    let turns = shown["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 3);
    assert_eq!(turns[0]["prompt"], "Gr\u{fc}n machen.\n");
    assert_eq!(turns[0]["incomparable"], Value::Null);
    assert_eq!(turns[0]["tools"], json!(["Edit"]));
    assert_eq!(
        turns[0]["tokens"],
        json!({"input": 107, "cached": 10, "output": 40, "cacheCreated": 2})
    );
    assert_eq!(turns[1]["prompt"], json!("x".repeat(120)));
    assert_eq!(turns[1]["incomparable"], "recorded cut");
    // What is not known is not counted as nothing.
    assert_eq!(turns[1]["tokens"]["complete"], false);
    assert_eq!(turns[2]["incomparable"], "recorded masked");
    assert_eq!(turns[2]["failure"], Value::Null);
    let journal = repo.journal("../j.json");
    let cut = journal
        .iter()
        .filter(|entry| entry["kind"] == "prompt")
        .nth(1)
        .unwrap();
    assert_eq!(
        cut["x"]["prompt"],
        json!({"chars": 5000, "cut": true, "masked": false})
    );
    let tool = journal
        .iter()
        .find(|entry| entry["kind"] == "tool")
        .unwrap();
    assert_eq!(tool["input"], json!({"file": "a"}));
    // The journal replays, the whole prompt compared.
    repo.write("../brief", "Gr\u{fc}n machen.\n");
    repo.replay("../j.json --prompt-file ../brief --prompt anything --check")
        .ok()
        .says("turn 2: its prompt was recorded cut");
    // By the agent's name, too; not by a wrong or an ambiguous one.
    repo.replay("record main..run --session claude-s1 -o ../again.json")
        .ok();
    assert_eq!(repo.read("../again.json"), repo.read("../j.json"));
    repo.replay("record main..run --session s2 -o ../x.json")
        .fails(128)
        .says("no trajectory of a session 's2'");
    log(&repo, "codex-s1.jsonl", &[prompt("p")]);
    repo.replay("record main..run --session s1 -o ../x.json")
        .fails(128)
        .says("2 trajectories have a session 's1'");
}

#[test]
fn every_prompt_is_a_turn_however_it_begins() {
    let same = "x".repeat(130);
    let repo = session(&[
        prompt(&format!("{same}one")),
        prompt("continue"),
        prompt(&format!("{same}two")),
        prompt("continue"),
    ]);
    // The transcript knows all of them, and one that the hooks missed.
    log(
        &repo,
        "claude-s1.import.jsonl",
        &[
            prompt(&format!("{same}one")),
            prompt("continue"),
            prompt(&format!("{same}two")),
            prompt("continue"),
            prompt("continue"),
        ],
    );
    // A line that was written twice is one event.
    let path = repo
        .common_dir()
        .join("harness/trajectories/claude-s1.jsonl");
    let first = repo.read(&path).lines().next().unwrap().to_owned();
    repo.append(&path, format!("{first}\n"));
    repo.replay("record main..run --session s1 -o ../j.json")
        .ok();
    let shown = repo.replay("show ../j.json --json").ok().json();
    let turns = shown["turns"].as_array().unwrap();
    let mut prompts: Vec<&str> = turns
        .iter()
        .map(|turn| turn["prompt"].as_str().unwrap())
        .collect();
    assert_eq!(prompts.len(), 5, "{prompts:?}");
    prompts.sort_unstable();
    assert_eq!(prompts[..3], ["continue"; 3]);
    assert!(prompts[3].ends_with("one") && prompts[4].ends_with("two"));
}

#[test]
fn a_session_that_failed_is_recorded_as_one() {
    let repo = session(&[
        prompt("do it"),
        json!({"type": "session_shutdown", "payload": {"reason": "timeout"}}),
    ]);
    repo.replay("record main..run --session s1 -o ../j.json")
        .ok();
    let found = repo.replay("../j.json --json").fails(1).json();
    assert_eq!(found["failure"]["code"], "timeout");
    assert_eq!(found["state"], "made");
}

#[test]
fn a_session_without_a_prompt_is_refused() {
    let repo = session(&[json!({"type": "session_start", "payload": {}})]);
    repo.replay("record main..run --session s1 -o ../j.json")
        .fails(128)
        .says("the trajectory 'claude-s1' holds no prompt");
}

#[test]
fn replayed_events_are_notes_and_no_new_spending() {
    let repo = session(&[prompt("do it")]);
    let mut journal: Vec<Value> = vec![
        json!({"kind": "prompt", "source": "agent", "text": "p"}),
        json!({"kind": "tool", "source": "agent", "name": "Edit", "input": {}}),
        json!({"kind": "usage", "source": "agent", "tokens": {"input": 9, "cached": 0, "output": 9}}),
        json!({"kind": "summary", "source": "agent", "durationMs": 1, "status": 0,
               "tokens": {"input": 9, "cached": 0, "output": 9}}),
    ];
    journal.push(
        json!({"kind": "workspace-commits", "source": "git", "commits": [],
        "baseline": {"commit": repo.oid("main"), "tree": repo.oid("main^{tree}")}}),
    );
    repo.write("../j.json", serde_json::to_vec(&journal).unwrap());
    repo.replay("../j.json --events --session s1 --quiet")
        .ok()
        .prints("");
    let folder = repo.common_dir().join("harness/trajectories");
    let lines: Vec<Value> = repo
        .read(folder.join("claude-s1.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&lines[1]["type"], &lines[1]["session_id"]),
        (&json!("note"), &json!("s1"))
    );
    assert_eq!(
        lines[1]["payload"]["replayed"],
        json!({"kind": "tool", "name": "Edit", "input": {}})
    );
    assert_eq!(lines[2]["payload"]["replayed"], json!({"kind": "usage"}));
    // A session that is not there yet is made.
    repo.replay("../j.json --events --session new").ok();
    assert_eq!(
        repo.read(folder.join("replay-new.jsonl")).lines().count(),
        2
    );
    repo.replay("../j.json --session new").fails(129);
    // After a divergence nothing was emitted, and no file is left of it.
    repo.replay("../j.json --events --session other --prompt wrong")
        .fails(1);
    assert!(!repo.exists(folder.join("replay-other.jsonl")));
    // A trajectory that cannot be written, or be told from another, makes no branch.
    repo.replay("record main..run --no-prompt -o ../run.json")
        .ok();
    log(&repo, "codex-s1.jsonl", &[prompt("p")]);
    let refs = repo.refs();
    repo.replay("../run.json --events --session s1")
        .fails(128)
        .says("2 trajectories have a session 's1'");
    repo.mkdir(folder.join("replay-dir.jsonl"));
    repo.replay("../run.json --events --session dir")
        .fails(128)
        .says("cannot write the trajectory");
    assert_eq!(repo.refs(), refs);
}

#[test]
fn secrets_in_what_is_added_are_named_by_file_and_line() {
    let repo = session(&[prompt("do it")]);
    repo.git("checkout -q run").ok();
    let secret = "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH";
    repo.write("conf/keys", format!("one\ntoken = {secret}\n"));
    repo.commit_all("keys");
    let outcome = repo
        .replay("record main..run --no-prompt -o ../j.json")
        .ok();
    let outcome = outcome
        .says("adds what looks like a secret")
        .says("  conf/keys:2");
    assert!(!outcome.err().contains(secret));
    // It is said and not changed, or the ids would be others.
    assert!(repo.replay("show ../j.json -p").ok().out().contains(secret));
    repo.git("checkout -q main").ok();
    repo.replay("../j.json --check")
        .ok()
        .says("with the recorded ids");
}
