//! What agents tell a hook: recorded payloads of the real programs, played again.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::common::Repo;

use super::trajectory_scene::Scene;

const ORDER: [&str; 4] = ["permission", "checkpoint", "tool_start", "tool_end"];

#[test]
fn claude_has_a_checkpoint_before_each_write() {
    let scene = Scene::new("claude", "basic");
    scene.play();
    scene.has_no_trouble();
    let root = scene.repo.root().to_str().unwrap().to_owned();
    assert_eq!(
        scene.checkpoints(),
        [
            "before Write notes.txt",
            "before Edit README.md",
            "before wc -l notes.txt > count.txt && cat count.txt",
            "after wc -l notes.txt > count.txt && cat count.txt"
        ]
    );
    for call in 1..=4 {
        assert_eq!(scene.of_call(&format!("toolu_{call:020}")), ORDER);
    }
    let log = scene.log();
    let write = log.iter().find(|e| e["type"] == "checkpoint").unwrap();
    assert_eq!(
        write["payload"]["paths"],
        json!([format!("{root}/notes.txt")])
    );
    let read = log
        .iter()
        .filter(|e| e["type"] == "checkpoint")
        .nth(1)
        .unwrap();
    assert!(read["payload"]["number"].is_null() && read["payload"]["why"] == "it only reads");
    assert_eq!(log.last().unwrap()["type"], "session_shutdown");
    assert_eq!(log.last().unwrap()["payload"]["events"], log.len());
    let last = scene.repo.git("trajectory last").ok().out();
    assert!(
        last.contains("5 turns, 4 tools, 16640 tokens, ? $"),
        "{last}"
    );
    scene.repo.git("checkpoint undo 1 -y --others=revert").ok();
    scene.repo.git("status --porcelain").ok().prints("");
}

#[test]
fn live_and_imported_meet() {
    let scene = Scene::new("claude", "basic");
    scene.play();
    for _ in 0..2 {
        scene.repo.git("trajectory ingest").ok();
        scene.repo.git("trajectory ingest --rebuild").ok();
    }
    let answer = |query: &str| scene.repo.run(["trajectory", "sql", query]).ok().out();
    assert_eq!(
        answer(
            "select type, count(*) from harness_events where type in ('assistant','tool_start','tool_end','prompt','session_start') group by 1"
        ),
        "assistant|5\nprompt|1\nsession_start|1\ntool_end|4\ntool_start|4"
    );
    // The live row stays, and takes from the transcript what no hook knows.
    let turns = answer(
        "select x.turn from harness_events h join harness_extra x using(event_id) where h.type = 'tool_end' and not x.imported order by 1",
    );
    assert_eq!(turns, "0\n1\n2\n3");
}

/// Live, then imported twice by name, then recorded and replayed from a journal: the
/// queries of outside readers give each call once.
#[test]
fn a_replay_after_live_and_import_counts_each_call_once() {
    let scene = Scene::new("claude", "basic");
    let repo = &scene.repo;
    let base = repo.oid("HEAD");
    let run = repo.git("trajectory start work").ok().out();
    scene.play();
    repo.commit_all("what the agent did");
    let (_, start) = scene.events().remove(0);
    let session = start["session_id"].as_str().unwrap().to_owned();
    let transcript = start["transcript_path"].as_str().unwrap().to_owned();
    // The phase of the run in which the session was, as `phase` writes it.
    repo.append(
        format!(".git/harness/runs/{run}.jsonl"),
        format!(
            "{}\n{}\n",
            json!({"event_id": "hev_p", "ts": "2026-01-01T00:00:00.000Z", "adw_id": run, "phase_id": format!("{run}-01"),
                "type": "phase_start", "name": "do", "payload": {"seq": 1, "kind": "agent"}}),
            json!({"event_id": "hev_q", "ts": "2026-01-01T00:00:00.000Z", "adw_id": run, "phase_id": format!("{run}-01"),
                "type": "phase_session", "name": "do", "payload": {"session_id": session, "attempt": 1}}),
        ),
    );
    let outside = |query: &str| {
        let query = query.replace('$', "\\$");
        repo.sh(&format!("sqlite3 .git/harness/trajectory.db \"{query}\""))
            .ok()
            .out()
    };
    let founding = || {
        [
            outside(
                "SELECT phase_id, count(*) FROM harness_by_phase WHERE adw_id = (SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) AND type IN ('assistant', 'tool_end') GROUP BY phase_id;",
            ),
            outside(
                "SELECT json_extract(payload_json,'$.total_tokens'), json_extract(payload_json,'$.cost_usd') FROM harness_by_phase WHERE phase_id LIKE '%-01' AND type = 'assistant' ORDER BY ts;",
            ),
            outside(
                "SELECT type, count(*) FROM harness_by_phase WHERE adw_id = (SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) AND type IN ('assistant', 'tool_start', 'tool_end', 'prompt') GROUP BY type ORDER BY type;",
            ),
        ]
    };
    repo.git("trajectory ingest").ok();
    let once = founding();
    assert_eq!(once[0], format!("{run}-01|9"));
    assert_eq!(once[1].lines().count(), 5);
    assert_eq!(once[2], "assistant|5\nprompt|1\ntool_end|4\ntool_start|4");
    for _ in 0..2 {
        repo.run(["trajectory", "import", "claude", &transcript])
            .ok();
        repo.git("trajectory ingest").ok();
        assert_eq!(founding(), once);
    }
    // The replay tells a session of its own what it did; the first one stays as it was.
    repo.run([
        "trajectory",
        "replay",
        "record",
        &format!("{base}..HEAD"),
        "--session",
        &session,
        "-o",
        "../journal.json",
    ])
    .ok();
    repo.run(["trajectory", "replay", "run", "../journal.json", "--check"])
        .ok();
    repo.run([
        "trajectory",
        "replay",
        "run",
        "../journal.json",
        "--events",
        "--session",
        "again",
    ])
    .ok();
    repo.git("trajectory ingest").ok();
    assert_eq!(founding(), once);
    repo.git("trajectory ingest --rebuild").ok();
    assert_eq!(founding(), once);
}

#[test]
fn what_was_refused_has_no_checkpoint() {
    for scenario in ["denied", "denied-by-hook"] {
        let scene = Scene::new("claude", scenario);
        scene.play();
        assert_eq!(scene.checkpoints(), [""; 0], "{scenario}");
        let log = scene.log();
        let ends: Vec<&Value> = log
            .iter()
            .filter(|e| e["type"] == "tool_end")
            .map(|e| &e["payload"]["outcome"])
            .collect();
        assert!(
            !ends.is_empty() && ends.iter().all(|o| **o == "denied"),
            "{scenario}: {ends:?}"
        );
        let first = log.iter().find(|e| e["type"] == "checkpoint").unwrap();
        assert_eq!(
            (&first["payload"]["number"], &first["payload"]["dropped"]),
            (&Value::Null, &json!(1))
        );
    }
}

#[test]
fn a_stopped_command_keeps_its_checkpoint_and_a_refused_one_loses_it_by_proof() {
    let scene = Scene::new("claude", "prompted");
    scene.play();
    // No hook tells the two apart.
    assert_eq!(
        scene.checkpoints(),
        [
            "before Write yes.txt",
            "before touch no.txt",
            "before sleep 15"
        ]
    );
    let log = scene.log();
    let unknown = log
        .iter()
        .filter(|e| e["type"] == "tool_end" && e["payload"]["outcome"] == "unknown")
        .count();
    assert_eq!(unknown, 2);
    // The transcript does.
    scene.repo.git("trajectory ingest").ok();
    assert_eq!(
        scene.checkpoints(),
        ["before Write yes.txt", "before sleep 15"]
    );
    let outcomes = "select json_extract(payload_json,'$.outcome') from harness_events where type='tool_end' order by 1";
    scene
        .repo
        .run(["trajectory", "sql", outcomes])
        .ok()
        .prints("cancelled\ndenied\nok");
}

#[test]
fn a_checkpoint_stays_when_the_tree_has_changed_since() {
    let scene = Scene::new("claude", "denied");
    for (event, data) in scene.events() {
        scene.tell(&data);
        if event == "PreToolUse" {
            scene.repo.append("README.md", "somebody else\n");
        }
    }
    assert_eq!(scene.checkpoints().len(), 2);
}

#[test]
fn a_killed_agent_leaves_its_call_open_and_then_unknown() {
    let scene = Scene::new("claude", "killed-in-tool");
    // The agent's process: one that has ended.
    let mut gone = Command::new("true").spawn().unwrap();
    let pid = gone.id().to_string();
    let here = scene.repo.env("CLAUDE_PID", &pid);
    for (_, data) in scene.events() {
        here.feed("trajectory hook claude", data.to_string())
            .ok()
            .silent();
    }
    let open = scene.repo.git("trajectory show --json --no-ingest");
    assert!(open.code() == Some(128), "there is no mirror yet");
    gone.wait().unwrap();
    scene.repo.git("trajectory ingest").ok();
    let log = scene.log();
    let end = log.iter().rev().find(|e| e["type"] == "tool_end").unwrap();
    assert_eq!(end["payload"]["outcome"], "unknown");
    assert!(end["payload"]["is_error"].is_null() && end["payload"]["duration_ms"].is_null());
    assert_eq!(
        scene
            .checkpoints()
            .iter()
            .filter(|label| label.starts_with("before"))
            .count(),
        2
    );
}

#[test]
fn an_open_call_is_shown() {
    let scene = Scene::new("claude", "basic");
    let here = scene.repo.env("CLAUDE_PID", std::process::id().to_string());
    for (event, data) in scene.events() {
        here.feed("trajectory hook claude", data.to_string())
            .ok()
            .silent();
        if event == "PreToolUse" {
            break;
        }
    }
    let shown = scene.repo.git("trajectory show --json").ok();
    let last: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["type"].as_str(), last["name"].as_str()),
        (Some("open"), Some("Write"))
    );
    assert_eq!(
        scene.repo.git("trajectory list --json").ok().json()[0]["open"],
        1
    );
}

#[test]
fn subagents_calls_are_told_apart() {
    let scene = Scene::new("claude", "subagent");
    scene.play();
    let log = scene.log();
    let child = log
        .iter()
        .find(|e| e["type"] == "tool_end" && e["name"] == "Bash")
        .unwrap();
    assert!(child["agent_id"].is_string());
    let parent = log
        .iter()
        .find(|e| e["type"] == "tool_end" && e["name"] == "Agent")
        .unwrap();
    assert!(parent["agent_id"].is_null());
}

#[test]
fn codex_and_its_scripts_are_recorded() {
    let scene = Scene::new("codex", "basic");
    scene.play();
    scene.has_no_trouble();
    assert_eq!(
        scene.checkpoints()[..3],
        [
            "before apply_patch notes.txt",
            "before apply_patch README.md",
            "before wc -l notes.txt > count.txt && cat count.txt"
        ]
    );
    let last = scene.repo.git("trajectory last").ok().out();
    assert!(last.contains("4 turns, 3 tools, 12800 tokens"), "{last}");
    let scene = Scene::new("codex", "code-mode");
    scene.play();
    let last = scene.repo.git("trajectory last").ok().out();
    // Three nested calls with hooks, and the outer one that only the rollout knows.
    assert!(last.contains("2 turns, 4 tools"), "{last}");
}

#[test]
fn gemini_has_no_ids_and_meets_its_transcript_nevertheless() {
    let scene = Scene::new("gemini", "parallel");
    scene.play();
    scene.has_no_trouble();
    let last = scene.repo.git("trajectory last").ok().out();
    assert!(last.contains("2 turns, 5 tools"), "{last}");
    let scene = Scene::new("gemini", "denied-policy");
    scene.play();
    scene.repo.git("trajectory ingest").ok();
    assert_eq!(scene.checkpoints(), [""; 0]);
}

#[test]
fn a_lost_state_is_made_again_from_the_log() {
    let mut scene = Scene::new("claude", "resumed");
    // The agent lives: what is open is not closed by the ingest at a session's end.
    scene.repo = scene.repo.env("CLAUDE_PID", std::process::id().to_string());
    for (n, (_, data)) in scene.events().into_iter().enumerate() {
        if n % 3 == 2 {
            let states = scene
                .repo
                .sh("ls .git/harness/trajectories/*.state")
                .ok()
                .out();
            if n % 2 == 0 {
                scene.repo.remove(states.trim());
            } else {
                fs::write(scene.repo.path(states.trim()), "{ no state").unwrap();
            }
        }
        scene.tell(&data);
    }
    let log = scene.log();
    assert_eq!(log.iter().filter(|e| e["type"] == "prompt").count(), 3);
    assert_eq!(log.iter().filter(|e| e["type"] == "tool_end").count(), 2);
    assert!(log.iter().all(|e| e["t_ms"].as_i64().unwrap() >= 0));
}

#[test]
fn nothing_disturbs_the_agent() {
    let scene = Scene::new("claude", "basic");
    let (_, start) = scene.events().remove(0);
    let whatever = [
        "".to_owned(),
        "garbage".to_owned(),
        "{}".to_owned(),
        "[1,2]".to_owned(),
        "null".to_owned(),
        json!({"session_id": 7, "hook_event_name": []}).to_string(),
        json!({"session_id": "x", "hook_event_name": "PreToolUse", "tool_input": "\u{0}", "cwd": "/nowhere"}).to_string(),
        "\u{feff}{".to_owned(),
        "x".repeat(70 << 20),
    ];
    for agent in ["claude", "codex", "gemini", "pi", "opencode", "nobody"] {
        for payload in &whatever[..8] {
            scene
                .repo
                .feed(&format!("trajectory hook {agent}"), payload)
                .ok()
                .silent();
            scene
                .repo
                .feed(&format!("trajectory hook {agent} --stream"), payload)
                .ok()
                .silent();
        }
    }
    scene
        .repo
        .feed("trajectory hook claude", &whatever[8])
        .ok()
        .silent();
    // A closed input, no repository, a bare one, a folder that is gone.
    scene
        .repo
        .sh_ours("git trajectory hook claude <&-")
        .ok()
        .silent();
    let outside = Repo::outside();
    outside
        .feed("trajectory hook claude", start.to_string())
        .ok()
        .silent();
    outside.git("init -q --bare .").ok();
    outside
        .feed(
            "trajectory hook claude",
            json!({"session_id": "b", "hook_event_name": "Stop", "cwd": outside.root()})
                .to_string(),
        )
        .ok()
        .silent();
    // A disk on which nothing can be written.
    let folder = scene.repo.path(".git/harness");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "a file in the way").unwrap();
    scene.tell(&start);
}

/// A payload without measure is read to its end and dropped, with memory for much less.
#[test]
fn a_payload_of_100_megabytes_costs_little() {
    let scene = Scene::new("claude", "basic");
    let (_, start) = scene.events().remove(0);
    scene.tell(&start);
    let before = scene.log().len();
    // Three pieces make one JSON object. Address space is limited, where the system can.
    scene
        .repo
        .sh_ours(
            "ulimit -v 500000 || :
             { printf '{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"cwd\":\".\",\"prompt\":\"'
               head -c 100000000 /dev/zero | tr '\\000' x
               printf '\"}'; } | git trajectory hook claude",
        )
        .ok()
        .silent();
    assert_eq!(scene.log().len(), before);
    let told = scene.repo.read(".git/harness/hook-errors.log");
    assert!(told.contains("larger than"), "{told}");
}

/// The disk is read-only: nothing is written, and nothing is said.
#[test]
fn a_disk_that_takes_nothing_is_the_users_trouble_only() {
    let scene = Scene::new("claude", "basic");
    let Some(repo) = scene.repo.for_whom_modes_count() else {
        return;
    };
    let folder = scene.repo.path(".git");
    repo.sh(&format!("chmod -R a-w '{}'", folder.display()))
        .ok();
    for (_, data) in scene.events() {
        repo.feed("trajectory hook claude", data.to_string())
            .ok()
            .silent();
    }
    assert!(!scene.repo.exists(".git/harness"));
    repo.sh(&format!("chmod -R u+w '{}'", folder.display()))
        .ok();
}

/// The disk is full when the line is written.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_lets_the_agent_go_on() {
    let scene = Scene::new("claude", "basic");
    let (_, start) = scene.events().remove(0);
    let log = format!(
        ".git/harness/trajectories/claude-{}.jsonl",
        start["session_id"].as_str().unwrap()
    );
    scene.tell(&start);
    scene.repo.remove(&log);
    scene.repo.link("/dev/full", &log);
    scene.tell(&start);
    let told = scene.repo.read(".git/harness/hook-errors.log");
    assert!(told.contains("No space left"), "{told}");
}

#[test]
fn a_held_lock_lets_the_agent_go_on_and_says_so() {
    let scene = Scene::new("claude", "basic");
    let events = scene.events();
    for (_, data) in &events[..3] {
        scene.tell(data);
    }
    // Another process holds the lane while the next write is about to happen.
    let lane = fs::File::options()
        .read(true)
        .write(true)
        .open(scene.repo.path(".git/harness/lanes/main.lock"))
        .unwrap();
    lane.lock().unwrap();
    let edit = events
        .iter()
        .position(|(_, d)| d["tool_name"] == "Edit")
        .unwrap();
    scene.tell(&events[edit].1);
    lane.unlock().unwrap();
    scene.tell(&events[edit + 1].1);
    let log = scene.log();
    let checkpoint = log
        .iter()
        .rev()
        .find(|e| e["type"] == "checkpoint")
        .unwrap();
    assert!(checkpoint["payload"]["error"].is_string(), "{checkpoint}");
    scene
        .repo
        .git("trajectory list")
        .ok()
        .says("1 write without a checkpoint");
    // With `require` the call is refused instead.
    scene.repo.git("config checkpoint.onHook require").ok();
    lane.lock().unwrap();
    scene
        .repo
        .feed("trajectory hook claude", events[edit].1.to_string())
        .fails(2)
        .says("refused");
    lane.unlock().unwrap();
}

#[test]
fn checkpoints_of_hooks_can_be_switched_off() {
    let scene = Scene::new("claude", "basic");
    scene.repo.git("config checkpoint.onHook false").ok();
    scene.play();
    assert_eq!(scene.checkpoints(), [""; 0]);
}

#[test]
fn a_loop_is_told_once() {
    let repo = Repo::with(&[("a", "a\n")]);
    let tell = |name: &str, n: usize, more: Value| {
        let mut data = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": name, "tool_name": "Read", "tool_use_id": format!("t{n}"), "tool_input": {"file_path": "a"}});
        data.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        repo.feed("trajectory hook claude", data.to_string())
            .ok()
            .silent();
    };
    for n in 0..7 {
        tell("PreToolUse", n, json!({}));
        tell("PostToolUse", n, json!({"tool_response": "the same"}));
    }
    let text = repo.read(".git/harness/trajectories/claude-s.jsonl");
    let loops: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .filter(|e: &Value| e["type"] == "loop")
        .collect();
    assert_eq!(loops.len(), 1);
    assert_eq!(
        loops[0]["payload"],
        json!({"kind": "repeat", "count": 4, "tool": "Read"})
    );
}

/// The loops that Claude Code's calls of `tool` close, each call with its input, the
/// event of its end and what is done between.
#[track_caller]
fn loops(repo: &Repo, tool: &str, calls: &[(Value, &str, &dyn Fn())]) -> Vec<Value> {
    for (n, (input, ended, act)) in calls.iter().enumerate() {
        for name in ["PreToolUse", ended] {
            let data = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": name, "tool_name": tool,
                "tool_use_id": format!("{tool}{n}"), "tool_input": input, "tool_response": format!("{n}"), "error": format!("{n}")});
            repo.feed("trajectory hook claude", data.to_string())
                .ok()
                .silent();
            if name == "PreToolUse" {
                act();
            }
        }
    }
    repo.read(".git/harness/trajectories/claude-s.jsonl")
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .filter(|e| e["type"] == "loop" && e["payload"]["tool"] == tool)
        .map(|mut e| e["payload"].take())
        .collect()
}

#[test]
fn an_edit_that_is_undone_again_and_again_is_a_loop() {
    let repo = Repo::with(&[("a", "0\n")]);
    let write = |content: &'static str| {
        let repo = &repo;
        move || repo.write("a", content)
    };
    let (one, two) = (write("1\n"), write("2\n"));
    let input = |content: &str| json!({"file_path": repo.path("a"), "content": content});
    let there = (input("1\n"), "PostToolUse", &one as &dyn Fn());
    let back = (input("2\n"), "PostToolUse", &two as &dyn Fn());
    let calls = [
        there.clone(),
        back.clone(),
        there.clone(),
        back.clone(),
        there,
        back,
    ];
    assert_eq!(
        loops(&repo, "Write", &calls),
        [json!({"kind": "edit-undo", "count": 2, "tool": "Write"})]
    );
}

#[test]
fn failures_without_end_are_a_loop() {
    let repo = Repo::with(&[("a", "a\n")]);
    let calls: Vec<(Value, &str, &dyn Fn())> = (0..7)
        .map(|n| {
            let input = json!({"command": format!("ls {n}")});
            (input, "PostToolUseFailure", &(|| ()) as &dyn Fn())
        })
        .collect();
    assert_eq!(
        loops(&repo, "Bash", &calls),
        [json!({"kind": "retry", "count": 5, "tool": "Bash"})]
    );
}

/// A hook that only logs starts no git and opens no database.
#[test]
fn a_logging_hook_needs_neither_git_nor_the_mirror() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.mkdir(".git/harness/trajectory.db");
    let data = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": "UserPromptSubmit", "prompt": "go"});
    let program = super::common::bin_dir().join("git-trajectory");
    repo.write("p.json", data.to_string());
    // Nothing but the hook itself is to be found.
    repo.sh(&format!(
        "mkdir empty; PATH=\"$PWD/empty\" '{}' hook claude < p.json",
        program.display()
    ))
    .ok()
    .silent();
    let text = repo.read(".git/harness/trajectories/claude-s.jsonl");
    assert!(text.contains("\"prompt\""), "{text}");
    assert!(!repo.exists(".git/harness/hook-errors.log"));
}

#[test]
fn a_linked_worktree_gets_its_own_checkpoints_in_the_same_log() {
    let repo = Repo::with(&[("a", "a\n")]);
    let linked = repo.worktree("side");
    let path = linked.root().join("b");
    for (name, cwd) in [("PreToolUse", repo.root()), ("PostToolUse", repo.root())] {
        let data = json!({"session_id": "s", "cwd": cwd, "hook_event_name": name, "tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": path, "content": "b"}, "tool_response": {}});
        repo.feed("trajectory hook claude", data.to_string())
            .ok()
            .silent();
    }
    assert_eq!(repo.git("checkpoint list --json").ok().json(), json!([]));
    assert_eq!(
        linked.git("checkpoint list --json").ok().json()[0]["paths"],
        json!(["b"])
    );
    // A path outside of every worktree: none, and the event says so.
    let data = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_use_id": "o", "tool_input": {"file_path": "/nowhere/x"}});
    repo.feed("trajectory hook claude", data.to_string())
        .ok()
        .silent();
    let end = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": "SessionEnd", "reason": "other"});
    repo.feed("trajectory hook claude", end.to_string())
        .ok()
        .silent();
    let text = repo.read(".git/harness/trajectories/claude-s.jsonl");
    assert!(
        text.contains("the path is outside every worktree"),
        "{text}"
    );
}
