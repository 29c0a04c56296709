//! The agents' own transcripts: each billed call once, in every recorded scenario.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::Repo;
use super::trajectory_scene::files_with;

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The transcripts of a scenario; opencode's is a database, made from its text.
fn transcripts(repo: &Repo, agent: &str, scenario: &str) -> Vec<String> {
    let folder = fixtures().join(agent).join(scenario).join("transcript");
    let files = files_below(&folder);
    if agent != "opencode" {
        return files
            .iter()
            .map(|f| f.to_str().unwrap().to_owned())
            .collect();
    }
    let database = repo.scene().join(format!("{scenario}.db"));
    repo.sh(&format!(
        "sqlite3 '{}' < '{}'",
        database.display(),
        files[0].display()
    ))
    .ok();
    vec![database.to_str().unwrap().to_owned()]
}

const SUMS: &str = "select count(*) calls, sum(json_extract(payload_json,'$.input')) input,
  sum(json_extract(payload_json,'$.cache_read')) cache_read, sum(json_extract(payload_json,'$.cache_write_5m')) w5,
  sum(json_extract(payload_json,'$.cache_write_1h')) w1, sum(json_extract(payload_json,'$.output')) output,
  sum(json_extract(payload_json,'$.reasoning')) reasoning from harness_events where type = 'assistant'";

fn sums(repo: &Repo) -> Vec<i64> {
    let row = repo.run(["trajectory", "sql", SUMS, "--json"]).ok().json();
    [
        "calls",
        "input",
        "cache_read",
        "w5",
        "w1",
        "output",
        "reasoning",
    ]
    .iter()
    .map(|name| row[name].as_i64().unwrap_or(0))
    .collect()
}

fn expected() -> BTreeMap<String, Vec<(String, Vec<i64>)>> {
    let mut all: BTreeMap<String, Vec<(String, Vec<i64>)>> = BTreeMap::new();
    for line in fs::read_to_string(fixtures().join("expected.tsv"))
        .unwrap()
        .lines()
        .skip(1)
    {
        let cells: Vec<&str> = line.split('\t').collect();
        let numbers = cells[2..].iter().map(|n| n.parse().unwrap()).collect();
        all.entry(cells[0].to_owned())
            .or_default()
            .push((cells[1].to_owned(), numbers));
    }
    all
}

/// Whether the model's side has billed a call of which the transcript keeps no usage,
/// by the totals of the recorded scenarios. (The router of Gemini leaves no trace at all.)
fn is_more_billed(agent: &str, scenario: &str) -> bool {
    match agent {
        "claude" => matches!(scenario, "compacted" | "auto-compacted"),
        "codex" => scenario == "prompted",
        "gemini" => scenario == "compaction",
        "pi-0.73" => matches!(scenario, "compaction" | "tree"),
        "opencode" => true,
        _ => false,
    }
}

#[track_caller]
fn check(agent: &str) {
    let scenarios = &expected()[agent];
    assert!(scenarios.len() >= 15, "{} scenarios", scenarios.len());
    let program = agent.split('-').next().unwrap();
    let mut wrong = Vec::new();
    let repo = Repo::new();
    for (scenario, numbers) in scenarios {
        let files = transcripts(&repo, agent, scenario);
        let mut arguments = vec![
            "trajectory".to_owned(),
            "import".to_owned(),
            program.to_owned(),
        ];
        arguments.extend(files);
        repo.run(&arguments).ok();
        // Again, with the files in another order: nothing may be counted twice.
        arguments[3..].reverse();
        repo.run(&arguments).ok();
        let counted = sums(&repo);
        if counted != *numbers {
            wrong.push(format!("{scenario}: {counted:?}, not {numbers:?}"));
        }
        let listed = repo.git("trajectory list --json").ok().json();
        let marked = listed.as_array().unwrap().iter();
        let marked = marked.filter(|s| s["at_least"] == true).count();
        if (marked > 0) != is_more_billed(agent, scenario) {
            wrong.push(format!("{scenario}: {marked} sums are marked as too low"));
        }
        repo.remove(".git/harness");
    }
    assert!(wrong.is_empty(), "{agent}:\n{}", wrong.join("\n"));
}

#[test]
fn claude_is_counted_once() {
    check("claude");
}

#[test]
fn codex_is_counted_once() {
    check("codex");
}

/// What Codex has put away counts as what it was before, in one frame or in many,
/// by name, in its folder, and where a session named it before it was compressed.
#[test]
fn compressed_transcripts_are_read() {
    let repo = Repo::new();
    let compress = |text: &[u8]| {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let (scenario, numbers) = &expected()["codex"][0];
    let folder = repo.home().join(".codex/sessions/2026/09/02");
    fs::create_dir_all(&folder).unwrap();
    let mut arguments = vec!["trajectory".to_owned(), "import".to_owned()];
    for source in transcripts(&repo, "codex", scenario) {
        let text = fs::read_to_string(&source).unwrap();
        let text = text.replace("/home/dev/app", repo.root().to_str().unwrap());
        let (one, other) = text.split_at(text.len() / 2);
        let name = Path::new(&source).file_name().unwrap().to_str().unwrap();
        let put_away = folder.join(format!("{name}.zst"));
        let frames = [compress(one.as_bytes()), compress(other.as_bytes())].concat();
        fs::write(&put_away, frames).unwrap();
        arguments.push(put_away.to_str().unwrap().to_owned());
    }
    repo.run(&arguments).ok();
    assert_eq!(sums(&repo), *numbers, "{scenario} by name");
    repo.remove(".git/harness");
    repo.git("trajectory import codex").ok();
    assert_eq!(sums(&repo), *numbers, "{scenario} where Codex keeps it");
    repo.remove(".git/harness");
    // Live, it was no archive yet.
    let named = arguments[2].strip_suffix(".zst").unwrap();
    let start = serde_json::json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": "SessionStart",
        "source": "startup", "transcript_path": named});
    repo.feed("trajectory hook codex", start.to_string()).ok();
    assert_eq!(sums(&repo), *numbers, "{scenario} named by its session");
    // Half of an archive is an error that is said, and costs no other.
    fs::write(&arguments[2], &compress(b"{}")[..6]).unwrap();
    repo.git(&format!("trajectory import codex '{}'", arguments[2]))
        .fails(128)
        .says("cannot read");
}

#[test]
fn gemini_is_counted_once() {
    check("gemini");
}

#[test]
fn pi_is_counted_once() {
    check("pi");
    check("pi-0.73");
}

#[test]
fn opencode_is_counted_once() {
    check("opencode");
}

/// How the calls of a scenario ended, by outcome.
#[track_caller]
fn check_outcomes(agent: &str, scenario: &str, outcomes: &str) {
    let repo = Repo::new();
    let mut arguments = vec![
        "trajectory".to_owned(),
        "import".to_owned(),
        agent.to_owned(),
    ];
    arguments.extend(transcripts(&repo, agent, scenario));
    repo.run(&arguments).ok();
    let query = "select json_extract(payload_json,'$.outcome'), count(*) from harness_events where type='tool_end' group by 1 order by 1";
    let answer = repo.run(["trajectory", "sql", query]).ok().out();
    assert_eq!(answer.replace('\n', " "), outcomes, "{agent} {scenario}");
}

#[test]
fn refusals_stops_and_failures_are_told_apart() {
    check_outcomes("claude", "prompted", "cancelled|1 denied|1 ok|1");
    check_outcomes("claude", "denied", "denied|2");
    check_outcomes("claude", "failing-command", "error|1");
    check_outcomes("codex", "denied-by-hook", "denied|1");
    check_outcomes("codex", "failing-command", "error|2");
    check_outcomes("gemini", "denied-policy", "denied|1");
    check_outcomes("gemini", "fail", "error|3");
    check_outcomes("opencode", "denied", "denied|1");
    check_outcomes("opencode", "fail", "error|3");
    check_outcomes("pi", "fail", "error|3");
}

#[test]
fn subagents_are_told_from_the_main_one() {
    let repo = Repo::new();
    for agent in ["claude", "codex", "gemini"] {
        let mut arguments = vec![
            "trajectory".to_owned(),
            "import".to_owned(),
            agent.to_owned(),
        ];
        arguments.extend(transcripts(&repo, agent, "subagent"));
        repo.run(&arguments).ok();
        let query = "select count(distinct h.session_id), count(distinct x.agent_id) from harness_events h join harness_extra x using(event_id)";
        repo.run(["trajectory", "sql", query]).ok().prints("1|1");
        repo.remove(".git/harness");
    }
}

#[test]
fn only_sessions_of_this_repository_are_taken_by_default() {
    let repo = Repo::new();
    let home = repo.home().join(".pi/agent/sessions/x");
    fs::create_dir_all(&home).unwrap();
    let source = transcripts(&repo, "pi", "basic").remove(0);
    let text = fs::read_to_string(&source).unwrap();
    fs::write(home.join("a.jsonl"), &text).unwrap();
    repo.git("trajectory import pi").ok().says("0 sessions");
    let here = text.replace("/home/dev/app", repo.root().to_str().unwrap());
    fs::write(home.join("b.jsonl"), here).unwrap();
    repo.git("trajectory import pi").ok().says("1 session, ");
    assert_eq!(
        repo.git("trajectory list --json").ok().json()[0]["tokens"],
        6178
    );
}

#[test]
fn what_is_no_transcript_is_said() {
    let repo = Repo::new();
    repo.write("x.jsonl", "hello\n");
    repo.git("trajectory import x.jsonl")
        .fails(128)
        .says("no transcript was recognised");
}

#[test]
fn broken_rows_cost_only_themselves() {
    let repo = Repo::new();
    let source = transcripts(&repo, "claude", "basic").remove(0);
    let text = fs::read_to_string(source).unwrap();
    let mut broken = String::new();
    for line in text.lines() {
        broken.push_str(line);
        broken.push_str("\r\n\0\0\0\n");
    }
    broken.push_str("{\"type\":\"assistant\",\"torn");
    repo.write("t.jsonl", broken);
    let done = repo
        .git("trajectory import claude t.jsonl --json")
        .ok()
        .json();
    assert_eq!(done["broken"], 1);
    assert_eq!(sums(&repo), [5, 30, 12880, 3270, 240, 220, 0]);
}

#[test]
fn imported_lines_are_masked() {
    let repo = Repo::new();
    for agent in ["claude", "codex"] {
        let mut arguments = vec![
            "trajectory".to_owned(),
            "import".to_owned(),
            agent.to_owned(),
        ];
        arguments.extend(transcripts(&repo, agent, "secrets"));
        repo.run(&arguments).ok();
    }
    repo.git("trajectory ingest -q").ok();
    for secret in [
        "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH",
        "AKIAQWERTYUIOPASDFGH",
        "hunter2hunter2",
        "MIIBOgIBAAJBAKj34",
    ] {
        let found = files_with(&repo.path(".git/harness"), secret);
        assert_eq!(found, [""; 0], "{secret}");
    }
    let _: Value = repo.git("trajectory list --json").ok().json();
}
