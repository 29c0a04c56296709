//! The agents that load our extension: one child for one process of theirs; and
//! the secrets of all five.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::trajectory_scene::{Scene, files_with};

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
        // opencode asks for a title too, and tells nobody what it cost.
        let sum = match agent {
            "opencode" => "4 turns, 3 tools, ≥ 6178 tokens, ≥ ",
            _ => "4 turns, 3 tools, 6178 tokens, ~",
        };
        assert!(
            last.contains(sum) && last.contains("Create notes.txt"),
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
            let found = files_with(&scene.repo.path(".git/harness"), secret);
            assert_eq!(found, [""; 0], "{agent}: {secret}");
            assert!(!labels.contains(secret), "{agent}: {secret} in a label");
        }
    }
}
