//! What is shown is harmless, what is derived can be derived again, what belongs to
//! others stays as they wrote it.

use std::fs;

use serde_json::{Value, json};

use super::common::Repo;
use super::trajectory_secrets::{is_nowhere, tell};

fn sql(repo: &Repo, query: &str) -> String {
    repo.run(["trajectory", "sql", query]).ok().out()
}

#[test]
fn names_cannot_steer_a_terminal() {
    let repo = Repo::new();
    let id = "a\u{1b}[31m\nb\u{202e}";
    for kind in ["prompt", "tool_end"] {
        let payload = json!({"head": "x\u{1b}[2J"}).to_string();
        repo.run([
            "trajectory",
            "log",
            kind,
            "na\u{7}me",
            "--session",
            id,
            "--payload",
            &payload,
        ])
        .ok();
    }
    repo.git("trajectory list").ok().prints_no_control();
    repo.run(["trajectory", "show", id])
        .ok()
        .prints_no_control();
    repo.git("trajectory last").ok().prints_no_control();
}

trait Control {
    fn prints_no_control(self);
}

impl Control for super::common::Outcome {
    #[track_caller]
    fn prints_no_control(self) {
        let out = self.out();
        assert!(!out.is_empty());
        assert!(
            out.chars()
                .all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')),
            "{out:?}"
        );
    }
}

#[test]
fn a_session_that_is_named_by_a_secret_is_told_by_a_hash() {
    const TOKEN: &str = "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH";
    let repo = Repo::with(&[("a", "a\n")]);
    repo.write("a", "changed\n");
    let data = json!({"hook_event_name": "PreToolUse", "session_id": TOKEN, "cwd": repo.root(), "tool_name": "Write",
        "tool_use_id": TOKEN, "tool_input": {"file_path": repo.path(TOKEN), "content": "x"}});
    repo.feed("trajectory hook claude", data.to_string())
        .ok()
        .silent();
    repo.run(["trajectory", "log", "note", "--session", TOKEN])
        .ok();
    repo.git("trajectory ingest").ok();
    is_nowhere(&repo, TOKEN);
    assert_eq!(
        sql(
            &repo,
            "select count(distinct session_id) from harness_events"
        ),
        "1"
    );
    assert_eq!(repo.checkpoints().len(), 1);
}

#[test]
fn a_log_needs_a_session() {
    Repo::new()
        .git("trajectory log note")
        .fails(129)
        .says("no session is named");
}

#[test]
fn sql_only_reads() {
    let repo = Repo::new();
    tell(&repo, "UserPromptSubmit", json!({"prompt": "x"}));
    let aim = repo.scene().join("aim.db");
    let aim = aim.display();
    for query in [
        format!("ATTACH '{aim}' AS x"),
        format!("/* SELECT */ VACUUM INTO '{aim}'"),
        format!(" -- SELECT\nVACUUM INTO '{aim}'"),
        "DELETE FROM harness_events".to_owned(),
        "WITH x AS (SELECT 1) DELETE FROM harness_events".to_owned(),
        "PRAGMA writable_schema=1".to_owned(),
    ] {
        repo.run(["trajectory", "sql", &query])
            .fails(128)
            .says("only a statement that reads");
    }
    assert!(!repo.scene().join("aim.db").exists());
    assert_eq!(
        sql(&repo, " -- how many\nSELECT count(*) FROM harness_events"),
        "2"
    );
    assert!(sql(&repo, "PRAGMA table_info(harness_events)").contains("event_id"));
}

#[test]
fn a_damaged_mirror_is_made_anew() {
    let repo = Repo::new();
    tell(&repo, "UserPromptSubmit", json!({"prompt": "x"}));
    let whole = repo.git("trajectory list").ok().out();
    let db = ".git/harness/trajectory.db";
    let change = |statement: &str| {
        rusqlite::Connection::open(repo.path(db))
            .unwrap()
            .execute_batch(statement)
            .unwrap();
    };
    for what in ["table", "column", "bytes"] {
        match what {
            "table" => change("DROP TABLE harness_extra"),
            "column" => change("ALTER TABLE harness_marks DROP COLUMN head"),
            _ => repo.write(db, "no database at all".repeat(1000)),
        }
        // Something is new, so that all tables are asked.
        let list = repo.git("trajectory list").ok().says("was made anew");
        assert_eq!(list.out(), whole, "{what}");
    }
}

#[test]
fn a_damage_that_only_a_query_meets_names_the_remedy() {
    let repo = Repo::new();
    for number in 0..40 {
        tell(
            &repo,
            "UserPromptSubmit",
            json!({"prompt": format!("{number} {}", "x".repeat(3000))}),
        );
    }
    repo.git("trajectory ingest").ok();
    let query = "SELECT * FROM harness_events";
    let ask = |options: &[&str]| repo.run([&["trajectory", "sql", query], options].concat());
    let whole = ask(&[]).ok().out();
    let db = ".git/harness/trajectory.db";
    let mut bytes = repo.bytes(db);
    let half = bytes.len() / 2;
    bytes[half..half + 8192].fill(0xa5);
    repo.write(db, bytes);
    ask(&["--no-ingest"])
        .fails(128)
        .says("malformed")
        .says("git trajectory ingest --rebuild");
    repo.git("trajectory ingest --rebuild").ok();
    assert_eq!(ask(&["--no-ingest"]).ok().out(), whole);
}

#[test]
fn a_rebuild_that_was_killed_leaves_nothing() {
    let repo = Repo::new();
    tell(&repo, "UserPromptSubmit", json!({"prompt": "x"}));
    let whole = repo.git("trajectory list").ok().out();
    repo.write(".git/harness/trajectory.db.new", "half");
    repo.write(".git/harness/trajectory.db.new-wal", "half");
    repo.git("trajectory list").ok().prints(&whole);
    assert!(!repo.exists(".git/harness/trajectory.db.new"));
    assert!(!repo.exists(".git/harness/trajectory.db.new-wal"));
    repo.git("trajectory ingest --rebuild").ok();
    repo.git("trajectory list --no-ingest").ok().prints(&whole);
}

#[test]
fn a_call_that_two_sessions_tell_outlives_one_of_them() {
    let repo = Repo::new();
    for session in ["a", "b"] {
        let payload = json!({"call_key": "k", "total_tokens": 5}).to_string();
        repo.run([
            "trajectory",
            "log",
            "assistant",
            "m",
            "--session",
            session,
            "--payload",
            &payload,
        ])
        .ok();
    }
    let rows = "select session_id, type from harness_events order by 1, 2";
    assert_eq!(sql(&repo, rows), "a|assistant");
    repo.remove(".git/harness/trajectories/harness-a.jsonl");
    assert_eq!(sql(&repo, rows), "b|assistant");
    repo.git("trajectory ingest --rebuild").ok();
    assert_eq!(sql(&repo, rows), "b|assistant");
}

#[test]
fn two_agents_may_give_one_id() {
    let repo = Repo::new();
    for agent in ["claude", "codex"] {
        for (event, rest) in [
            ("UserPromptSubmit", json!({"prompt": "x"})),
            (
                "PostToolUse",
                json!({"tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": "ls"}, "tool_response": "x"}),
            ),
        ] {
            let mut data = json!({"hook_event_name": event, "session_id": "s", "cwd": repo.root()});
            for (name, value) in rest.as_object().unwrap() {
                data[name] = value.clone();
            }
            repo.feed(&format!("trajectory hook {agent}"), data.to_string())
                .ok();
        }
    }
    let list = repo.git("trajectory list").ok().out();
    assert_eq!(list.lines().count(), 2, "{list}");
    // What nobody tells is unknown.
    assert_eq!(
        list.matches("? turns, 1 tools, ? tokens, ? $").count(),
        2,
        "{list}"
    );
    let all = repo.git("trajectory list --json").ok().json();
    assert!(
        all[0]["turns"].is_null() && all[1]["turns"].is_null(),
        "{all}"
    );
}

/// A session that began before, and goes on in a phase; a line and an import in one.
#[test]
fn what_goes_on_in_a_phase_belongs_to_it() {
    let repo = Repo::new();
    let prompt = |session: &str| {
        json!({"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": repo.root(), "prompt": "x".repeat(100)})
            .to_string()
    };
    repo.feed("trajectory hook codex", prompt("resumed")).ok();
    let log = ".git/harness/trajectories/codex-resumed.jsonl";
    let lines = repo.read(log);
    repo.append(log, lines.repeat(200));
    repo.feed("trajectory hook codex", prompt("other")).ok();
    let run = repo.git("trajectory start work").ok().out();
    let start = json!({"hook_event_name": "SessionStart", "source": "resume", "session_id": "resumed", "cwd": repo.root()});
    repo.write(".git/start.json", start.to_string());
    let line = json!({"id": 1, "event": "session.idle", "session": "goes-on", "cwd": repo.root(), "data": {}});
    repo.feed("trajectory hook opencode --stream", format!("{line}\n"))
        .ok();
    repo.write(".git/line.json", format!("{line}\n"));
    repo.write(
        ".git/t.jsonl",
        json!({"type": "user", "uuid": "u", "sessionId": "told", "cwd": repo.root(), "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": "x"}})
        .to_string()
            + "\n",
    );
    repo.sh_ours(
        "git trajectory phase do -- sh -c 'git trajectory hook codex <.git/start.json && git trajectory hook opencode --stream <.git/line.json \
         && git trajectory log note --session named && git trajectory import claude .git/t.jsonl'",
    )
    .ok();
    let mut tied: Vec<String> = repo
        .read(format!(".git/harness/runs/{run}.jsonl"))
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["type"] == "phase_session")
        .map(|event| event["payload"]["session_id"].as_str().unwrap().to_owned())
        .collect();
    tied.sort();
    assert_eq!(tied, ["goes-on", "named", "resumed", "told"]);
}

#[test]
fn settings_of_others_stay_as_they_are_written() {
    let repo = Repo::new();
    let path = repo.home().join(".claude/settings.json");
    let kept = repo.home().join("dotfiles/claude.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&kept, &path).unwrap();
    // The link leads nowhere yet.
    repo.git("trajectory install claude -y").ok();
    assert!(path.is_symlink() && kept.exists());
    repo.git("trajectory install --uninstall claude -y").ok();
    assert!(path.is_symlink() && !kept.exists());
    let backup = repo
        .home()
        .join(".claude/settings.json.before-git-trajectory");
    for number in ["12345678901234567890123", "1.50e2"] {
        let before = format!("{{\n\t\"big\": {number},\n\t\"list\": [1,2,\n3]\n}}\n");
        fs::write(&kept, &before).unwrap();
        repo.git("trajectory install claude -y").ok();
        let after = fs::read_to_string(&kept).unwrap();
        let head = before.strip_suffix("\n}\n").unwrap();
        assert!(
            after.starts_with(&format!("{head},\n\t\"hooks\": {{\n\t\t\"")),
            "{after}"
        );
        assert_eq!(fs::read_to_string(&backup).unwrap(), before);
        repo.git("trajectory install --uninstall claude -y").ok();
        assert_eq!(fs::read_to_string(&kept).unwrap(), before);
        assert!(path.is_symlink());
    }
}

/// No hook of Codex has the exit code of a command; its transcript does.
#[test]
fn what_codex_did_not_tell_live_is_corrected_by_its_transcript() {
    let repo = Repo::new();
    let call = json!({"tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": "false"}, "tool_response": "x",
        "hook_event_name": "PostToolUse", "session_id": "s", "cwd": repo.root()});
    repo.feed("trajectory hook codex", call.to_string()).ok();
    let outcome = "select json_extract(payload_json, '$.outcome'), json_extract(payload_json, '$.is_error') from harness_events where type = 'tool_end'";
    assert_eq!(sql(&repo, outcome), "ok|0");
    let row = |kind: &str, payload: Value| {
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload})
            .to_string()
    };
    let rows = [
        row("session_meta", json!({"id": "s", "cwd": repo.root()})),
        row(
            "response_item",
            json!({"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}),
        ),
        row(
            "response_item",
            json!({"type": "function_call_output", "call_id": "c", "output": "Process exited with code 3\nx"}),
        ),
    ];
    repo.write("t.jsonl", rows.join("\n") + "\n");
    repo.git("trajectory import codex t.jsonl").ok();
    assert_eq!(sql(&repo, outcome), "error|1");
    repo.git("trajectory ingest --rebuild").ok();
    assert_eq!(sql(&repo, outcome), "error|1");
}
