//! Where a replay departs from its record: each kind, under both policies, in
//! words and in JSON.

use serde_json::{Value, json};

use crate::common::{Outcome, Repo};
use crate::replay::Replay;

/// A repository and its journal `../j.json` of two commits, without raw commits.
fn recorded(options: &str) -> Repo {
    let repo = Repo::with(&[("a", "a\n"), ("b", "b\n")]);
    repo.git("checkout -q -b run").ok();
    repo.write("a", "A\n");
    repo.commit_all("first");
    repo.write("b", "B\n");
    repo.commit_all("second");
    repo.git("checkout -q main").ok();
    repo.write("../brief", "Do it.\n");
    repo.replay(&format!(
        "record main..run -o ../j.json --prompt-file ../brief {options}"
    ))
    .ok();
    repo
}

/// Changes the journal `../j.json`.
#[track_caller]
fn edit(repo: &Repo, change: impl FnOnce(&mut Vec<Value>)) {
    let mut journal = repo.journal("../j.json");
    change(&mut journal);
    repo.write("../j.json", serde_json::to_vec_pretty(&journal).unwrap());
}

fn at<'a>(journal: &'a mut [Value], kind: &str) -> &'a mut Value {
    journal
        .iter_mut()
        .find(|entry| entry["kind"] == kind)
        .unwrap()
}

fn branches(repo: &Repo) -> String {
    repo.git("for-each-ref --format=%(refname) refs/heads/replay")
        .ok()
        .out()
}

/// Under `fail` it ends with exit 1, says `line`, and makes no branch; the JSON
/// has one divergence like `wanted`.
#[track_caller]
fn fails(repo: &Repo, options: &str, line: &str, wanted: Value) {
    repo.replay(&format!("../j.json {options}"))
        .fails(1)
        .says(&format!("diverged: {line}"));
    let found = repo
        .replay(&format!("../j.json {options} --json"))
        .fails(1)
        .json();
    assert_eq!(branches(repo), "");
    assert_eq!(found["branch"], Value::Null);
    assert_eq!(found["softened"], 0);
    let divergences = found["divergences"].as_array().unwrap();
    assert_eq!(divergences.len(), 1, "{found:#}");
    holds(&divergences[0], &wanted);
}

/// Under `warn` it is a warning, counted, and a branch is made.
#[track_caller]
fn warns(repo: &Repo, options: &str, softened: usize, wanted: Value) -> Value {
    let options = format!("../j.json {options} --divergence=warn");
    repo.replay(&format!("{options} --check"))
        .ok()
        .says("warning: ")
        .never_says("diverged: ");
    let found = repo.replay(&format!("{options} --json")).ok().json();
    assert_eq!(found["softened"], softened, "{found:#}");
    assert_eq!(found["state"], "made");
    assert_eq!(
        branches(repo),
        format!("refs/heads/{}", found["branch"].as_str().unwrap())
    );
    repo.git("fsck --strict").ok();
    holds(&found["divergences"][0], &wanted);
    found
}

/// Softening changes nothing: exit 1, no branch.
#[track_caller]
fn stays_final(repo: &Repo, options: &str, kind: &str) -> Outcome {
    let outcome = repo
        .replay(&format!("../j.json {options} --divergence=warn --json"))
        .fails(1);
    let found = outcome.json();
    let last = found["divergences"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        (&last["kind"], &last["final"]),
        (&json!(kind), &json!(true)),
        "{found:#}"
    );
    assert_eq!(branches(repo), "");
    outcome
}

#[track_caller]
fn holds(found: &Value, wanted: &Value) {
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&found[key], value, "{key} of {found:#}");
    }
}

#[test]
fn prompt() {
    let repo = recorded("");
    repo.replay("../j.json --prompt-file ../brief --check").ok();
    let wanted = json!({"kind": "prompt", "turn": 1, "expected": "Do it.\n", "actual": "Do it."});
    fails(
        &repo,
        "--prompt 'Do it.'",
        "prompt: turn 1: the prompt differs on its line 1",
        wanted.clone(),
    );
    let found = warns(&repo, "--prompt 'Do it.'", 1, wanted);
    assert_eq!(repo.oid(found["branch"].as_str().unwrap()), repo.oid("run"));
}

#[test]
fn baseline() {
    let repo = recorded("");
    repo.git("checkout -q -b elsewhere main").ok();
    repo.write("c", "c\n");
    repo.commit_all("elsewhere");
    let wanted = json!({
        "kind": "baseline", "turn": 1,
        "expected": repo.oid("main^{tree}"), "actual": repo.oid("HEAD^{tree}"),
    });
    fails(
        &repo,
        "--from HEAD",
        "baseline: turn 1: the run began with the tree",
        wanted.clone(),
    );
    // Then each tree differs, too: the same changes on another ground.
    let found = warns(&repo, "--from HEAD", 3, wanted);
    let branch = found["branch"].as_str().unwrap();
    repo.git(&format!("diff --quiet {branch} run -- a b")).ok();
    assert_eq!(repo.git(&format!("show {branch}:c")).ok().out(), "c");
    assert_eq!(found["divergences"][1]["kind"], "tree");
}

#[test]
fn tree() {
    let repo = recorded("--no-lossless");
    let tree = repo.oid("main^{tree}");
    edit(&repo, |journal| {
        at(journal, "workspace-commits")["commits"][1]["tree"] = json!(tree);
    });
    let wanted = json!({
        "kind": "tree", "turn": 1, "expected": tree, "actual": repo.oid("run^{tree}"),
        "commit": repo.oid("run"), "final": false,
    });
    fails(&repo, "", "tree: turn 1: commit", wanted.clone());
    let found = warns(&repo, "", 1, wanted);
    assert_eq!(
        repo.oid(&format!("{}^{{tree}}", found["branch"].as_str().unwrap())),
        repo.oid("run^{tree}")
    );
}

#[test]
fn rejected_patch() {
    let repo = recorded("--no-lossless --patches=text");
    edit(&repo, |journal| {
        let patch = &mut at(journal, "workspace-commits")["commits"][1]["patch"];
        *patch = json!(patch.as_str().unwrap().replace("-b\n", "-something else\n"));
    });
    let wanted = json!({"kind": "tree", "turn": 1, "commit": repo.oid("run"), "final": true});
    fails(&repo, "", "tree: turn 1: the patch of commit", wanted);
    stays_final(&repo, "", "tree");
}

#[test]
fn unrecorded() {
    let repo = recorded("--max-size 10");
    let journal = repo.journal("../j.json");
    let entry = journal
        .iter()
        .find(|entry| entry["kind"] == "workspace-commits")
        .unwrap();
    let reason = &entry["unavailable"];
    assert!(
        reason.as_str().unwrap().ends_with(" bytes, more than 10"),
        "{reason}"
    );
    let wanted = json!({"kind": "unrecorded", "turn": 1, "final": false, "expected": reason});
    fails(
        &repo,
        "",
        "unrecorded: turn 1: its commits are not recorded",
        wanted,
    );
    // Softened: the events only, no branch.
    let outcome = repo
        .replay("../j.json --divergence=warn")
        .ok()
        .says("warning: unrecorded");
    outcome.says("no branch was made");
    assert_eq!(branches(&repo), "");
    // Nothing is rebuilt on top of what was not recorded.
    let missing = "1".repeat(40);
    edit(&repo, |journal| {
        let baseline = json!({"commit": missing, "tree": missing});
        let later = [
            json!({"kind": "prompt", "source": "agent", "text": "more"}),
            json!({"kind": "workspace-commits", "source": "git", "baseline": baseline, "commits": []}),
        ];
        let end = journal.len() - 1;
        journal.splice(end..end, later);
    });
    repo.replay("../j.json --divergence=warn")
        .fails(1)
        .says("no branch was made");
    edit(&repo, |journal| {
        let end = journal.len() - 1;
        journal.drain(end - 2..end);
    });
    // No such entry at all is the same.
    edit(&repo, |journal| {
        journal.retain(|entry| entry["kind"] != "workspace-commits")
    });
    repo.replay("../j.json")
        .fails(1)
        .says("the run was recorded without its commits");
}

#[test]
fn exhausted() {
    let repo = recorded("");
    let two = "--prompt-file ../brief --prompt more";
    let wanted = json!({"kind": "exhausted", "turn": 2, "expected": "1 turn", "final": true});
    fails(
        &repo,
        two,
        "exhausted: turn 2: the journal holds only 1 turn",
        wanted,
    );
    stays_final(&repo, two, "exhausted");
}

#[test]
fn commit() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.write("a", "b\n");
    repo.git("add a").ok();
    let (tree, parent) = (repo.git("write-tree").ok().out(), repo.oid("main"));
    let content = format!(
        "tree {tree}\nparent {parent}\nauthor A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\
         gpgsig x\n y\n\nsigned\n"
    );
    let id = repo
        .feed("hash-object -t commit -w --stdin", content)
        .ok()
        .out();
    repo.git("reset -q --hard").ok();
    repo.replay(&format!(
        "record main..{id} --no-prompt --no-lossless -o ../j.json"
    ))
    .ok()
    .says("warning: cannot be rebuilt: turn 1: commit")
    .says("not all of them can be rebuilt");
    let wanted = json!({
        "kind": "commit", "turn": 1, "expected": id, "commit": id, "final": false,
        "cause": "'gpgsig': the signature was not recorded",
    });
    fails(&repo, "", "commit: turn 1: commit", wanted.clone());
    warns(&repo, "", 1, wanted);
    // Where the original is not at hand the cause is a guess, and said as one.
    let clone = repo.fresh("main");
    let path = repo.path("../j.json").display().to_string();
    clone.replay(&path).fails(1).says("most likely a signature");
}

#[test]
fn the_zone_that_writers_lose_is_guessed_when_the_id_proves_it() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.write("a", "b\n");
    repo.git("add a").ok();
    let (tree, parent) = (repo.git("write-tree").ok().out(), repo.oid("main"));
    let who = "A <a@b> 1700000000 -0000";
    let content = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nm\n");
    let id = repo
        .feed("hash-object -t commit -w --stdin", content)
        .ok()
        .out();
    repo.replay(&format!(
        "record main..{id} --no-prompt --no-lossless -o ../j.json"
    ))
    .ok();
    edit(&repo, |journal| {
        let commit = &mut at(journal, "workspace-commits")["commits"][0];
        for who in ["author", "committer"] {
            commit[who]["date"] = json!("1700000000 +0000");
        }
    });
    let branch = repo
        .replay("../j.json")
        .ok()
        .says("with the recorded ids")
        .out();
    assert_eq!(repo.oid(&branch), id);
}

#[test]
fn with_a_reason_nothing_else_in_the_entry_counts() {
    let repo = recorded("");
    edit(&repo, |journal| {
        let entry = at(journal, "workspace-commits");
        entry["unavailable"] = json!("the run was interrupted");
        entry["baseline"] = json!({"commit": "unknown"});
        entry["commits"] = json!("none");
    });
    repo.replay("../j.json --check")
        .fails(1)
        .says("unrecorded: turn 1: its commits are not recorded: the run was interrupted");
}

#[test]
fn a_recorded_failure_of_an_earlier_turn_is_reproduced_too() {
    let repo = recorded("");
    edit(&repo, |journal| {
        let failed = [
            json!({"kind": "prompt", "source": "agent", "text": "first"}),
            json!({"kind": "failure", "source": "agent", "message": "it broke"}),
        ];
        journal.splice(1..1, failed);
    });
    let found = repo.replay("../j.json --json").fails(1).json();
    let wanted = json!({"turn": 1, "code": "process", "message": "it broke"});
    assert_eq!(found["failure"], wanted);
    assert_eq!(found["failures"], json!([wanted]));
    assert_eq!(
        (&found["turns"], &found["state"]),
        (&json!(2), &json!("made"))
    );
    repo.replay("../j.json")
        .fails(1)
        .says("turn 1: the recorded run failed (process): it broke");
    assert_eq!(repo.oid(&branches(&repo)), repo.oid("run"));
    repo.replay("test ../j.json").ok().says("1 passed").prints(
        "passed   ../j.json: 2 commits with the recorded ids, and its recorded failure (process)",
    );
}

#[test]
fn a_recorded_failure_is_reproduced() {
    let repo = recorded("");
    edit(&repo, |journal| {
        journal.retain(|entry| entry["kind"] != "summary");
        let finished = at(journal, "dispatch-finished");
        finished["status"] = json!("failed");
        finished["error"] = json!({"code": "timeout", "message": "it took too long"});
    });
    let found = repo.replay("../j.json --json").fails(1).json();
    assert_eq!(
        found["failure"],
        json!({"turn": 1, "code": "timeout", "message": "it took too long"})
    );
    assert_eq!(found["state"], "made");
    repo.replay("../j.json")
        .fails(1)
        .says("the recorded run failed (timeout): it took too long");
    assert_eq!(repo.oid(&branches(&repo)), repo.oid("run"));
    repo.replay("test ../j.json").ok().prints(
        "passed   ../j.json: 2 commits with the recorded ids, and its recorded failure (timeout)",
    );
    // An unknown code is one of the process, a missing one too.
    edit(&repo, |journal| {
        at(journal, "dispatch-finished")["error"] = json!({"message": "x"})
    });
    repo.replay("../j.json")
        .fails(1)
        .says("failed (process): x");
}

/// The journal of two passes with a commit each: the first ends where the second begins.
fn two_passes() -> Repo {
    let repo = recorded("");
    repo.replay("record main..run~1 -o ../1.json --prompt one")
        .ok();
    repo.replay("record run~1..run -o ../2.json --prompt two")
        .ok();
    let parts = ["../1.json", "../2.json"].map(|path| {
        let mut entries = repo.journal(path);
        entries.retain(|e| e["kind"] != "dispatch-finished" && e["kind"] != "dispatch-start");
        entries
    });
    repo.write("../j.json", serde_json::to_vec(&parts.concat()).unwrap());
    repo
}

#[test]
fn commits_of_several_passes_stand_on_each_other() {
    let repo = two_passes();
    let branch = repo.replay("../j.json --branch made").ok().out();
    assert_eq!(repo.oid(&branch), repo.oid("run"));
    let found = repo.replay("../j.json --stop-after 1 --branch first --json");
    assert_eq!(found.ok().json()["remaining_turns"], 1);
    assert_eq!(repo.oid("first"), repo.oid("run~1"));
    // Between the passes somebody else was at work, whom nobody recorded.
    edit(&repo, |journal| {
        let entry = journal
            .iter_mut()
            .filter(|e| e["kind"] == "workspace-commits");
        let baseline = &mut entry.last().unwrap()["baseline"];
        baseline["commit"] = json!(repo.oid("main"));
        baseline["tree"] = json!(repo.oid("main^{tree}"));
        for entry in journal {
            for commit in entry["commits"].as_array_mut().into_iter().flatten() {
                commit.as_object_mut().unwrap().remove("x");
            }
        }
    });
    let wanted = json!({
        "kind": "baseline", "turn": 2,
        "expected": repo.oid("main^{tree}"), "actual": repo.oid("run~1^{tree}"),
    });
    fails(
        &repo,
        "",
        "baseline: turn 2: the run began with the tree",
        wanted.clone(),
    );
    let found = repo
        .replay("../j.json --divergence=warn --json")
        .ok()
        .json();
    holds(&found["divergences"][0], &wanted);
    let made = found["branch"].as_str().unwrap();
    assert_eq!(
        repo.oid(&format!("{made}^{{tree}}")),
        repo.oid("run^{tree}")
    );
}

/// A journal of turns without commits, by hand.
fn turns(entries: Value) -> Repo {
    let repo = Repo::with(&[("a", "a\n")]);
    let (commit, tree) = (repo.oid("HEAD"), repo.oid("HEAD^{tree}"));
    let mut journal = entries.as_array().unwrap().clone();
    journal.push(json!({
        "kind": "workspace-commits", "source": "git",
        "baseline": {"commit": commit, "tree": tree}, "commits": [],
    }));
    repo.write("../j.json", serde_json::to_vec(&journal).unwrap());
    repo
}

fn prompt_of(text: &str) -> Value {
    json!({"kind": "prompt", "source": "agent", "text": text})
}

fn text(text: &str) -> Value {
    json!({"kind": "text", "source": "agent", "text": text})
}

fn summary(input: u64) -> Value {
    json!({"kind": "summary", "source": "agent", "durationMs": 1, "status": 0,
           "tokens": {"input": input, "cached": 0, "output": 1}})
}

#[test]
fn a_handover_goes_on_without_a_prompt_of_its_own() {
    let fallback = json!({
        "kind": "fallback", "source": "agent", "failure": "quota", "message": "no quota",
        "from": {"index": 0, "name": "one"}, "to": {"index": 1, "name": "two", "model": "m"},
    });
    let repo = turns(json!([
        prompt_of("do"),
        text("half"),
        fallback,
        prompt_of("do, rendered anew"),
        text("whole"),
        summary(7),
        prompt_of("more"),
        text("done"),
        summary(5),
    ]));
    let found = repo
        .replay("../j.json --prompt do --prompt more --json")
        .ok()
        .json();
    assert_eq!(
        (&found["turns"], &found["prompts_compared"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(found["text"], "done");
    assert_eq!(found["usage"]["tokens"]["input"], 12);
    assert_eq!(found["failure"], Value::Null);
    let events = repo.replay("../j.json --events --quiet").ok().lines();
    let kinds: Vec<Value> = events
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone())
        .collect();
    assert_eq!(json!(kinds), json!(["text", "fallback", "text", "text"]));
    let shown = repo.replay("show ../j.json --json").ok().json();
    assert_eq!(shown["turns"][0]["handover"]["to"], "two");
    assert_eq!(shown["turns"][1]["handed_over"], true);
}

#[test]
fn repairs_and_passes_are_turns() {
    let repo = turns(json!([
        prompt_of("one"),
        text("a"),
        summary(1),
        prompt_of("your answer was no JSON"),
        text("b"),
        summary(1),
        prompt_of("pass two"),
        text("c"),
        summary(1),
    ]));
    let found = repo
        .replay("../j.json --prompt one --prompt 'your answer was no JSON' --stop-after 2 --json")
        .ok()
        .json();
    assert_eq!(
        (&found["turns"], &found["remaining_turns"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(found["text"], "b");
    repo.replay("../j.json --prompt one")
        .ok()
        .says("1 of 3 prompts compared");
    repo.replay("../j.json").ok().says("prompts not compared");
    repo.replay("../j.json --prompt one --prompt wrong")
        .fails(1)
        .says("turn 2: the prompt differs on its line 1: recorded 'your answer was no JSON', given 'wrong'")
        .says("not reached: 2 turns");
    repo.replay("../j.json --stop-after 1 --prompt one --prompt unused")
        .ok();
}

#[test]
fn a_steered_turn_is_split_and_its_usage_too() {
    let steer = |mode: &str, text: &str| json!({"kind": "steer", "source": "agent", "mode": mode, "text": text});
    let repo = turns(json!([
        prompt_of("one"),
        {"kind": "usage", "source": "agent", "tokens": {"input": 10, "cached": 0, "output": 2}},
        {"kind": "stopped", "source": "agent", "reason": "steered"},
        steer("resumed", "no, two"), steer("resumed", "and three"), text("done"),
        steer("queued", "an event"), summary(15),
    ]));
    let shown = repo.replay("show ../j.json --json").ok().json();
    let turns = shown["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(
        (&turns[0]["continued"], &turns[0]["interrupted"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(turns[0]["tokens"]["input"], 10);
    assert_eq!(turns[1]["prompt"], "no, two\n\nand three");
    assert_eq!(turns[1]["tokens"]["input"], 5);
    assert_eq!(turns[1]["events"], 2);
    assert_eq!(turns[1]["failure"], Value::Null);
}

#[test]
fn a_generated_branch_name_does_not_diverge() {
    let repo = turns(json!([
        prompt_of("Work on agent/x-17, only agent/x-17."),
        summary(1)
    ]));
    let given = "--prompt 'Work on {{WORK_BRANCH}}, only {{WORK_BRANCH}}.'";
    repo.replay(&format!("../j.json {given} --work-branch agent/x-17"))
        .ok();
    repo.replay(&format!("../j.json {given} --work-branch agent/x-18"))
        .fails(1);
    repo.replay(&format!("../j.json {given}")).fails(1);
    // A record of the template itself fits any name.
    let repo = turns(json!([prompt_of("Work on {{WORK_BRANCH}}."), summary(1)]));
    repo.replay("../j.json --prompt 'Work on {{WORK_BRANCH}}.'")
        .ok();
    repo.replay("../j.json --prompt 'Work on it.' --work-branch it")
        .ok();
}

#[test]
fn a_prompt_that_was_cut_or_masked_is_not_comparable() {
    let marked = |marks: Value| json!({"kind": "prompt", "source": "agent", "text": "head", "x": {"v": 1, "prompt": marks}});
    let repo = turns(json!([
        marked(json!({"chars": 500, "cut": true, "masked": false})),
        summary(1),
        marked(json!({"chars": 4, "cut": false, "masked": true})),
        summary(1),
        marked(json!({"chars": 4, "cut": false, "masked": false})),
        summary(1),
    ]));
    let outcome = repo
        .replay("../j.json --prompt x --prompt y --prompt head")
        .ok();
    outcome
        .says("warning: turn 1: its prompt was recorded cut, so it is not comparable")
        .says("warning: turn 2: its prompt was recorded masked, so it is not comparable");
    let found = repo
        .replay("../j.json --prompt x --prompt y --prompt head --json")
        .ok()
        .json();
    assert_eq!(
        found["incomparable"],
        json!([{"turn": 1, "why": "recorded cut"}, {"turn": 2, "why": "recorded masked"}])
    );
    assert_eq!(found["prompts_compared"], 1);
    repo.replay("../j.json --prompt x --prompt y --prompt z")
        .fails(1)
        .says("turn 3: the prompt");
}

#[test]
fn events_are_emitted_as_they_stand() {
    let decision = json!({"kind": "decision", "source": "decision", "status": "started"});
    let repo = turns(json!([
        {"kind": "dispatch-start", "source": "sandbox", "seq": 1, "at": "2026-01-01T00:00:00.000Z"},
        {"kind": "prompt", "source": "harness", "text": "p", "seq": 2},
        {"zz": 1.50, "kind": "tool", "source": "harness", "name": "Read", "seq": 3, "at": "x",
         "scope": {}, "label": "l", "pass": 1, "input": {"b": 1, "a": 2}},
        decision,
        {"kind": "operation", "source": "harness", "id": 1},
        {"kind": "git-noise", "source": "git"},
        text("t"), summary(1),
    ]));
    let mut raw = repo.read("../j.json");
    raw = raw.replace("\"zz\":1.5", "\"zz\":1.50");
    repo.write("../j.json", &raw);
    let out = repo.replay("../j.json --events").ok().out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(
        lines[0].contains("\"zz\":1.50") && lines[0].contains("\"input\":{"),
        "{out}"
    );
    for name in ["seq", "\"at\"", "source", "scope", "label", "pass"] {
        assert!(!lines[0].contains(name), "{name} in {out}");
    }
    assert!(lines[1].contains("decision"));
}
