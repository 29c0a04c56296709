//! What agents tell a hook: recorded payloads of the real programs, played again.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::common::Repo;
use super::trajectory_import::fixtures;

/// A repository like the one in which the payloads were recorded, and the
/// agent's transcript beside it.
struct Scene {
    repo: Repo,
    agent: &'static str,
    scenario: &'static str,
}

impl Scene {
    fn new(agent: &'static str, scenario: &'static str) -> Self {
        let repo = Repo::with(&[("README.md", "# app\n\nA tiny project.\n")]);
        Scene {
            repo,
            agent,
            scenario,
        }
    }

    /// The recorded events, with the paths of this place.
    fn events(&self) -> Vec<(String, Value)> {
        let folder = fixtures().join(self.agent).join(self.scenario);
        let text = fs::read_to_string(folder.join("hooks.jsonl")).unwrap();
        let text = text.replace("/home/dev/app", self.repo.root().to_str().unwrap());
        text.lines()
            .map(|line| {
                let mut event: Value = serde_json::from_str(line).unwrap();
                let stdin = event["stdin"].take();
                (
                    event["event"].as_str().unwrap().to_owned(),
                    self.with_transcript(stdin),
                )
            })
            .collect()
    }

    fn with_transcript(&self, mut data: Value) -> Value {
        if let Some(path) = data.get("transcript_path").and_then(Value::as_str) {
            let name = PathBuf::from(path).file_name().unwrap().to_owned();
            let folder = fixtures()
                .join(self.agent)
                .join(self.scenario)
                .join("transcript");
            if let Some(found) = find(&folder, &name) {
                data["transcript_path"] = found.to_str().unwrap().into();
            }
        }
        data
    }

    /// Gives one payload to the hook, which says nothing.
    #[track_caller]
    fn tell(&self, data: &Value) {
        self.repo
            .feed(&format!("trajectory hook {}", self.agent), data.to_string())
            .ok()
            .silent();
    }

    /// Plays all events; the tool's write happens where it happened.
    #[track_caller]
    fn play(&self) {
        for (event, data) in self.events() {
            if matches!(event.as_str(), "PostToolUse" | "AfterTool") {
                self.write(&data);
            }
            self.tell(&data);
        }
    }

    /// What the tool of `data` did.
    fn write(&self, data: &Value) {
        let input = &data["tool_input"];
        if let (Some(path), Some(content)) =
            (input["file_path"].as_str(), input["content"].as_str())
        {
            fs::write(self.repo.root().join(path), content).unwrap();
        }
    }

    fn log(&self) -> Vec<Value> {
        let folder = self.repo.path(".git/harness/trajectories");
        let live = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| {
                path.extension().is_some_and(|e| e == "jsonl")
                    && !path.to_str().unwrap().ends_with(".import.jsonl")
            })
            .unwrap();
        fs::read_to_string(live)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The kinds of a call's lines, in the order of the file.
    fn of_call(&self, call: &str) -> Vec<String> {
        let of = |event: &Value| event["tool_call_id"] == call;
        self.log()
            .iter()
            .filter(|e| of(e))
            .map(|e| e["type"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The labels of the checkpoints.
    fn checkpoints(&self) -> Vec<String> {
        let list = self.repo.git("checkpoint list --json").ok().json();
        list.as_array()
            .unwrap()
            .iter()
            .map(|c| c["label"].as_str().unwrap().to_owned())
            .collect()
    }

    fn has_no_trouble(&self) {
        let log = self.repo.path(".git/harness/hook-errors.log");
        assert!(!log.exists(), "{}", fs::read_to_string(log).unwrap());
    }
}

fn find(folder: &std::path::Path, name: &std::ffi::OsStr) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name) {
                return Some(found);
            }
        } else if path.file_name() == Some(name) {
            return Some(path);
        }
    }
    None
}

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

/// Lines as the extension of `agent` writes them, from the agent's own events.
fn stream_lines(scene: &Scene) -> Vec<String> {
    let root = scene.repo.root().to_str().unwrap().to_owned();
    let mut lines = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for (n, (event, data)) in scene.events().into_iter().enumerate() {
        let (session, data) = match scene.agent {
            "pi" => {
                let data = match event.as_str() {
                    "session_start" => json!({"reason": data["reason"], "mode": "print"}),
                    "tool_result" => {
                        results.push(data["toolCallId"].clone());
                        continue;
                    }
                    "tool_execution_end" => {
                        let mut data = data.clone();
                        data["sawResult"] = results.contains(&data["toolCallId"]).into();
                        data
                    }
                    "turn_end" => {
                        json!({"turnIndex": data["turnIndex"], "toolResults": data["toolResults"].as_array().map_or(0, Vec::len)})
                    }
                    _ => data,
                };
                (json!("pi-session"), data)
            }
            _ => opencode_data(&event, &data),
        };
        let event = if event == "message.part.updated" {
            "tool.error".to_owned()
        } else {
            event
        };
        let reply = matches!(event.as_str(), "tool_call" | "tool.execute.before");
        lines.push(json!({"v": 1, "id": n, "event": event, "session": session, "cwd": root, "data": data, "reply": reply}).to_string());
    }
    lines
}

fn opencode_data(event: &str, data: &Value) -> (Value, Value) {
    let (input, output, what) = (&data["input"], &data["output"], &data["properties"]);
    match event {
        "tool.execute.before" => (
            input["sessionID"].clone(),
            json!({"callID": input["callID"], "tool": input["tool"], "args": output["args"]}),
        ),
        "tool.execute.after" => (
            input["sessionID"].clone(),
            json!({"callID": input["callID"], "tool": input["tool"], "args": input["args"], "output": output["output"], "metadata": {"exit": output["metadata"]["exit"]}}),
        ),
        "chat.message" => (
            input["sessionID"].clone(),
            json!({"text": output["parts"][0]["text"]}),
        ),
        "message.updated" => (
            what["info"]["sessionID"].clone(),
            json!({"info": what["info"]}),
        ),
        "message.part.updated" => {
            let part = &what["part"];
            (
                part["sessionID"].clone(),
                json!({"callID": part["callID"], "tool": part["tool"], "args": part["state"]["input"], "error": part["state"]["error"]}),
            )
        }
        "session.created" => (
            what["info"]["id"].clone(),
            json!({"info": {"parentID": null}}),
        ),
        "permission.asked" => (
            what["sessionID"].clone(),
            json!({"callID": what["tool"]["callID"]}),
        ),
        _ => (what["sessionID"].clone(), json!({})),
    }
}

fn stream(scene: &Scene) -> Vec<Value> {
    let mut command = scene
        .repo
        .command(["trajectory", "hook", scene.agent, "--stream"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in stream_lines(scene) {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_stream_answers_before_a_write_with_the_checkpoint() {
    for agent in ["pi", "opencode"] {
        let scene = Scene::new(agent, "basic");
        let replies = stream(&scene);
        scene.has_no_trouble();
        let numbers: Vec<&Value> = replies.iter().map(|r| &r["checkpoint"]).collect();
        assert_eq!(numbers, [&json!(1), &json!(2), &json!(3)], "{agent}");
        let last = scene.repo.git("trajectory last").ok().out();
        assert!(
            last.contains("4 turns, 3 tools, 6178 tokens, ~") && last.contains("Create notes.txt"),
            "{agent}: {last}"
        );
        assert_eq!(
            scene.log().last().unwrap()["type"],
            "session_shutdown",
            "{agent}"
        );
    }
}

#[test]
fn a_stream_knows_a_refusal() {
    for (agent, scenario) in [
        ("pi", "denied"),
        ("opencode", "denied"),
        ("opencode", "denied-ask"),
    ] {
        let scene = Scene::new(agent, scenario);
        stream(&scene);
        assert_eq!(scene.checkpoints(), [""; 0], "{agent} {scenario}");
        let log = scene.log();
        let end = log.iter().find(|e| e["type"] == "tool_end").unwrap();
        assert_eq!(end["payload"]["outcome"], "denied", "{agent} {scenario}");
    }
    // A guard that is asked first keeps the call from us: nothing was taken, and that is said.
    let scene = Scene::new("pi", "denied-guard-first");
    stream(&scene);
    let log = scene.log();
    let checkpoint = log.iter().find(|e| e["type"] == "checkpoint").unwrap();
    assert_eq!(checkpoint["payload"]["why"], "its beginning was not seen");
}

#[test]
fn every_copy_of_every_secret_is_gone() {
    let made_up = [
        "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH",
        "AKIAQWERTYUIOPASDFGH",
        "hunter2hunter2",
        "MIIBOgIBAAJBAKj34",
    ];
    let others = [
        "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
        "AKIAQWERTYUIOPASDFGH",
        "wJalrXUtnFEMIK7MDENGbPxRfiCYzzFAKEKEY00",
        "hunter2-correct-horse",
    ];
    for (agent, scenario, secrets) in [
        ("claude", "secrets", made_up),
        ("codex", "secrets", made_up),
        ("gemini", "secret", others),
        ("pi", "secret", others),
        ("opencode", "secret", others),
    ] {
        let scene = Scene::new(agent, scenario);
        if matches!(agent, "pi" | "opencode") {
            stream(&scene);
        } else {
            for (_, data) in scene.events() {
                scene.tell(&data);
            }
            // An error of ours that quotes the payload.
            scene
                .repo
                .feed(
                    &format!("trajectory hook {agent}"),
                    format!("{{\"x\": \"{}\"", secrets[0]),
                )
                .ok()
                .silent();
        }
        scene.repo.git("trajectory ingest").ok();
        let labels = scene
            .repo
            .git("log --exclude=refs/heads/* --all --format=%B")
            .ok()
            .out();
        for secret in secrets {
            // Logs, states, mirror and error log.
            let found = scene
                .repo
                .run(["grep", "--no-index", "-a", "-l", secret, ".git/harness"])
                .out();
            assert_eq!(found, "", "{agent}: {secret}");
            assert!(!labels.contains(secret), "{agent}: {secret} in a label");
        }
    }
}

#[test]
fn a_lost_state_is_made_again_from_the_log() {
    let scene = Scene::new("claude", "resumed");
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
