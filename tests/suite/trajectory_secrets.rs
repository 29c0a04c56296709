//! No copy of a secret is left anywhere: every byte of every file that we keep is
//! looked at, and the messages of every checkpoint.

use std::fs;

use serde_json::{Value, json};

use super::common::Repo;
use super::trajectory_scene::files_with;

const TOKEN: &str = "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH";

/// Gives the hook of Claude Code one payload.
#[track_caller]
pub(crate) fn tell(repo: &Repo, event: &str, rest: Value) {
    let mut data = json!({"hook_event_name": event, "session_id": "s", "cwd": repo.root()});
    for (name, value) in rest.as_object().unwrap() {
        data[name] = value.clone();
    }
    repo.feed("trajectory hook claude", data.to_string())
        .ok()
        .silent();
}

/// The events in the live log.
pub(crate) fn log(repo: &Repo) -> Vec<Value> {
    repo.read(".git/harness/trajectories/claude-s.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The last event of a kind.
pub(crate) fn last(repo: &Repo, kind: &str) -> Value {
    let log = log(repo);
    let found = log.into_iter().rfind(|event| event["type"] == kind);
    found.unwrap()["payload"].clone()
}

/// No file of ours and no checkpoint has `secret` in it.
#[track_caller]
pub(crate) fn is_nowhere(repo: &Repo, secret: &str) {
    assert_eq!(files_with(&repo.path(".git/harness"), secret), [""; 0]);
    let state = repo.home().join(".local/state");
    assert_eq!(files_with(&state, secret), [""; 0]);
    let messages = repo
        .git("log --exclude=refs/heads/* --all --format=%B")
        .ok()
        .out();
    assert!(!messages.contains(secret), "{messages}");
}

#[test]
fn a_planted_secret_is_found() {
    let repo = Repo::new();
    tell(&repo, "UserPromptSubmit", json!({"prompt": "x"}));
    is_nowhere(&repo, TOKEN);
    let folder = repo.path(".git/harness");
    fs::create_dir_all(folder.join("deep/er")).unwrap();
    let mut bytes = vec![0xff, 0, b'\n'];
    bytes.extend(TOKEN.as_bytes());
    fs::write(folder.join("deep/er/.x"), bytes).unwrap();
    assert_eq!(files_with(&folder, TOKEN), ["deep/er/.x"]);
    fs::remove_dir_all(folder.join("deep")).unwrap();
    fs::write(folder.join(format!("a-{TOKEN}")), "").unwrap();
    assert_eq!(files_with(&folder, TOKEN), [format!("a-{TOKEN}")]);
}

/// Texts whose token lies across the places where a head and a field are cut.
fn across() -> impl Iterator<Item = String> {
    let cuts = [60, 90, 100, 110, 118, 4070, 4090, 4094];
    cuts.into_iter()
        .map(|pad| format!("{} {TOKEN} end", "x ".repeat(pad / 2)))
}

#[test]
fn a_secret_across_a_cut_is_masked_whole() {
    let live = Repo::with(&[("a", "a\n")]);
    let mut rows = Vec::new();
    for (n, text) in across().enumerate() {
        let call = json!({"tool_name": "Bash", "tool_use_id": format!("c{n}"), "tool_input": {"command": text}});
        let mut done = call.clone();
        done["tool_response"] = json!({"stdout": text, "stderr": ""});
        tell(&live, "UserPromptSubmit", json!({"prompt": text}));
        tell(&live, "PreToolUse", call);
        is_nowhere(&live, &TOKEN[..8]);
        tell(&live, "PostToolUse", done);
        let row = |kind: &str, content: Value| {
            json!({"type": kind, "uuid": format!("{kind}{n}{}", rows.len()), "sessionId": "s", "cwd": live.root(), "timestamp": "2026-01-01T00:00:00.000Z",
                "message": {"id": format!("m{n}"), "role": kind, "model": "m", "content": content, "usage": {"input_tokens": 1, "output_tokens": 1}}})
            .to_string()
        };
        let told = [
            row("user", json!(text)),
            row(
                "assistant",
                json!([{"type": "tool_use", "id": format!("c{n}"), "name": "Bash", "input": {"command": text}}]),
            ),
            row(
                "user",
                json!([{"type": "tool_result", "tool_use_id": format!("c{n}"), "content": text}]),
            ),
        ];
        rows.extend(told);
    }
    is_nowhere(&live, &TOKEN[..8]);
    let imported = Repo::new();
    imported.write("t.jsonl", rows.join("\n") + "\n");
    imported.git("trajectory import claude t.jsonl").ok();
    imported.git("trajectory ingest").ok();
    is_nowhere(&imported, &TOKEN[..8]);
    let starts = "select count(*) from harness_events where type in ('tool_start', 'prompt')";
    imported
        .run(["trajectory", "sql", starts])
        .ok()
        .prints("16");
}

/// What was cut tells how long it was, whatever is between the two hooks of a call.
#[test]
fn arguments_are_as_long_as_configured() {
    for (limit, field) in [("4096", 4096), ("1m", 150_000)] {
        let repo = Repo::with(&[("a", "a\n")]);
        repo.git(&format!("config trajectory.maxField {limit}"))
            .ok();
        let edits: Vec<Value> = (0..20)
            .map(|n| json!({"old_string": format!("{n}"), "new_string": "b ".repeat(75_000)}))
            .collect();
        let call = json!({"tool_name": "MultiEdit", "tool_use_id": "c", "tool_input": {"file_path": repo.path("a"), "edits": edits}});
        tell(&repo, "PreToolUse", call.clone());
        let mut done = call;
        done["tool_response"] = json!("done");
        tell(&repo, "PostToolUse", done);
        let start = last(&repo, "tool_start");
        let edits = start["args_text"]["edits"].as_array().unwrap();
        assert_eq!(edits.len(), 20, "{limit}");
        let text = edits[19]["new_string"].as_str().unwrap();
        if field < 150_000 {
            assert!(
                text.ends_with("… [150000 bytes]"),
                "{limit}: {}",
                text.len()
            );
        }
        let one = json!({"tool_name": "Write", "tool_use_id": "d", "tool_input": {"file_path": repo.path("a"), "content": "c ".repeat(75_000)}});
        tell(&repo, "PreToolUse", one.clone());
        let mut done = one;
        done["tool_response"] = json!("done");
        tell(&repo, "PostToolUse", done);
        let text = last(&repo, "tool_start")["args_text"]["content"].clone();
        let text = text.as_str().unwrap();
        let shown = text.split('…').next().unwrap();
        assert_eq!(shown.len(), field, "{limit}");
        assert_eq!(text.ends_with("… [150000 bytes]"), field < 150_000);
    }
}

/// A patch over very many paths is guarded whole, and recorded whole.
#[test]
fn a_patch_over_many_paths_fits_a_state() {
    let repo = Repo::with(&[("a", "a\n")]);
    let name = |n: usize| format!("{}/file-{n}", "folder".repeat(20));
    let patch: String = (0..800)
        .map(|n| format!("*** Add File: {}\n+x\n", name(n)))
        .collect();
    let patch = format!("*** Begin Patch\n{patch}*** End Patch\n");
    let call =
        json!({"tool_name": "apply_patch", "tool_use_id": "c", "tool_input": {"input": patch}});
    tell(&repo, "PreToolUse", call.clone());
    let states = repo
        .sh("wc -c .git/harness/trajectories/*.state")
        .ok()
        .out();
    let size: usize = states.split_whitespace().next().unwrap().parse().unwrap();
    assert!(size <= 64 << 10, "{states}");
    for n in 0..800 {
        repo.write(name(n), "x\n");
    }
    let mut done = call;
    done["tool_response"] = json!("done");
    tell(&repo, "PostToolUse", done);
    let checkpoint = last(&repo, "checkpoint");
    assert_eq!(checkpoint["worktree"], json!(repo.root()));
    let paths = checkpoint["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 800);
    assert_eq!(paths[799], json!(repo.path(name(799))));
    let wrote = files_with(&repo.path(".git/harness"), "file-799");
    assert!(wrote.iter().any(|file| file.contains("wrote")), "{wrote:?}");
}
