//! What recording costs: masking, appending, mirroring, and a hook against
//! `true`. Prints one line a figure with its bar; ratios are medians of pairs
//! taken in turn, so that a busy machine slows both (in brackets: of the quickest).
//!
//! Words after `--` choose some of `masking`, `append`, `hooks`, `mirror`.
//! `HARNESS_BENCH_GB=1` makes the second ingest one of a gigabyte of logs.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, starts programs and may panic"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use git_harness::events::mask::Masked;
use git_harness::events::{Event, Log};
use serde_json::json;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|word| word == name);
    if is_chosen("masking") {
        masking();
    }
    if is_chosen("append") {
        append(folder.path());
    }
    if is_chosen("hooks") {
        hooks(folder.path());
    }
    if is_chosen("mirror") {
        mirror(folder.path());
    }
}

fn figure(name: &str, value: String, bar: &str) {
    println!("{name:44} {value:>16}   bar {bar}");
}

fn masking() {
    let source = include_str!("../src/git/command.rs");
    let source = source.repeat(1 + (8 << 20) / source.len());
    let mut best = f64::MAX;
    for _ in 0..15 {
        let text = source.clone();
        let start = Instant::now();
        let masked = Masked::from_string(text);
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(masked.as_str(), source);
    }
    figure(
        "masking of clean text",
        format!("{:.2} GB/s", source.len() as f64 / best / 1e9),
        ">= 1 GB/s",
    );
}

fn event(n: usize) -> Event {
    Event::now("s", "tool_end", "Bash")
        .with("tool_call_id", format!("toolu_{n:020}"))
        .with("duration_ms", 12)
        .with("is_error", false)
        .with("result_chars", 240)
        .with("outcome", "ok")
        .with(
            "result_head",
            "   Compiling git-harness v0.1.0 (/home/dev/app)\n    Finished `dev` profile",
        )
}

fn append(folder: &Path) {
    let mut log = Log::open(
        &folder.join("append.jsonl"),
        Default::default(),
        Duration::ZERO,
    )
    .unwrap();
    let count = 20_000;
    let start = Instant::now();
    for n in 0..count {
        log.append(&event(n).line(4096)).unwrap();
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    figure(
        "append of an event, in process",
        format!("{each:.2} us"),
        "<= 10 us",
    );
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=b"])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(done.success());
}

/// The program as an installation has it, a copy: what the linker has written itself
/// lies in smaller pieces in the cache, and starts slower.
fn installed(name: &str, built: &str, folder: &Path) -> String {
    let path = folder.join(name);
    if !path.exists() {
        fs::write(&path, fs::read(built).unwrap()).unwrap();
        fs::set_permissions(&path, fs::metadata(built).unwrap().permissions()).unwrap();
    }
    path.to_str().unwrap().to_owned()
}

fn trajectory(folder: &Path) -> String {
    installed(
        "git-trajectory",
        env!("CARGO_BIN_EXE_git-trajectory"),
        folder,
    )
}

fn checkpoint(folder: &Path) -> String {
    installed(
        "git-checkpoint",
        env!("CARGO_BIN_EXE_git-checkpoint"),
        folder,
    )
}

/// Seconds that `program` takes, fed with `input`.
fn time(program: &str, arguments: &[&str], folder: &Path, input: &[u8]) -> f64 {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait().unwrap();
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Two things, measured in turn.
struct Pairs {
    one: Vec<f64>,
    other: Vec<f64>,
}

impl Pairs {
    fn of(rounds: usize, mut one: impl FnMut() -> f64, mut other: impl FnMut() -> f64) -> Pairs {
        let mut pairs = Pairs {
            one: Vec::new(),
            other: Vec::new(),
        };
        for _ in 0..rounds {
            pairs.one.push(one());
            pairs.other.push(other());
        }
        pairs
    }

    /// The medians' ratio, and that of the quickest ones, which others on the machine
    /// disturbed least.
    fn ratio(&self) -> String {
        let best = |values: &[f64]| values.iter().copied().fold(f64::MAX, f64::min);
        format!(
            "{:.2} x ({:.2} x)",
            median(self.one.clone()) / median(self.other.clone()),
            best(&self.one) / best(&self.other)
        )
    }
}

fn hooks(folder: &Path) {
    let (trajectory, checkpoint) = (trajectory(folder), checkpoint(folder));
    let repo = folder.join("repo");
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q", "."]);
    for n in 0..1000 {
        let path = repo.join(format!("d{}", n % 20));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(format!("f{n}.txt")), format!("{n}\n")).unwrap();
    }
    git(&repo, &["add", "-A"]);
    git(&repo, &["commit", "-qm", "x"]);
    let prompt = |session: &str, size: usize| {
        let text = "a line of a prompt that asks for something\n".repeat(1 + size / 43);
        json!({"session_id": session, "cwd": repo, "hook_event_name": "UserPromptSubmit", "prompt": text}).to_string().into_bytes()
    };
    let hook = |input: &[u8]| time(&trajectory, &["hook", "claude"], &repo, input);
    let truth = || time("true", &[], &repo, b"");
    let (small, large) = (prompt("a", 2000), prompt("big", 1 << 20));
    hook(&small);
    let paired = Pairs::of(100, || hook(&small), truth);
    figure("a logging event against `true`", paired.ratio(), "<= 3 x");
    let took = median((0..20).map(|_| hook(&large)).collect());
    figure(
        "a logging event of 1 MiB",
        format!("{:.1} ms", took * 1e3),
        "<= 10 ms",
    );
    let full = prompt("full", 2000);
    hook(&full);
    let log = repo.join(".git/harness/trajectories/claude-full.jsonl");
    let mut writer = Log::open(&log, Default::default(), Duration::ZERO).unwrap();
    for n in 0..10_000 {
        writer.append(&event(n).line(4096)).unwrap();
    }
    drop(writer);
    let paired = Pairs::of(60, || hook(&full), || hook(&small));
    figure("the same behind 10,000 events", paired.ratio(), "<= 1.1 x");

    let mut n = 0;
    let mut before = || {
        n += 1;
        let data = json!({"session_id": "w", "cwd": repo, "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_use_id": format!("t{n}"),
            "tool_input": {"file_path": repo.join("d1/f1.txt"), "content": "x"}});
        time(
            &trajectory,
            &["hook", "claude"],
            &repo,
            data.to_string().as_bytes(),
        )
    };
    let mut m = 0;
    let mut save = || {
        m += 1;
        let call = format!("c{m}");
        time(
            &checkpoint,
            &[
                "save",
                "-q",
                "--if-changed",
                "--tool",
                "Write",
                "--path",
                "d1/f1.txt",
                "--call",
                &call,
            ],
            &repo,
            b"",
        )
    };
    let (mut ours, mut plain, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..60 {
        ours.push(before());
        plain.push(save());
        bare.push(truth());
    }
    let (ours, plain, bare) = (median(ours), median(plain), median(bare));
    figure(
        "before a write, less `checkpoint save`",
        format!("{:.2} x true", (ours - plain) / bare),
        "<= 1 x true",
    );
}

fn mirror(folder: &Path) {
    let trajectory = trajectory(folder);
    let repo = folder.join("mirror");
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q", "."]);
    let logs = repo.join(".git/harness/trajectories");
    let count = 100_000;
    let mut log = Log::open(
        &logs.join("bench-s.jsonl"),
        Default::default(),
        Duration::ZERO,
    )
    .unwrap();
    let mut rows = Vec::new();
    for n in 0..count {
        let line = event(n).line(4096);
        let seq = log.append(&line).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line.at(seq)).unwrap();
        rows.push(
            ["event_id", "session_id", "type", "name", "payload", "ts"].map(|key| {
                match &value[key] {
                    serde_json::Value::String(text) => text.clone(),
                    other => other.to_string(),
                }
            }),
        );
    }
    drop(log);
    let database = repo.join(".git/harness/trajectory.db");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let _ = fs::remove_file(&database);
        ours.push(time(&trajectory, &["ingest", "-q"], &repo, b""));
        theirs.push(bulk_insert(&folder.join("bulk.db"), &rows));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    figure(
        "ingest against SQLite's own bulk insert",
        format!("{:.2} x", theirs / ours),
        ">= 0.6 x",
    );
    figure(
        "events ingested",
        format!("{:.0}/s", count as f64 / ours),
        "",
    );

    let gigabytes: f64 = std::env::var("HARNESS_BENCH_GB")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0.1);
    let size = fs::metadata(logs.join("bench-s.jsonl")).unwrap().len() as f64;
    for n in 0..(gigabytes * 1e9 / size) as usize {
        let text = fs::read_to_string(logs.join("bench-s.jsonl")).unwrap();
        fs::write(
            logs.join(format!("bench-c{n}.jsonl")),
            text.replace("\"hev_", &format!("\"hev{n}_")),
        )
        .unwrap();
    }
    time(&trajectory, &["ingest", "-q"], &repo, b"");
    let again = median(
        (0..5)
            .map(|_| time(&trajectory, &["ingest", "-q"], &repo, b""))
            .collect(),
    );
    figure(
        &format!("a second ingest of {gigabytes} GB"),
        format!("{:.1} ms", again * 1e3),
        "<= 100 ms",
    );
}

/// What SQLite needs for the same rows in the same tables and indexes.
fn bulk_insert(path: &Path, rows: &[[String; 6]]) -> f64 {
    let _ = fs::remove_file(path);
    let mut db = rusqlite::Connection::open(path).unwrap();
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
        .unwrap();
    db.pragma_update(None, "synchronous", "NORMAL").unwrap();
    db.execute_batch(
        "CREATE TABLE harness_events(event_id TEXT PRIMARY KEY, session_id TEXT, type TEXT, name TEXT, payload_json TEXT, ts TEXT);
         CREATE INDEX a ON harness_events(session_id, ts);
         CREATE TABLE harness_extra(event_id TEXT PRIMARY KEY, tool_call_id TEXT, origin INTEGER);
         CREATE INDEX b ON harness_extra(tool_call_id); CREATE INDEX c ON harness_extra(origin);",
    )
    .unwrap();
    let start = Instant::now();
    let transaction = db.transaction().unwrap();
    {
        let mut events = transaction
            .prepare("INSERT OR IGNORE INTO harness_events VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
            .unwrap();
        let mut extra = transaction
            .prepare("INSERT OR IGNORE INTO harness_extra VALUES(?1, ?2, 1)")
            .unwrap();
        for (n, row) in rows.iter().enumerate() {
            events.execute(rusqlite::params_from_iter(row)).unwrap();
            extra
                .execute(rusqlite::params![row[0], format!("toolu_{n:020}")])
                .unwrap();
        }
    }
    transaction.commit().unwrap();
    start.elapsed().as_secs_f64()
}
