//! Writing and reading logs: whole lines whatever happens, and past whatever is broken.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::common::Repo;

fn log(repo: &Repo, session: &str, kind: &str, payload: &Value) {
    repo.run([
        "trajectory",
        "log",
        kind,
        "n",
        "--session",
        session,
        "--payload",
        &payload.to_string(),
    ])
    .ok()
    .silent();
}

/// The lines of a log, as JSON.
fn lines(repo: &Repo, file: &str) -> Vec<Value> {
    let text = repo.read(format!(".git/harness/trajectories/{file}"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What the sqlite3 program answers.
#[track_caller]
fn sqlite(repo: &Repo, query: &str) -> String {
    let file = repo.path("query.sql");
    std::fs::write(&file, query).unwrap();
    let answer = repo
        .sh(&format!(
            "sqlite3 .git/harness/trajectory.db < '{}'",
            file.display()
        ))
        .ok()
        .out();
    std::fs::remove_file(file).unwrap();
    answer
}

#[test]
fn a_line_has_the_founding_fields_first_and_its_own_offset() {
    let repo = Repo::new();
    log(&repo, "s1", "session_start", &json!({"mode": "x"}));
    log(&repo, "s1", "note", &json!({"text": "y"}));
    let text = repo.read(".git/harness/trajectories/harness-s1.jsonl");
    let second = text.lines().nth(1).unwrap();
    let keys: Vec<String> = second
        .split(",\"")
        .map(|part| {
            part.split("\":")
                .next()
                .unwrap()
                .trim_start_matches("{\"")
                .to_owned()
        })
        .collect();
    assert_eq!(&keys[..5], ["event_id", "ts", "session_id", "type", "name"]);
    let event: Value = serde_json::from_str(second).unwrap();
    assert_eq!(event["seq"], text.lines().next().unwrap().len() + 1);
    assert_eq!(event["session_id"], "s1");
    assert!(event["event_id"].as_str().unwrap().starts_with("hev_"));
    assert_eq!(
        event["ts"].as_str().unwrap().len(),
        "2026-09-02T14:07:31.412Z".len()
    );
    assert_eq!(event["git"]["branch"], "main");
}

#[test]
fn files_are_private() {
    let repo = Repo::new();
    log(&repo, "s", "note", &json!({}));
    assert_eq!(
        repo.mode(".git/harness/trajectories/harness-s.jsonl"),
        0o600
    );
    assert_eq!(repo.mode(".git/harness/trajectories"), 0o700);
    repo.git("trajectory ingest -q").ok();
    assert_eq!(repo.mode(".git/harness/trajectory.db"), 0o600);
}

#[test]
fn a_session_id_cannot_leave_its_folder() {
    let repo = Repo::new();
    log(&repo, "../../x", "note", &json!({}));
    assert!(!repo.exists(".git/x.jsonl") && !repo.exists("x.jsonl"));
    assert_eq!(
        lines(&repo, "harness-..%2F..%2Fx.jsonl")[0]["session_id"],
        "../../x"
    );
}

#[test]
fn the_session_comes_from_the_environment() {
    let repo = Repo::new();
    repo.without_env("HARNESS_SESSION")
        .git("trajectory log note")
        .fails(129)
        .says("HARNESS_SESSION");
    repo.env("HARNESS_SESSION", "e1")
        .git("trajectory log note")
        .ok();
    repo.env("CLAUDE_CODE_SESSION_ID", "c1")
        .git("trajectory log note")
        .ok();
    assert_eq!(lines(&repo, "harness-e1.jsonl").len(), 1);
    assert_eq!(lines(&repo, "claude-c1.jsonl")[0]["agent"], "claude");
}

#[test]
fn secrets_never_reach_the_file() {
    let repo = Repo::new();
    let secret = format!("ghp_{}", "Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH");
    log(
        &repo,
        "s",
        "note",
        &json!({"text": secret, "deep": [{"password": "hunter2secret"}]}),
    );
    let text = repo.read(".git/harness/trajectories/harness-s.jsonl");
    assert!(
        !text.contains(&secret) && !text.contains("hunter2secret"),
        "{text}"
    );
    repo.git("trajectory scan").ok().prints("");
    repo.write("leak.txt", &secret);
    repo.git("trajectory scan leak.txt")
        .fails(1)
        .prints("leak.txt:1: 1");
}

#[test]
fn a_torn_end_costs_nothing_but_itself() {
    let repo = Repo::new();
    log(&repo, "s", "note", &json!({"n": 1}));
    repo.append(
        ".git/harness/trajectories/harness-s.jsonl",
        "{\"event_id\":\"torn",
    );
    log(&repo, "s", "note", &json!({"n": 2}));
    let shown = repo.git("trajectory show s --json").ok();
    assert_eq!(shown.lines().len(), 2);
    assert!(shown.err().contains("1 line of the logs could not be read"));
}

#[test]
fn broken_places_are_read_past_and_counted() {
    let repo = Repo::new();
    log(&repo, "s", "note", &json!({"n": 1}));
    let file = ".git/harness/trajectories/harness-s.jsonl";
    repo.append(file, [0; 4096]);
    repo.append(file, "\n{\"type\":\"note\",\"name\":\"crlf\"}\r\n");
    repo.append(file, "{\"type\":\"note\",\"name\":\"half \\ud83d pair\"}\n");
    repo.append(file, "not json\n");
    repo.append(
        file,
        format!(
            "{{\"type\":\"note\",\"name\":\"{}\"}}\n",
            "x".repeat(5 << 20)
        ),
    );
    repo.append(
        file,
        format!(
            "{{\"type\":\"note\",\"name\":\"{}\"}}\n",
            "y".repeat(1 << 20)
        ),
    );
    log(&repo, "s", "note", &json!({"n": 2}));
    let done = repo.git("trajectory ingest --json").ok().json();
    // Two of ours, CRLF, the half pair, and the long line; not what is no JSON or has no measure.
    assert_eq!(
        (done["events"].as_u64(), done["broken"].as_u64()),
        (Some(5), Some(2)),
        "{done}"
    );
}

#[test]
fn writers_at_once_keep_every_line_whole_and_in_order() {
    let repo = Repo::new();
    log(&repo, "s", "session_start", &json!({}));
    let writer = |n: usize| -> Child {
        let script = format!(
            "i=0; while [ $i -lt 12 ]; do git trajectory log note w{n} --session s --payload '{{\"i\":'$i'}}' || exit 1; i=$((i+1)); done"
        );
        let mut command = repo.command(["-c", "alias.x=!true", "version"]);
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(k, v)| Some((k.to_owned(), v?.to_owned())))
            .collect();
        command = std::process::Command::new("sh");
        command
            .env_clear()
            .envs(environment)
            .arg("-c")
            .arg(script)
            .current_dir(repo.root());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut writers: Vec<Child> = (0..32).map(writer).collect();
    // Some die in the middle of it, whatever they are doing.
    while repo
        .bytes(".git/harness/trajectories/harness-s.jsonl")
        .len()
        < 20_000
    {
        std::thread::yield_now();
    }
    for child in writers.iter_mut().step_by(5) {
        child.kill().unwrap();
    }
    for child in &mut writers {
        child.wait().unwrap();
    }
    log(&repo, "s", "note", &json!({"last": true}));
    let text = repo.bytes(".git/harness/trajectories/harness-s.jsonl");
    let mut next = [0; 32];
    let mut offset = 0;
    for line in text.split(|b| *b == b'\n') {
        if let Ok(event) = serde_json::from_slice::<Value>(line) {
            assert_eq!(event["seq"], offset, "the line knows its place");
            if let Some(writer) = event["name"]
                .as_str()
                .and_then(|name| name.strip_prefix('w'))
                .and_then(|n| n.parse::<usize>().ok())
            {
                assert_eq!(
                    event["payload"]["i"], next[writer],
                    "writer {writer} is in order"
                );
                next[writer] += 1;
            }
        }
        offset += line.len() + 1;
    }
    for (n, count) in next.iter().enumerate() {
        assert!(n % 5 == 0 || *count == 12, "writer {n} lost lines: {count}");
    }
}

#[test]
fn ten_ingests_add_nothing_also_without_ids() {
    let repo = Repo::new();
    log(&repo, "s", "session_start", &json!({}));
    // What another writer of the founding format, and of the older journal, may leave.
    let file = ".git/harness/trajectories/other.jsonl";
    repo.write(file, "{\"event_id\":\"hev_a\",\"ts\":\"2026-09-02T14:07:31.412Z\",\"session_id\":\"z\",\"type\":\"prompt\",\"name\":\"user\",\"payload\":{\"chars\":2}}\n{\"type\":\"model\",\"name\":\"m\",\"total_tokens\":5}\n{\"type\":\"tool\",\"name\":\"bash\"}\n{\"type\":\"end\"}\n");
    let first = repo.git("trajectory ingest --json").ok().json();
    assert_eq!(first["events"], 5);
    let rows = sqlite(&repo, "select * from harness_events order by event_id;");
    for _ in 0..9 {
        assert_eq!(
            repo.git("trajectory ingest --json").ok().json()["events"],
            0
        );
    }
    repo.git("trajectory ingest -q --rebuild").ok();
    assert_eq!(
        sqlite(&repo, "select * from harness_events order by event_id;"),
        rows
    );
    assert_eq!(
        sqlite(
            &repo,
            "select type, session_id from harness_events where session_id = 'other' order by 1;"
        ),
        "assistant|other\nsession_shutdown|other\ntool_end|other"
    );
}

#[test]
fn a_reader_of_the_founding_fields_reads_our_lines() {
    let repo = Repo::new();
    log(
        &repo,
        "s",
        "assistant",
        &json!({"input": 1, "total_tokens": 3, "cost_usd": 0.5}),
    );
    let event = &lines(&repo, "harness-s.jsonl")[0];
    for field in ["event_id", "ts", "session_id", "type", "name"] {
        assert!(event[field].is_string(), "{field}");
    }
    assert_eq!(event["payload"]["total_tokens"], 3);
}

#[test]
fn a_deleted_a_broken_and_a_foreign_mirror_are_made_again() {
    let repo = Repo::new();
    log(
        &repo,
        "s",
        "assistant",
        &json!({"total_tokens": 3, "call_key": "k"}),
    );
    repo.git("trajectory ingest -q").ok();
    let rows = sqlite(
        &repo,
        "select * from harness_events; select event_id, call_key from harness_extra;",
    );
    let spoil: [&dyn Fn(); 3] = [
        &|| repo.remove(".git/harness/trajectory.db"),
        &|| {
            repo.write(
                ".git/harness/trajectory.db",
                "this is no database at all, and long enough to be looked at",
            )
        },
        &|| {
            sqlite(&repo, "pragma user_version = 99;");
        },
    ];
    for spoil in spoil {
        spoil();
        repo.git("trajectory list").ok();
        assert_eq!(
            sqlite(
                &repo,
                "select * from harness_events; select event_id, call_key from harness_extra;"
            ),
            rows
        );
    }
}

#[test]
fn a_busy_database_is_waited_for_and_two_ingests_agree() {
    let repo = Repo::new();
    log(&repo, "s", "note", &json!({}));
    repo.git("trajectory ingest -q").ok();
    log(&repo, "s", "note", &json!({}));
    let held = repo.sh_ours("(echo 'begin immediate;'; sleep 0.5; echo 'commit;') | sqlite3 .git/harness/trajectory.db & git trajectory ingest & git trajectory ingest & wait");
    held.ok();
    assert_eq!(sqlite(&repo, "select count(*) from harness_events;"), "2");
}

#[test]
fn listing_nothing_is_no_error() {
    let repo = Repo::new();
    repo.git("trajectory list").ok().prints("");
    repo.git("trajectory list --json").ok().prints("[]");
    repo.git("trajectory last").fails(1);
    repo.git("trajectory show").fails(1);
}

#[test]
fn numbers_are_shown_and_the_unknown_is_not_zero() {
    let repo = Repo::new();
    log(&repo, "s", "prompt", &json!({"head": "do it"}));
    log(
        &repo,
        "s",
        "assistant",
        &json!({"total_tokens": 12, "cost_usd": 0.5}),
    );
    log(&repo, "s", "tool_end", &json!({"tool_call_id": "t"}));
    log(&repo, "s", "tool_end", &json!({"tool_call_id": "t"}));
    let last = repo.git("trajectory last").ok().out();
    assert!(
        last.contains("do it  prompt  1 turns, 1 tools, 12 tokens, ~0.5000 $"),
        "{last}"
    );
    log(
        &repo,
        "s",
        "assistant",
        &json!({"total_tokens": 1, "cost_usd": null}),
    );
    let json = repo.git("trajectory list --json").ok().json();
    assert_eq!(
        (
            json[0]["unpriced_calls"].as_i64(),
            json[0]["tokens"].as_i64()
        ),
        (Some(1), Some(13))
    );
    log(&repo, "empty", "note", &json!({}));
    repo.git("trajectory show empty").ok();
    assert!(repo.git("trajectory list --json").ok().json()[1]["tokens"].is_null());
}

#[test]
fn sql_reads_and_cannot_write() {
    let repo = Repo::new();
    log(&repo, "s", "note", &json!({"a": "x,\"y\""}));
    repo.run([
        "trajectory",
        "sql",
        "select type, 1 as one from harness_events",
        "--csv",
    ])
    .ok()
    .prints("type,one\nnote,1");
    repo.run([
        "trajectory",
        "sql",
        "select json_extract(payload_json,'$.a') a from harness_events",
        "--json",
    ])
    .ok()
    .prints("{\"a\":\"x,\\\"y\\\"\"}");
    repo.run(["trajectory", "sql", "delete from harness_events"])
        .fails(128);
    repo.run(["trajectory", "sql", "selec"])
        .fails(128)
        .says("cannot understand the query");
}

#[test]
fn a_log_among_versioned_files_is_refused() {
    let repo = Repo::outside();
    repo.git("init -q --bare gitdir").ok();
    repo.git("-C gitdir config core.bare false").ok();
    let inside = repo
        .env("GIT_DIR", repo.path("gitdir"))
        .env("GIT_WORK_TREE", repo.root());
    inside
        .git("trajectory log note --session s")
        .fails(128)
        .says("inside the working tree");
}

#[test]
fn old_sessions_are_pruned_and_their_sums_may_stay() {
    let repo = Repo::new();
    for session in ["old", "kept"] {
        log(&repo, session, "assistant", &json!({"total_tokens": 7}));
    }
    log(&repo, "new", "note", &json!({}));
    repo.git("trajectory ingest -q").ok();
    repo.sh("touch -d '40 days ago' .git/harness/trajectories/harness-old.jsonl .git/harness/trajectories/harness-kept.jsonl").ok();
    repo.git("trajectory prune -n")
        .ok()
        .prints("harness-kept\nharness-old");
    repo.git("trajectory prune").fails(1).says("--yes");
    repo.rename(".git/harness/trajectories/harness-old.jsonl", "old.jsonl");
    repo.git("trajectory prune -y --keep-summary").ok();
    repo.rename("old.jsonl", ".git/harness/trajectories/harness-old.jsonl");
    repo.git("trajectory prune -y --older-than 39d").ok();
    let kept = lines(&repo, "harness-kept.jsonl");
    assert_eq!((kept.len(), &kept[0]["payload"]["tokens"]), (1, &json!(7)));
    let sessions = repo.git("trajectory list --json").ok().json();
    let ids: Vec<&str> = sessions
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["session_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["kept", "new"]);
}

#[test]
fn old_sessions_expire_once_a_day_and_leave_their_sums() {
    let repo = Repo::new();
    log(
        &repo,
        "old",
        "assistant",
        &json!({"total_tokens": 7, "cost_usd": 0.5}),
    );
    log(&repo, "old", "tool_end", &json!({}));
    log(&repo, "new", "note", &json!({}));
    let folder = ".git/harness/trajectories";
    let age = || {
        repo.sh(&format!(
            "touch -d '40 days ago' {folder}/harness-old.jsonl; touch -d '2 days ago' .git/harness/trajectory-day"
        ))
        .ok();
    };
    // The first day begins with the first ingest, and what is on it is not old.
    repo.git("trajectory ingest -q").ok();
    repo.sh(&format!(
        "touch -d '40 days ago' {folder}/harness-old.jsonl"
    ))
    .ok();
    repo.git("trajectory ingest -q").ok();
    assert_eq!(lines(&repo, "harness-old.jsonl").len(), 2);
    // Switched off, in two ways; never while a log is held or its agent lives.
    age();
    repo.git("-c trajectory.autoPrune=false trajectory ingest -q")
        .ok();
    age();
    repo.git("-c trajectory.expire=never trajectory ingest -q")
        .ok();
    age();
    repo.write(
        format!("{folder}/harness-old.state"),
        json!({"v": 1, "pid": std::process::id()}).to_string(),
    );
    repo.sh(&format!(
        "touch -d '40 days ago' {folder}/harness-old.state"
    ))
    .ok();
    repo.git("trajectory ingest -q").ok();
    assert_eq!(lines(&repo, "harness-old.jsonl").len(), 2);
    repo.remove(format!("{folder}/harness-old.state"));
    // Its sums stay, also when they are old in their turn.
    for _ in 0..2 {
        age();
        repo.git("trajectory ingest -q").ok();
        let kept = lines(&repo, "harness-old.jsonl");
        assert_eq!((kept.len(), &kept[0]["name"]), (1, &json!("pruned")));
        let listed = repo.git("trajectory list --json").ok().json();
        let old = &listed[0];
        assert_eq!(
            (
                &old["session_id"],
                &old["turns"],
                &old["tools"],
                &old["tokens"],
                &old["cost_usd"]
            ),
            (&json!("old"), &json!(1), &json!(1), &json!(7), &json!(0.5))
        );
    }
    assert_eq!(lines(&repo, "harness-new.jsonl").len(), 1);
    // It goes on, and expires again.
    log(&repo, "old", "assistant", &json!({"total_tokens": 3}));
    age();
    repo.git("trajectory ingest -q").ok();
    let kept = lines(&repo, "harness-old.jsonl");
    assert_eq!(
        (
            kept.len(),
            &kept[0]["payload"]["tokens"],
            &kept[0]["payload"]["turns"]
        ),
        (1, &json!(10), &json!(2))
    );
}

#[test]
fn a_followed_session_ends_with_it() {
    let repo = Repo::new();
    log(&repo, "s", "session_start", &json!({}));
    let mut command = repo.command(["trajectory", "show", "s", "--follow", "--json"]);
    let follower = command.stdout(Stdio::piped()).spawn().unwrap();
    log(&repo, "s", "note", &json!({}));
    log(&repo, "s", "session_shutdown", &json!({}));
    let output = follower.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let kinds: Vec<String> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("session_start"));
    assert_eq!(kinds.last().map(String::as_str), Some("session_shutdown"));
}
