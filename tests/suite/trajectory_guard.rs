//! Which worktree a call is guarded in, when it must not run, and what its lines say.

use std::fs;

use serde_json::{Value, json};

use super::common::{Repo, missing};
use super::trajectory_secrets::{last, log, tell};

fn count(repo: &Repo) -> usize {
    repo.checkpoints().len()
}

#[track_caller]
fn tell_from(folder: &Repo, event: &str, rest: Value) -> super::common::Outcome {
    let mut data = json!({"hook_event_name": event, "session_id": "s", "cwd": folder.root()});
    for (name, value) in rest.as_object().unwrap() {
        data[name] = value.clone();
    }
    folder.feed("trajectory hook claude", data.to_string())
}

fn write(path: impl serde::Serialize) -> Value {
    json!({"tool_name": "Write", "tool_use_id": "c", "tool_input": {"file_path": path, "content": "x"}})
}

fn with_answer(mut call: Value, answer: &str) -> Value {
    call["tool_response"] = json!(answer);
    call
}

#[test]
fn a_write_from_outside_is_guarded_where_it_goes() {
    let outside = Repo::outside();
    let repo = Repo::with(&[("a", "a\n")]);
    repo.write("a", "mine\n");
    let call = write(repo.path("a"));
    tell_from(&outside, "PreToolUse", call.clone())
        .ok()
        .silent();
    tell_from(&outside, "PostToolUse", with_answer(call, "done"))
        .ok()
        .silent();
    assert_eq!(count(&repo), 1);
    assert_eq!(last(&repo, "checkpoint")["number"], 1);
}

#[test]
fn a_patch_over_two_worktrees_guards_both() {
    let one = Repo::with(&[("a", "a\n")]);
    let two = Repo::with(&[("b", "b\n")]);
    one.write("a", "changed\n");
    two.write("b", "changed\n");
    let patch = format!(
        "*** Begin Patch\n*** Update File: a\n+x\n*** Update File: {}\n+x\n*** End Patch\n",
        two.path("b").display()
    );
    let call =
        json!({"tool_name": "apply_patch", "tool_use_id": "c", "tool_input": {"input": patch}});
    tell(&one, "PreToolUse", call.clone());
    assert_eq!((count(&one), count(&two)), (1, 1));
    tell(&one, "PostToolUse", with_answer(call, "done"));
    let roots: Vec<Value> = log(&one)
        .into_iter()
        .filter(|event| event["type"] == "checkpoint")
        .map(|event| event["payload"]["worktree"].clone())
        .collect();
    assert_eq!(roots, [json!(one.root()), json!(two.root())]);
}

#[test]
fn a_tool_nobody_knows_is_guarded_where_it_stands_too() {
    let here = Repo::with(&[("a", "a\n")]);
    let there = Repo::with(&[("b", "b\n")]);
    here.write("a", "changed\n");
    there.write("b", "changed\n");
    let call = json!({"tool_name": "mcp__fs__put", "tool_use_id": "c", "tool_input": {"path": there.path("b")}});
    tell(&here, "PreToolUse", call);
    assert_eq!((count(&here), count(&there)), (1, 1));
}

#[test]
fn the_repository_that_the_environment_names_is_the_one() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.write("a", "changed\n");
    let git_dir = repo.scene().join("apart.git");
    fs::rename(repo.path(".git"), &git_dir).unwrap();
    let named = repo
        .env("GIT_DIR", &git_dir)
        .env("GIT_WORK_TREE", repo.root());
    tell_from(&named, "PreToolUse", write(repo.path("a")))
        .ok()
        .silent();
    tell_from(
        &named,
        "PostToolUse",
        with_answer(write(repo.path("a")), "done"),
    )
    .ok()
    .silent();
    let log = fs::read_to_string(git_dir.join("harness/trajectories/claude-s.jsonl")).unwrap();
    assert!(log.contains("\"number\":1"), "{log}");
}

#[test]
fn nothing_runs_unguarded_where_a_checkpoint_is_required() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.git("config checkpoint.onHook Require").ok();
    let call = write(repo.path("a"));
    tell_from(&repo, "PreToolUse", call.clone()).ok().silent();
    let refused = |data: &str| {
        repo.feed("trajectory hook claude", data)
            .fails(2)
            .says("the call is refused");
    };
    refused("{\"hook_event_name\": \"PreToolUse\", torn");
    refused("garbage");
    refused(
        &json!({"hook_event_name": "PreToolUse", "cwd": repo.root(), "tool_name": "Write"})
            .to_string(),
    );
    // Other events, and calls that only read, go on.
    repo.feed(
        "trajectory hook claude",
        "{\"hook_event_name\": \"Stop\", torn",
    )
    .ok()
    .silent();
    repo.git("config trajectory.maxField nonsense").ok();
    tell_from(&repo, "PreToolUse", call.clone())
        .fails(2)
        .says("maxField");
    tell_from(&repo, "Stop", json!({})).ok().silent();
    let read = json!({"tool_name": "Read", "tool_use_id": "r", "tool_input": {"file_path": repo.path("a")}});
    tell_from(&repo, "PreToolUse", read).ok().silent();
    repo.git("config --unset trajectory.maxField").ok();
    // A stream answers each question.
    let line = |session: &str| {
        json!({"id": 1, "event": "tool_call", "session": session, "cwd": repo.root(), "reply": true,
            "data": {"toolCallId": "c", "toolName": "write", "input": {"path": "a"}}})
        .to_string()
            + "\n"
    };
    let reply = repo
        .feed("trajectory hook pi --stream", line(""))
        .ok()
        .json();
    assert_eq!(reply["refuse"], true, "{reply}");
    let reply = repo
        .feed("trajectory hook pi --stream", line("p"))
        .ok()
        .json();
    assert_eq!(reply["refuse"], false, "{reply}");
    // A log that cannot be written.
    repo.remove(".git/harness/trajectories");
    repo.write(".git/harness/trajectories", "in the way");
    tell_from(&repo, "PreToolUse", call.clone()).fails(2);
    repo.remove(".git/harness/trajectories");
    // A configuration that nobody can read.
    repo.append(".git/config", "[checkpoint]\n\tonHook = require\n[broken\n");
    let mut data = call;
    data["hook_event_name"] = json!("PreToolUse");
    data["session_id"] = json!("s");
    data["cwd"] = json!(repo.root());
    repo.write("payload.json", data.to_string());
    repo.sh_ours("git-trajectory hook claude <payload.json")
        .fails(2)
        .says("the call is refused");
}

#[test]
fn switched_off_is_what_git_takes_for_false() {
    for value in ["FALSE", "no", "Off", "0", ""] {
        let repo = Repo::with(&[("a", "a\n")]);
        repo.run(["config", "checkpoint.onHook", value]).ok();
        tell(&repo, "PreToolUse", write(repo.path("a")));
        assert_eq!(count(&repo), 0, "{value:?}");
    }
}

#[test]
fn an_end_without_a_beginning_has_no_duration() {
    let repo = Repo::with(&[("a", "a\n")]);
    tell(
        &repo,
        "PostToolUse",
        with_answer(write(repo.path("a")), "done"),
    );
    assert_eq!(last(&repo, "tool_end")["duration_ms"], Value::Null);
    assert_eq!(last(&repo, "tool_end")["outcome"], "ok");
}

/// Two calls of one tool are open; the person is asked of the first.
#[test]
fn the_call_that_was_asked_for_is_told_by_its_arguments() {
    let repo = Repo::with(&[("a", "a\n")]);
    let call = |id: &str, path: &str| json!({"tool_name": "Write", "tool_use_id": id, "tool_input": {"file_path": repo.path(path), "content": "x"}});
    for (id, path) in [("c1", "a"), ("c2", "b")] {
        tell(&repo, "PreToolUse", call(id, path));
    }
    let mut asked = call("", "a");
    asked.as_object_mut().unwrap().remove("tool_use_id");
    tell(&repo, "PermissionRequest", asked);
    for (id, path) in [("c1", "a"), ("c2", "b")] {
        tell(&repo, "PostToolUse", with_answer(call(id, path), "done"));
    }
    let of = |id: &str| -> Vec<Value> {
        log(&repo)
            .into_iter()
            .filter(|event| event["tool_call_id"] == id)
            .collect()
    };
    for (id, by) in [("c1", "person"), ("c2", "rule")] {
        let events = of(id);
        assert_eq!(events[0]["payload"]["by"], by, "{id}");
        let kinds: Vec<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            ["permission", "checkpoint", "tool_start", "tool_end"]
        );
        let times: Vec<&str> = events.iter().map(|e| e["ts"].as_str().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}

/// Filters of a repository are programs: in one that git would not work in, nothing runs
/// and nothing is written.
#[test]
fn a_repository_of_somebody_else_is_left_alone() {
    let repo = Repo::with(&[("a.txt", "a\n"), (".gitattributes", "*.txt filter=x\n")]);
    let theirs = Repo::with(&[("a.txt", "a\n"), (".gitattributes", "*.txt filter=x\n")]);
    let proof = theirs.scene().join("ran");
    let filter = format!("touch {}; cat", proof.display());
    theirs.run(["config", "filter.x.clean", &filter]).ok();
    if !rustix::process::geteuid().is_root() {
        return missing("root, who can give files away");
    }
    theirs.sh("chown -R 12345 .").ok();
    let before = |cwd: &Repo| {
        json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd.root(), "tool_name": "Write",
            "tool_use_id": "c1", "tool_input": {"file_path": theirs.path("a.txt"), "content": "b"}})
    };
    fs::write(theirs.path("a.txt"), "changed\n").unwrap();
    for from in [&theirs, &repo] {
        from.feed("trajectory hook claude", before(from).to_string())
            .ok()
            .silent();
        assert!(!theirs.exists(".git/harness") && !proof.exists());
    }
    let log = fs::read_to_string(
        theirs
            .home()
            .join(".local/state/git-harness/hook-errors.log"),
    );
    assert!(log.unwrap().contains("dubious ownership"));
    assert!(
        repo.read(".git/harness/hook-errors.log")
            .contains("dubious ownership")
    );
    // The user says that it may be trusted.
    let root = theirs.root().to_str().unwrap();
    theirs
        .run(["config", "--global", "safe.directory", root])
        .ok();
    theirs
        .feed("trajectory hook claude", before(&theirs).to_string())
        .ok()
        .silent();
    assert!(theirs.exists(".git/harness/trajectories") && proof.exists());
}
