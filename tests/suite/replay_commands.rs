//! `show`, `diff`, `bisect`, `convert`, and `record` around a command.

use serde_json::{Value, json};

use crate::common::Repo;
use crate::replay::Replay;

/// A repository with the branch `run` and its journal `../fixtures/good.json`.
pub(crate) fn recorded() -> Repo {
    let repo = Repo::with(&[("a", "a\n"), ("b", "b\n")]);
    repo.git("checkout -q -b run").ok();
    repo.write("a", "A\n");
    repo.commit_all("first");
    repo.write("b", "B\n");
    repo.write("bin", b"\0\x01");
    repo.commit_all("second");
    repo.git("checkout -q main").ok();
    repo.mkdir("../fixtures");
    repo.replay("record main..run --prompt p -o ../fixtures/good.json")
        .ok();
    repo
}

#[test]
fn show_makes_patches_readable() {
    let repo = recorded();
    let shown = repo.replay("show ../fixtures/good.json -p").ok().out();
    for line in [
        "turn 1",
        "  > p",
        "  tokens: unknown",
        "-a",
        "+A",
        "Binary files /dev/null and b/bin differ",
    ] {
        assert!(
            shown.lines().any(|found| found == line),
            "{line} in {shown}"
        );
    }
    assert!(!shown.contains("GIT binary patch"));
    let found = repo.replay("show ../fixtures/good.json --json").ok().json();
    let commits = found["turns"][0]["commits"].as_array().unwrap();
    assert_eq!(commits[1]["oid"], json!(repo.oid("run")));
    assert_eq!(commits[1]["paths"], json!(["b", "bin"]));
    assert_eq!(commits[1]["parents"], json!([repo.oid("run~1")]));
    assert_eq!(commits[1]["author"]["email"], "author@example.com");
    // Elsewhere the record is shown as it is, and said so.
    let outside = Repo::outside();
    let path = repo.path("../fixtures/good.json").display().to_string();
    outside
        .replay(&format!("show {path} -p"))
        .ok()
        .says("outside a repository the patches are shown as they were recorded");
    let other = Repo::new();
    assert!(
        other
            .replay(&format!("show {path} -p"))
            .ok()
            .says("as they were recorded: ")
            .out()
            .contains("GIT binary patch")
    );
}

#[test]
fn convert_changes_the_form_and_nothing_else() {
    let repo = recorded();
    let original = repo.journal("../fixtures/good.json");
    repo.replay("convert ../fixtures/good.json ../one.jsonl")
        .ok();
    repo.replay("convert ../one.jsonl ../two.json").ok();
    assert_eq!(repo.read("../two.json"), repo.read("../fixtures/good.json"));
    repo.replay("convert ../fixtures/good.json ../text.json --patches=text")
        .ok()
        .silent_but("../text.json: 5 entries");
    let text = repo.journal("../text.json");
    let patch = text[3]["commits"][0]["patch"].as_str().unwrap();
    assert!(patch.contains("\n-a\n+A\n"), "{patch}");
    let patch = text[3]["commits"][1]["patch"].as_str().unwrap();
    assert!(
        patch.contains("\n-b\n+B\n") && patch.contains("GIT binary patch"),
        "{patch}"
    );
    repo.replay("../text.json --check")
        .ok()
        .says("with the recorded ids");
    repo.replay("convert ../text.json ../back.json --patches=binary")
        .ok();
    assert_eq!(repo.journal("../back.json"), original);
    repo.replay("convert ../text.json ../back.json")
        .fails(1)
        .says("exists already");
    // Numbers and order of what is not ours stay as they were written.
    let odd = "[{\"z\":1.50,\"kind\":\"x\",\"a\":1E2},\n {\"kind\" : \"prompt\",\"source\":\"agent\",\"text\":\"\\u0041\"}]";
    repo.write("../odd.json", odd);
    repo.replay("convert ../odd.json ../odd.jsonl").ok();
    assert_eq!(
        repo.read("../odd.jsonl"),
        "{\"z\":1.50,\"kind\":\"x\",\"a\":1E2}\n{\"kind\":\"prompt\",\"source\":\"agent\",\"text\":\"\\u0041\"}\n"
    );
    let elsewhere = Repo::new();
    let path = repo.path("../fixtures/good.json").display().to_string();
    elsewhere
        .replay(&format!("convert {path} x.json --patches=text"))
        .fails(128);
    assert!(!elsewhere.exists("x.json"));
}

trait SilentBut {
    fn silent_but(self, line: &str) -> Self;
}

impl SilentBut for crate::common::Outcome {
    #[track_caller]
    fn silent_but(self, line: &str) -> Self {
        assert_eq!(self.err(), line);
        self
    }
}

/// Adds the branch `other`: the first commit is the same change on another
/// base, the second a different one, and there is a third.
fn second_run(repo: &Repo) {
    repo.git("checkout -q -b other main").ok();
    repo.write("c", "c\n");
    repo.commit_all("another base");
    repo.write("a", "A\n");
    repo.commit_all("first");
    repo.write("b", "not B\n");
    repo.commit_all("second");
    repo.write("d", "d\n");
    repo.commit_all("third");
    repo.git("checkout -q main").ok();
    repo.replay("record other~3..other --prompt q -o ../other.json")
        .ok();
}

#[test]
fn diff_pairs_commits_by_what_they_change() {
    let repo = recorded();
    second_run(&repo);
    repo.replay("diff ../fixtures/good.json ../fixtures/good.json")
        .ok();
    let found = repo
        .replay("diff ../fixtures/good.json ../other.json --json")
        .fails(1)
        .json();
    assert_eq!(found["compared_by"], "patches");
    assert_eq!(
        found["prompts"],
        json!([{"turn": 1, "left": "p", "right": "q"}])
    );
    let states: Vec<&Value> = found["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| &pair["state"])
        .collect();
    assert_eq!(json!(states), json!(["same", "changed", "right"]));
    let text = repo
        .replay("diff ../fixtures/good.json ../other.json")
        .fails(1)
        .out();
    assert!(text.contains("turn 1: prompt 'p' | 'q'"), "{text}");
    assert!(text.contains("tokens: unknown | unknown"), "{text}");
    // Without the bases at hand contents are compared, and that is said.
    let outside = Repo::outside();
    let [good, other] = ["../fixtures/good.json", "../other.json"]
        .map(|path| repo.path(path).display().to_string());
    let found = outside
        .replay(&format!("diff {good} {other} --json"))
        .fails(1)
        .json();
    assert_eq!(found["compared_by"], "contents");
    assert_eq!(found["commits"][0]["state"], "same");
}

#[test]
fn tools_and_usage_are_compared() {
    let repo = recorded();
    for (name, tools, input) in [("one", ["Read", "Edit"], 5), ("two", ["Read", "Bash"], 9)] {
        let mut journal = repo.journal("../fixtures/good.json");
        journal[2]["tokens"] = json!({"input": input, "cached": 1, "output": 2});
        for tool in tools.iter().rev() {
            journal.insert(
                2,
                json!({"kind": "tool", "source": "agent", "name": tool, "callId": name}),
            );
        }
        repo.write(
            format!("../{name}.json"),
            serde_json::to_vec(&journal).unwrap(),
        );
    }
    let found = repo
        .replay("diff ../one.json ../two.json --json")
        .fails(1)
        .json();
    assert_eq!(
        found["tools"],
        json!([{"turn": 1, "left": ["Read", "Edit"], "right": ["Read", "Bash"]}])
    );
    assert_eq!(
        (
            &found["usage"]["left"]["input"],
            &found["usage"]["right"]["input"]
        ),
        (&json!(5), &json!(9))
    );
    // The names that are made up in every run do not part two runs; the tools do.
    let found = repo
        .replay("bisect ../one.json ../two.json --json")
        .fails(1)
        .json();
    assert_eq!(found["commit"], Value::Null);
    assert_eq!(found["event"]["number"], 3);
    assert_eq!(found["event"]["why"], "'tool' here, 'tool' there");
}

#[test]
fn a_prompt_that_was_not_recorded_whole_parts_nothing() {
    let repo = recorded();
    repo.replay("record main..run --no-prompt -o ../absent.json")
        .ok();
    for (left, right) in [("absent", "fixtures/good"), ("fixtures/good", "absent")] {
        let pair = format!("../{left}.json ../{right}.json");
        repo.replay(&format!("bisect {pair}")).ok();
        let found = repo.replay(&format!("diff {pair} --json")).ok().json();
        assert_eq!(found["prompts"], json!([]));
    }
    // A turn that is missing is another matter.
    let mut journal = repo.journal("../absent.json");
    let turn = journal[1..3].to_vec();
    journal.splice(1..1, turn);
    repo.write("../two.json", serde_json::to_vec(&journal).unwrap());
    repo.replay("diff ../two.json ../absent.json").fails(1);
    repo.replay("bisect ../two.json ../absent.json").fails(1);
}

#[test]
fn bisect_finds_the_first_commit_that_parts() {
    let repo = recorded();
    second_run(&repo);
    repo.replay("bisect ../fixtures/good.json run")
        .ok()
        .says("they do not part");
    repo.replay("bisect ../fixtures/good.json ../fixtures/good.json")
        .ok();
    repo.git("checkout -q -b forked run~1").ok();
    repo.write("b", "else\n");
    repo.commit_all("second");
    let found = repo
        .replay("bisect ../fixtures/good.json forked --json")
        .fails(1)
        .json();
    assert_eq!(found["commit"]["number"], 2);
    assert_eq!(found["commit"]["left"], json!(repo.oid("run")));
    assert_eq!(found["commit"]["right"], json!(repo.oid("forked")));
    assert_eq!(found["commit"]["why"], "their trees differ");
    repo.git("commit -q --amend -m renamed").ok();
    repo.git("checkout -q run").ok();
    repo.git("commit -q --amend -m renamed").ok();
    let found = repo
        .replay("bisect ../fixtures/good.json run --json")
        .fails(1)
        .json();
    assert_eq!(found["commit"]["why"], "their messages differ");
    let found = repo
        .replay("bisect ../fixtures/good.json run~1 --json")
        .fails(1)
        .json();
    assert_eq!(found["commit"]["why"], "the other one ends before it");
    repo.replay("bisect ../fixtures/good.json nothing")
        .fails(128);
}

#[test]
fn bisect_sees_all_of_a_commit_and_all_forms_of_a_journal() {
    let repo = recorded();
    let parts = |what: &str, why: &str| {
        let found = repo
            .replay(&format!("bisect ../fixtures/good.json {what} --json"))
            .fails(1)
            .json();
        assert_eq!(found["commit"]["why"], json!(why), "{what}");
    };
    repo.git("checkout -q -b again run").ok();
    repo.env("GIT_COMMITTER_NAME", "Mallory")
        .git("commit -q --amend --no-edit")
        .ok();
    parts("again", "their committers differ");
    let raw = repo.git("cat-file commit run").ok().out() + "\n";
    let odd = |raw: String| {
        let id = repo
            .feed("hash-object -t commit -w --stdin", raw)
            .ok()
            .out();
        repo.git(&format!("branch -f odd {id}")).ok();
    };
    odd(raw.replacen("\n\n", "\nencoding ISO-8859-1\n\n", 1));
    parts("odd", "their encodings differ");
    let base = repo.oid("main");
    odd(raw.replacen("\nauthor", &format!("\nparent {base}\nauthor"), 1));
    parts("odd", "their parents differ");
    // A branch is meant where a folder of its name is no journal.
    repo.mkdir("run");
    repo.replay("bisect ../fixtures/good.json run").ok();
    repo.remove("run");
    // The right side may be standard input, as the left one may.
    repo.sh_ours("git-replay bisect ../fixtures/good.json - <../fixtures/good.json")
        .ok()
        .says("they do not part");
}

#[test]
fn a_command_is_recorded_with_its_exit_code() {
    // The agent commits as a user does; a configuration that forbids it is not meant here.
    let peace = "test ! -e \"$HOME/plain.gitconfig\" || export GIT_CONFIG_GLOBAL=\"$HOME/plain.gitconfig\";";
    let repo = Repo::with(&[("a", "a\n")]);
    let agent = repo.script(
        "agent",
        &format!("{peace} echo said; echo b >a; git commit -qam one; echo c >a; git commit -qam two; echo left >left; exit $1"),
    );
    let agent = agent.display();
    repo.replay(&format!(
        "record -o ../j.json --prompt 'do it' -- {agent} 0"
    ))
    .ok()
    .prints("said")
    .says("warning: left uncommitted, and not in the journal: 1 path")
    .says("2 commits, all rebuilt once");
    let journal = repo.journal("../j.json");
    assert_eq!(journal[1]["text"], "do it");
    assert_eq!(journal[4]["branch"], "main");
    assert_eq!(journal[4]["commits"][0]["subject"], "two");
    let clone = repo.fresh("HEAD~2");
    let path = repo.path("../j.json").display().to_string();
    assert_eq!(clone.oid(&clone.replay(&path).ok().out()), repo.oid("HEAD"));
    // A run that failed is recorded as one, and replayed as one.
    repo.replay(&format!(
        "record -o ../failed.json --no-prompt -- {agent} 7"
    ))
    .fails(7);
    repo.replay("../failed.json --check --from HEAD~2")
        .fails(1)
        .says("the recorded run failed (process): the command ended with exit code 7");
    // One that committed nothing.
    repo.replay("record -o ../none.json --no-prompt -- true")
        .ok()
        .says("no commits");
    repo.replay("../none.json")
        .ok()
        .says("none: no commits")
        .says("no branch was made");
    repo.replay("record -o ../x.json --no-prompt -- /nonexistent")
        .fails(127)
        .says("error: cannot run '/nonexistent'");
    assert!(!repo.exists("../x.json"));
    // One that rewrote what was there.
    let script = format!("{peace} echo z >a; git commit -q --amend -am rewritten");
    let amend = repo.script("amend", &script);
    repo.replay(&format!(
        "record -o ../amend.json --no-prompt -- {}",
        amend.display()
    ))
    .ok()
    .says("warning: the command did not build on")
    .says("1 commit, rebuilt once");
    // On an unborn branch the history begins with it.
    let unborn = Repo::new();
    let script = unborn.script(
        "first",
        &format!("{peace} echo 1 >f; git add f; git commit -qm root"),
    );
    unborn
        .replay(&format!(
            "record -o ../j.json --no-prompt -- {}",
            script.display()
        ))
        .ok();
    let other = Repo::new();
    let path = unborn.path("../j.json").display().to_string();
    assert_eq!(
        other.oid(&other.replay(&path).ok().out()),
        unborn.oid("HEAD")
    );
}

#[test]
fn where_nothing_was_rebuilt_no_ids_are_the_same() {
    let repo = recorded();
    repo.replay("record main..main --no-prompt -o ../none.json")
        .ok();
    let found = repo.replay("../none.json --json").ok().json();
    assert_eq!(found["same_ids"], Value::Null);
    let found = repo.replay("test ../none.json --format=json").ok().json();
    assert_eq!(found["journals"][0]["same_ids"], Value::Null);
    repo.replay("../none.json --json --events")
        .fails(129)
        .says("--events and --json cannot both");
    repo.replay("../none.json --json --events --session s").ok();
}

#[test]
fn other_patches_change_no_other_token() {
    let repo = recorded();
    let text = repo.read("../fixtures/good.json");
    let foreign = text.replace("\"oid\":", "\"theirs\":1.50,\"huge\":1e2,\"oid\":");
    assert_ne!(text, foreign);
    repo.write("../fixtures/good.json", &foreign);
    repo.replay("convert ../fixtures/good.json ../text.json --patches=text")
        .ok();
    let changed = repo.read("../text.json");
    assert_eq!(
        changed.matches("\"theirs\":1.50,\"huge\":1e2,").count(),
        foreign.matches("\"theirs\":1.50,\"huge\":1e2,").count()
    );
    repo.replay("convert ../text.json ../back.json --patches=binary")
        .ok();
    assert_eq!(repo.read("../back.json"), foreign);
}

#[test]
fn what_is_wrong_is_said_before_the_command_runs() {
    let repo = recorded();
    let logs = repo.common_dir().join("harness/trajectories");
    for agent in ["claude", "codex"] {
        repo.write(logs.join(format!("{agent}-s1.jsonl")), "");
    }
    repo.mkdir("../folder");
    for (options, said) in [
        (
            "-o ../nowhere/j.json --no-prompt",
            "cannot write in '../nowhere'",
        ),
        ("-o ../folder --no-prompt", "'../folder' is a folder"),
        (
            "-o ../x.json --prompt-file missing",
            "cannot read the prompt 'missing'",
        ),
        (
            "-o ../x.json --session s1",
            "2 trajectories have a session 's1'",
        ),
    ] {
        repo.replay(&format!("record {options} -- touch ../ran"))
            .fails(128)
            .says(said);
        assert!(!repo.exists("../ran"), "{options}");
    }
    repo.git("config journal.maxSize much").ok();
    repo.replay("record -o ../x.json --no-prompt -- touch ../ran")
        .fails(128)
        .says("journal.maxSize");
    assert!(!repo.exists("../ran"));
    repo.git("config --unset journal.maxSize").ok();
    // A session that the command was to begin may never have begun.
    repo.replay("record -o ../x.json --session s2 -- sh -c 'touch ../ran; exit 3'")
        .fails(3)
        .says("warning: recorded without a prompt: there is no trajectory of a session 's2'");
    assert!(repo.exists("../ran"));
    assert_eq!(repo.journal("../x.json")[1]["x"]["prompt"]["absent"], true);
}

#[test]
fn the_exit_code_is_the_commands_whatever_comes_after() {
    let repo = recorded();
    repo.replay("record -o ../gone/x.json --no-prompt -- true")
        .fails(128);
    repo.mkdir("../gone");
    let record = "record -o ../gone/x.json --no-prompt --";
    repo.replay(&format!("{record} sh -c 'rmdir ../gone; exit 5'"))
        .fails(5)
        .says("error: no journal: cannot write in '../gone'");
    repo.mkdir("../gone");
    repo.replay(&format!("{record} sh -c 'rmdir ../gone'"))
        .fails(128);
    repo.replay("record -o ../killed.json --no-prompt -- sh -c 'kill -TERM $$'")
        .fails(143);
    // Neither a monitor nor a status that fails has a say.
    let fired = repo.script("monitor", "echo fired >>\"$HOME/monitored\"; exit 1");
    repo.run(["config", "core.fsmonitor", fired.to_str().unwrap()])
        .ok();
    repo.replay("record -o ../quiet.json --no-prompt -- true")
        .ok();
    assert!(!repo.exists(repo.home().join("monitored")));
    repo.git("config --unset core.fsmonitor").ok();
    repo.replay("record -o ../odd.json --no-prompt -- sh -c 'echo broken >.git/index'")
        .ok()
        .says("warning: cannot tell what was left uncommitted");
    assert!(repo.exists("../odd.json"));
}

#[test]
fn a_finished_shadow_is_recorded_by_its_name() {
    let repo = recorded();
    let folder = repo.common_dir().join("harness/shadows");
    let metadata = json!({"v": 1, "task": "task-42", "base": repo.oid("main"), "branch": "run"});
    repo.write(folder.join("task-42.json"), metadata.to_string());
    repo.replay("record task-42 --prompt p -o ../shadow.json")
        .ok();
    assert_eq!(
        repo.read("../shadow.json"),
        repo.read("../fixtures/good.json")
    );
}

#[test]
fn the_budget_is_exact() {
    let repo = recorded();
    let journal = repo.journal("../fixtures/good.json");
    let size: usize = journal[3]["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["patch"].as_str().unwrap().len() + c["message"].as_str().unwrap().len())
        .sum();
    repo.replay(&format!(
        "record main..run --no-prompt -o ../equal.json --max-size {size}"
    ))
    .ok()
    .says("2 commits");
    repo.replay(&format!(
        "record main..run --no-prompt -o ../over.json --max-size {}",
        size - 1
    ))
    .ok()
    .says("a reader of the plain fields rebuilds nothing: its patches and messages have");
    repo.git("config journal.maxSize 1000").ok();
    repo.replay("record main..run --no-prompt -o ../warned.json")
        .ok()
        .says("readers take 1000 unless journal.maxSize says more");
}
