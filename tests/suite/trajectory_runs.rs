//! The runner as a shell script: phases with sessions, retries, failures and time limits.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::common::{Repo, bin_dir};

/// A stand-in for an agent: opens a session of its own, bills a call, ends with the given code.
const AGENT: &str = r#"
id=$1 code=$2
tell() { printf '%s' "$1" | git trajectory hook claude; }
tell "{\"session_id\":\"$id\",\"cwd\":\"$PWD\",\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"}"
git trajectory log assistant m --session "$id" --payload "{\"total_tokens\":100,\"cost_usd\":0.25,\"call_key\":\"$id-$HARNESS_ATTEMPT\"}"
tell "{\"session_id\":\"$id\",\"cwd\":\"$PWD\",\"hook_event_name\":\"SessionEnd\",\"reason\":\"other\"}"
exit $code
"#;

/// The three queries that outside readers run, as they are.
const EVENTS_PER_PHASE: &str = "SELECT phase_id, count(*) FROM harness_by_phase WHERE adw_id = (SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) GROUP BY phase_id;";
const BILLS: &str = "SELECT json_extract(payload_json,'$.total_tokens'), json_extract(payload_json,'$.cost_usd') FROM harness_by_phase WHERE phase_id LIKE '%-01' AND type = 'assistant' ORDER BY ts;";
const COUNTS: &str = "SELECT type, count(*) FROM harness_by_phase WHERE adw_id = (SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) GROUP BY type ORDER BY type;";

fn sqlite(repo: &Repo, query: &str) -> String {
    repo.sh(&format!(
        "sqlite3 .git/harness/trajectory.db \"{}\"",
        query.replace('$', "\\$")
    ))
    .ok()
    .out()
}

fn journal(repo: &Repo, run: &str) -> Vec<Value> {
    repo.read(format!(".git/harness/runs/{run}.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_pipeline_is_told_as_it_was() {
    let repo = Repo::new();
    let agent = repo.script("agent", AGENT);
    let agent = agent.display();
    let run = repo
        .run(["trajectory", "start", "fix", "--request", "mend it"])
        .ok()
        .out();
    let run = run.trim();
    let ours = repo.env("HARNESS_RUN", run);
    ours.git(&format!("trajectory phase plan -- {agent} s-plan 0"))
        .ok();
    ours.git("trajectory phase tests --kind=code -- true").ok();
    // Fails, is tried again in the same phase, and succeeds.
    let flaky = repo.script(
        "flaky",
        &format!("[ \"$HARNESS_ATTEMPT\" = 2 ] && code=0 || code=7\nexec {agent} s-build $code"),
    );
    ours.git(&format!(
        "trajectory phase build --retries 2 -- {}",
        flaky.display()
    ))
    .ok();
    ours.git("trajectory phase silent -- true").ok();
    ours.git("trajectory finish").ok();

    let last = ours.git("trajectory last").ok().out();
    let lines: Vec<&str> = last.lines().collect();
    assert_eq!(
        lines[0],
        format!("run {run} (fix) — done — ~0.7500 $ (runner)")
    );
    assert_eq!(
        lines[1],
        "  1  plan  agent  1 turns, 0 tools, 100 tokens, ~0.2500 $ (harness) / ~0.2500 $ (runner)"
    );
    assert_eq!(lines[2], "  2  tests  code  —  code phase");
    assert_eq!(
        lines[3],
        "  3  build  agent  2 turns, 0 tools, 200 tokens, ~0.5000 $ (harness) / ~0.5000 $ (runner)"
    );
    assert_eq!(lines[4], "  4  silent  agent  —  no harness trace");

    assert_eq!(
        sqlite(&repo, EVENTS_PER_PHASE),
        format!("{run}-01|3\n{run}-03|6")
    );
    assert_eq!(sqlite(&repo, BILLS), "100|0.25");
    assert_eq!(
        sqlite(&repo, COUNTS),
        "assistant|3\nsession_shutdown|3\nsession_start|3"
    );
    let sessions: Vec<Value> = journal(&repo, run)
        .into_iter()
        .filter(|e| e["type"] == "phase_session")
        .map(|e| e["payload"].clone())
        .collect();
    assert_eq!(
        sessions,
        [
            json!({"session_id": "s-plan", "attempt": 1}),
            json!({"session_id": "s-build", "attempt": 1}),
            json!({"session_id": "s-build", "attempt": 2})
        ]
    );
    // Ten ingests and a lost mirror change nothing.
    repo.remove(".git/harness/trajectory.db");
    assert_eq!(ours.git("trajectory last").ok().out(), last);
    ours.git("trajectory finish").fails(1);
    ours.git("trajectory phase late -- true")
        .fails(128)
        .says("is finished");
}

#[test]
fn a_run_stops_at_the_phase_that_failed_for_good() {
    let repo = Repo::new();
    let agent = repo.script("agent", AGENT);
    repo.git("trajectory start broken").ok();
    repo.git(&format!(
        "trajectory phase one --retries 1 -- {} s 3",
        agent.display()
    ))
    .fails(3);
    repo.git("trajectory phase two -- true")
        .fails(1)
        .says("stopped at the phase 'one'");
    repo.git("trajectory finish").ok();
    let last = repo.git("trajectory last").ok().out();
    assert!(last.contains("(broken) — failed — ~0.5000 $"), "{last}");
    // The session of a failure is tied to it too.
    assert!(last.contains("2 turns"), "{last}");
}

#[test]
fn time_limits_and_missing_programs_are_failures() {
    let repo = Repo::new();
    let run = repo.git("trajectory start slow").ok().out();
    repo.git("trajectory phase wait --timeout 1s -- sleep 60")
        .fails(124);
    let attempt = journal(&repo, run.trim())
        .into_iter()
        .find(|e| e["type"] == "phase_attempt")
        .unwrap();
    assert_eq!(
        (
            &attempt["payload"]["status"],
            &attempt["payload"]["exit_code"]
        ),
        (&json!("timeout"), &json!(124))
    );
    assert!(attempt["payload"]["cost_usd"].is_null() && attempt["payload"]["tokens"].is_null());
    repo.git("trajectory finish --fail").ok();
    repo.git("trajectory start again").ok();
    repo.git("trajectory phase none -- /no/such/program")
        .fails(127);
}

/// The only attempt of the only phase of the newest run.
fn attempt(repo: &Repo, run: &str) -> Value {
    let mut attempts = journal(repo, run.trim())
        .into_iter()
        .filter(|e| e["type"] == "phase_attempt");
    let first = attempts.next().unwrap()["payload"].take();
    assert!(attempts.next().is_none());
    first
}

/// Says where it is, then waits for a child of its own, in which the sleeping is done.
const SLEEPER: &str = "sleep 300 & echo $! > child; echo $$ > leader; wait";

/// Whether the process that wrote its number to `name` is gone or a zombie.
fn is_gone(repo: &Repo, name: &str) -> bool {
    let pid = repo.read(name);
    let state = repo.sh(&format!("ps -o stat= -p {}", pid.trim()));
    state.out().is_empty() || state.out().starts_with('Z')
}

#[test]
fn a_time_limit_ends_all_that_the_command_started() {
    let repo = Repo::new();
    let run = repo.git("trajectory start slow").ok().out();
    let sleeper = repo.script("sleeper", SLEEPER);
    repo.git(&format!(
        "trajectory phase wait --timeout 1s -- {}",
        sleeper.display()
    ))
    .fails(124);
    assert!(is_gone(&repo, "leader") && is_gone(&repo, "child"));
    assert_eq!(attempt(&repo, &run)["status"], "timeout");
}

#[test]
fn what_ignores_the_request_to_end_is_killed() {
    let repo = Repo::new();
    let run = repo.git("trajectory start slow").ok().out();
    let stubborn = repo.script("stubborn", &format!("trap '' TERM; {SLEEPER}"));
    repo.git(&format!(
        "trajectory phase wait --timeout 1s -- {}",
        stubborn.display()
    ))
    .fails(124);
    assert!(is_gone(&repo, "leader") && is_gone(&repo, "child"));
    assert_eq!(attempt(&repo, &run)["status"], "timeout");
}

/// Runs `git-trajectory <arguments>`, gives all of its process group `signal` once the
/// file `begun` is there, as a terminal does for Ctrl-C, and waits for its end. Without
/// git around it, which may end before it.
#[track_caller]
fn signalled(repo: &Repo, arguments: &[&str], signal: Signal) -> ExitStatus {
    let like = repo.command(["version"]);
    let environment = like
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut command = Command::new(bin_dir().join("git-trajectory"));
    command.env_clear().envs(environment);
    command.args(arguments).current_dir(repo.root());
    command.stdin(Stdio::null());
    command.process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().unwrap();
    while !repo.exists("begun") {
        assert!(running.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::yield_now();
    }
    let group = Pid::from_raw(running.id().try_into().unwrap()).unwrap();
    kill_process_group(group, signal).unwrap();
    running.wait().unwrap()
}

/// A phase with retries that is ended by `signal` while its command runs.
#[track_caller]
fn check_interrupted(options: &[&str], signal: Signal, code: i32) {
    let repo = Repo::new();
    let run = repo.git("trajectory start cut").ok().out();
    let sleeper = repo.script("sleeper", "echo $$ > leader; : > begun; exec sleep 300");
    let sleeper = sleeper.display().to_string();
    let mut arguments = vec!["phase", "work", "--retries=3"];
    arguments.extend(options);
    arguments.extend(["--", &sleeper]);
    let ended = signalled(&repo, &arguments, signal);
    assert_eq!(ended.code(), Some(code));
    let attempt = attempt(&repo, &run);
    assert_eq!(
        (&attempt["status"], &attempt["exit_code"], &attempt["last"]),
        (&json!("interrupted"), &json!(code), &json!(true))
    );
    assert!(is_gone(&repo, "leader"));
    repo.git("trajectory phase next -- true")
        .fails(1)
        .says("stopped at the phase 'work'");
    repo.git("trajectory finish").ok();
    let last = repo.git("trajectory last").ok().out();
    assert!(last.contains("(cut) — failed"), "{last}");
}

#[test]
fn ctrl_c_leaves_the_attempt_written() {
    check_interrupted(&[], Signal::INT, 130);
    check_interrupted(&["--timeout=5m"], Signal::INT, 130);
}

#[test]
fn a_request_to_end_leaves_the_attempt_written() {
    check_interrupted(&[], Signal::TERM, 143);
    check_interrupted(&["--timeout=5m"], Signal::TERM, 143);
}

#[test]
fn a_run_with_a_phase_that_was_killed_is_not_done() {
    let repo = Repo::new();
    repo.git("trajectory start killed").ok();
    // All at once, with no time to write anything.
    let sleeper = ["sh", "-c", ": > begun; exec sleep 300"];
    let arguments = ["phase", "work", "--"];
    signalled(&repo, &[&arguments[..], &sleeper].concat(), Signal::KILL);
    repo.git("trajectory finish")
        .ok()
        .says("the phase 'work' has no end");
    let last = repo.git("trajectory last").ok().out();
    assert!(last.contains("(killed) — failed"), "{last}");
}

#[test]
fn wrong_uses_are_told() {
    let repo = Repo::new();
    repo.git("trajectory phase x -- true")
        .fails(128)
        .says("no run is under way");
    repo.git("trajectory finish").fails(128);
    repo.git("trajectory start r").ok();
    repo.git("trajectory phase x --kind=code --retries 1 -- true")
        .fails(128)
        .says("not tried again");
    repo.git("trajectory phase x --timeout soon -- true")
        .fails(128)
        .says("is no time");
    repo.git("trajectory phase x --run nowhere -- true")
        .fails(128)
        .says("there is no run");
}
