//! `git checkpoint run`: a command between two checkpoints, its streams and its
//! code its own.

use crate::common::Repo;

fn small() -> Repo {
    Repo::with(&[("a", "1\n"), ("b", "2\n"), ("dir/c", "3\n")])
}

#[test]
fn the_command_is_between_two_checkpoints() {
    let repo = small();
    let ran = repo
        .git("checkpoint run -- sh -c 'echo out; echo err >&2; echo 9 >a'")
        .ok();
    assert_eq!(ran.out(), "out");
    assert!(ran.err().contains("err"), "{ran:?}");
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(listed[0]["kind"], "before-command");
    assert_eq!(listed[1]["kind"], "after-command");
    assert_eq!(listed[1]["after"], 1);
    assert_eq!(repo.tree_of(2), repo.oracle_tree());
    // What it changed is known to be its own.
    repo.git("checkpoint undo --to 1").ok();
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn its_code_is_our_code() {
    let repo = small();
    for code in [0, 1, 7, 77, 255] {
        repo.git(&format!("checkpoint run -- sh -c 'exit {code}'"))
            .fails(code);
    }
    repo.git("checkpoint run -- sh -c 'kill -TERM $$'")
        .fails(128 + 15);
    repo.git("checkpoint run -- ./no-such-program").fails(127);
    repo.write("plain", "not executable\n");
    repo.git("checkpoint run -- ./plain").fails(126);
    repo.git("checkpoint run").fails(129);
}

#[test]
fn its_input_is_our_input() {
    let repo = small();
    let fed = repo.feed("checkpoint run -- tr a-z A-Z", "loud\n").ok();
    assert_eq!(fed.out(), "LOUD");
}

#[test]
fn a_failed_test_puts_it_back() {
    let repo = small();
    let before = (repo.disk(), repo.fingerprint());
    repo.git("checkpoint run --test 'grep -q 1 a' -- sh -c 'echo 9 >a; echo n >new; rm b'")
        .fails(1);
    assert_eq!((repo.disk(), repo.fingerprint()), before);
    // The after-checkpoint is the way back to what it left.
    repo.git("checkpoint undo 2 --others=revert").ok();
    assert_eq!((repo.read("a"), repo.exists("b")), ("9\n".into(), false));
}

#[test]
fn a_failed_test_can_leave_it_for_study() {
    let repo = small();
    repo.git("checkpoint run --no-rollback --test false -- sh -c 'echo 9 >a'")
        .fails(1);
    assert_eq!(repo.read("a"), "9\n");
}

#[test]
fn a_good_test_leaves_it() {
    let repo = small();
    repo.git("checkpoint run --test 'grep -q 9 a' -- sh -c 'echo 9 >a'")
        .ok();
    assert_eq!(repo.read("a"), "9\n");
}

#[test]
fn what_it_wrote_outside_the_fence_is_put_back() {
    let repo = small();
    repo.git("checkpoint run --allow dir -- sh -c 'echo 9 >a; echo 9 >dir/c; echo n >dir/new'")
        .fails(1)
        .says("a");
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(
        (repo.read("dir/c"), repo.exists("dir/new")),
        ("9\n".into(), true)
    );
    repo.git("checkpoint run --allow dir -- sh -c 'echo 8 >dir/c'")
        .ok();
}

#[test]
fn what_is_doubtful_outside_the_fence_is_left_and_listed() {
    let repo = small();
    let window = "-c checkpoint.window=0 checkpoint run --allow dir";
    let command = "sh -c 'echo 9 >a; rm b; echo 9 >dir/c; echo n >new'";
    let ran = repo.git(&format!("{window} -- {command}")).fails(1);
    let (_, listed) = ran
        .err()
        .split_once("not surely by the command, and left:\n")
        .map(|(before, after)| (before.to_owned(), after.to_owned()))
        .unwrap_or_else(|| panic!("{ran:?}"));
    let listed: Vec<&str> = listed.lines().take(3).map(str::trim).collect();
    assert_eq!(listed, ["a", "b", "new"]);
    assert_eq!(
        (repo.read("a"), repo.read("dir/c"), repo.read("new")),
        ("9\n".into(), "9\n".into(), "n\n".into())
    );
    assert!(!repo.exists("b"));
    // The same as JSON, and with a test that fails: nothing is taken back that is doubtful.
    repo.git("checkpoint undo 1 -y").ok();
    let told = repo
        .git(&format!("{window} --test false --json -- {command}"))
        .fails(1)
        .json();
    assert_eq!(told["put_back"], serde_json::json!([]));
    assert_eq!(told["left_alone"], serde_json::json!(["a", "b", "new"]));
    assert_eq!(told["rolled_back"], serde_json::json!([]));
    assert_eq!(repo.read("a"), "9\n");
}

#[test]
fn json_tells_it_after_the_commands_own_output() {
    let repo = small();
    let told = |arguments: &str, code: i32| {
        let ran = repo.git(&format!("checkpoint run --json {arguments}"));
        let ran = ran.fails(code);
        let lines = ran.lines();
        let (first, last) = (lines.first().cloned(), lines.last().cloned());
        let json: serde_json::Value = serde_json::from_str(&last.unwrap()).unwrap();
        (first.unwrap(), json)
    };
    assert_eq!(
        told("-- sh -c 'echo out; echo 9 >a; exit 7'", 7),
        (
            "out".to_owned(),
            serde_json::json!({
                "before": 1, "after": 2, "exit": 7, "test": null,
                "rolled_back": [], "put_back": [], "left_alone": [],
            })
        )
    );
    assert_eq!(
        told(
            "--allow dir --test 'exit 3' -- sh -c 'echo out; echo 8 >a; echo 8 >dir/c; rm dir/c'",
            1
        )
        .1,
        serde_json::json!({
            "before": 3, "after": 4, "exit": 0, "test": 3,
            "rolled_back": ["dir/c"], "put_back": ["a"], "left_alone": [],
        })
    );
    assert_eq!(
        (repo.read("a"), repo.read("dir/c")),
        ("9\n".into(), "3\n".into())
    );
}

#[test]
fn without_a_checkpoint_it_does_not_run() {
    let repo = small();
    repo.git("config checkpoint.maxFiles 1").ok();
    repo.git("checkpoint run -- sh -c 'echo 9 >a'").fails(128);
    assert_eq!(repo.read("a"), "1\n");
    repo.git("checkpoint run --unprotected -- sh -c 'echo 9 >a'")
        .ok();
    assert_eq!(repo.read("a"), "9\n");
}

#[test]
fn a_program_that_needs_a_terminal_still_has_one() {
    let repo = small();
    let mut terminal = repo.on_terminal(&[
        "checkpoint",
        "run",
        "--",
        "sh",
        "-c",
        "test -t 0 && test -t 1 && test -t 2 && echo on a terminal",
    ]);
    terminal.shows("on a terminal");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn an_interrupt_is_the_commands_and_the_checkpoint_after_is_taken() {
    let repo = small();
    let mut terminal = repo.on_terminal(&[
        "checkpoint",
        "run",
        "--",
        "sh",
        "-c",
        "echo 9 >a; echo going; exec tail -f /dev/null",
    ]);
    terminal.shows("going");
    terminal.press("\x03");
    // git itself dies of the same Ctrl-C, once we are done.
    terminal.shows("the state after 002");
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(listed[1]["kind"], "after-command");
    repo.git("checkpoint undo --to 1").ok();
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_rollback_is_an_event_of_the_session() {
    let repo = small().env("HARNESS_SESSION", "s-7");
    repo.git("checkpoint run --test 'exit 3' -- sh -c 'echo 9 >a'")
        .fails(1);
    assert_eq!(repo.read("a"), "1\n");
    let events = repo.git("trajectory show s-7 --json").ok();
    let event: serde_json::Value = serde_json::from_str(&events.lines()[0]).unwrap();
    assert_eq!(event["type"], "rollback");
    assert_eq!(event["payload"]["to"], 1);
    assert_eq!(event["payload"]["files"], serde_json::json!(["a"]));
    assert_eq!(event["payload"]["reason"], "'exit 3' ended with 3");
    assert_eq!(
        repo.trailer("refs/harness/checkpoints/main/001", "Harness-Session"),
        ["s-7"]
    );
}
