//! `git trajectory hook`: what agents call. It prints nothing and ends with 0
//! whatever happens: the agent waits for it, and must never suffer from it.

use std::ffi::OsString;
use std::io::{BufRead, Read, Write};
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::enclosing::enclosing;
use crate::trajectory::agent::{self, Told};
use crate::trajectory::record::{Reply, is_required, note_trouble, record};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// claude, codex, gemini, opencode or pi
    agent: String,
    /// Read one event a line until the end of input
    #[arg(long)]
    stream: bool,
}

impl Arguments {
    /// The arguments of a hook as `install` writes them, and nothing else.
    pub(super) fn plain(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let (_, command, agent) = (arguments.next()?, arguments.next()?, arguments.next()?);
        let known = agent::AGENTS.iter().find(|known| agent == **known)?;
        (command == "hook" && arguments.next().is_none()).then(|| Arguments {
            agent: (*known).to_owned(),
            stream: false,
        })
    }
}

/// The largest payload that is read; what is larger is no payload.
const LARGEST: u64 = 64 << 20;

pub(super) fn run(arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    // Not a word on the agent's terminal, not even from a bug of ours.
    std::panic::set_hook(Box::new(|_| {}));
    if arguments.stream {
        stream(&arguments.agent, ui);
        return Ok(Exit::Done);
    }
    let name = arguments.agent.as_str();
    let mut input = Vec::new();
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        payload(&mut input).map(|data| told(name, &data))
    }));
    let (told, trouble) = match told {
        Ok(Ok(None)) => return Ok(Exit::Done),
        Ok(Ok(Some(told))) => (told, None),
        Ok(Err(error)) => (agent::unreadable(name, "."), Some(format!("{error:#}"))),
        Err(_) => (agent::unreadable(name, "."), Some(BROKE_OFF.to_owned())),
    };
    let reply = match trouble {
        None => recorded(&told),
        Some(trouble) if is_of_no_write(&input) => Err(trouble),
        Some(trouble) => failed(&told, trouble),
    };
    match reply {
        Ok(Some(reply)) => finish(name, &reply, ui),
        Ok(None) => Ok(Exit::Done),
        Err(trouble) => Ok(told_nobody(name, &trouble)),
    }
}

const BROKE_OFF: &str = "the hook broke off";

/// Reads the payload, whose bytes stay in `input`.
fn payload(input: &mut Vec<u8>) -> Result<Value> {
    let mut stdin = std::io::stdin().lock();
    stdin
        .by_ref()
        .take(LARGEST + 1)
        .read_to_end(input)
        .context("cannot read the payload")?;
    if input.len() as u64 > LARGEST {
        // The agent must be able to write all of it.
        let _ = std::io::copy(&mut stdin, &mut std::io::sink());
        crate::error::bail!("the payload is larger than {LARGEST} bytes");
    }
    serde_json::from_slice(input)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(input)))
        .context("the payload is no JSON")
}

/// The events before a write, by the names that agents give them.
const BEFORE: &[&str] = &[
    "PreToolUse",
    "BeforeTool",
    "tool_call",
    "tool.execute.before",
];

fn told(name: &str, data: &Value) -> Option<Told> {
    let event = data.get("hook_event_name").and_then(Value::as_str);
    let cwd = data.get("cwd").and_then(Value::as_str).unwrap_or(".");
    agent::told(name, data).or_else(|| {
        let is_before = event.is_some_and(|event| BEFORE.contains(&event));
        is_before.then(|| agent::unreadable(name, cwd))
    })
}

/// Whether a payload that cannot be read names an event that is no write.
fn is_of_no_write(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    text.contains("\"hook_event_name\"") && !BEFORE.iter().any(|event| text.contains(event))
}

/// Writes `told` down. Where that fails and nothing may be written without a checkpoint,
/// the answer is a refusal.
fn recorded(told: &Told) -> std::result::Result<Option<Reply>, String> {
    match std::panic::catch_unwind(|| record(told)) {
        Ok(Ok(None)) if told.session.id.is_empty() => {
            match failed(told, "the event names no session".to_owned()) {
                // Nothing is lost that anybody asked for.
                Err(_) => Ok(None),
                refused => refused,
            }
        }
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => failed(told, format!("{error:#}")),
        Err(_) => failed(told, BROKE_OFF.to_owned()),
    }
}

fn failed(told: &Told, trouble: String) -> std::result::Result<Option<Reply>, String> {
    let is_required = std::panic::catch_unwind(|| is_required(told)).unwrap_or(true);
    if !is_required {
        return Err(trouble);
    }
    told_nobody(&told.session.agent, &trouble);
    Ok(Some(Reply {
        error: Some(trouble),
        refuse: true,
        ..Reply::default()
    }))
}

fn finish(name: &str, reply: &Reply, ui: &mut Ui) -> Result<Exit> {
    if let Some((stem, worktree)) = &reply.ended {
        ingest_apart(name, stem, worktree);
    }
    if reply.refuse {
        // The user has asked for this: checkpoint.onHook=require.
        let why = reply
            .error
            .as_deref()
            .unwrap_or("no checkpoint could be taken");
        ui.say(format_args!("git-trajectory: the call is refused: {why}"));
        return Ok(Exit::Code(2));
    }
    Ok(Exit::Done)
}

fn told_nobody(name: &str, trouble: &str) -> Exit {
    let place = std::env::current_dir()
        .ok()
        .and_then(|here| enclosing(&here))
        // Nothing is written into a repository that git would not work in.
        .filter(|place| Repo::at(&place.worktree).is_ok());
    note_trouble(
        place.as_ref().map(|p| p.common_dir.as_path()),
        name,
        trouble,
    );
    Exit::Done
}

/// Brings the mirror up to date in a process of its own, which the agent does not wait for.
fn ingest_apart(name: &str, stem: &str, worktree: &Path) {
    let program = std::env::current_exe().unwrap_or_else(|_| "git-trajectory".into());
    let started = Child::new(program)
        .keep_env("GIT_DIR")
        .keep_env("GIT_WORK_TREE")
        .args(["ingest", "--quiet", "--apart", "--session", stem])
        .current_dir(worktree)
        .detach();
    if let Err(error) = started {
        told_nobody(name, &format!("{error:#}"));
    }
}

/// One child for one process of the agent: a line in for each event, a line out
/// where the extension asks for one.
fn stream(name: &str, ui: &mut Ui) {
    // The agent's keys and its terminal are not ours: the end of the input is the end.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        let _ = signal_hook::flag::register(
            signal,
            std::sync::Arc::<std::sync::atomic::AtomicBool>::default(),
        );
    }
    let mut reader = std::io::BufReader::new(std::io::stdin().lock());
    let mut ended: Vec<(String, std::path::PathBuf)> = Vec::new();
    let mut open: Vec<Value> = Vec::new();
    while let Some(line) = next_line(&mut reader) {
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            told_nobody(name, "a line of the stream is no JSON");
            continue;
        };
        let reply = match streamed(name, &message) {
            Some(told) => recorded(&told),
            None => Ok(None),
        };
        let word = |field: &str| {
            message
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        if !word("session").is_empty()
            && !open
                .iter()
                .any(|known| known["session"] == message["session"])
        {
            open.push(json!({"session": message["session"], "cwd": message["cwd"]}));
        }
        let reply = reply.unwrap_or_else(|trouble| {
            told_nobody(name, &trouble);
            Some(Reply {
                error: Some(trouble),
                ..Reply::default()
            })
        });
        let reply = reply.unwrap_or_default();
        if let Some(one) = reply.ended.clone() {
            open.retain(|known| known["session"] != message["session"]);
            ended.push(one);
        }
        if message
            .get("reply")
            .and_then(Value::as_bool)
            .unwrap_or(false)
        {
            let answer = json!({
                "id": message.get("id"), "checkpoint": reply.checkpoint, "error": reply.error, "refuse": reply.refuse,
            });
            let written = writeln!(ui.out, "{answer}").and_then(|()| ui.out.flush());
            if written.is_err() {
                break;
            }
        }
    }
    // The agent is gone, in whatever way: what it left open is closed.
    for session in open {
        let message = json!({"event": end_of(name), "session": session["session"], "cwd": session["cwd"], "data": {"reason": "end of input"}});
        let reply = streamed(name, &message).map(|told| recorded(&told));
        if let Some(Ok(Some(Reply {
            ended: Some(one), ..
        }))) = reply
        {
            ended.push(one);
        }
    }
    for (stem, worktree) in ended {
        ingest_apart(name, &stem, &worktree);
    }
}

fn end_of(name: &str) -> &'static str {
    if name == "opencode" {
        "dispose"
    } else {
        "session_shutdown"
    }
}

/// What a line of a stream tells.
fn streamed(name: &str, message: &Value) -> Option<Told> {
    let word = |field: &str| {
        message
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (event, cwd) = (word("event"), word("cwd"));
    let parsed = std::panic::catch_unwind(|| {
        agent::streamed(name, event, word("session"), cwd, &message["data"])
    });
    match parsed {
        Ok(Some(told)) => Some(told),
        _ => BEFORE
            .contains(&event)
            .then(|| agent::unreadable(name, cwd)),
    }
}

/// The next line; a longer one than any event is read past.
fn next_line(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    loop {
        let mut line = Vec::new();
        let read = reader
            .by_ref()
            .take(LARGEST)
            .read_until(b'\n', &mut line)
            .ok()?;
        if read == 0 {
            return None;
        }
        if line.last() == Some(&b'\n') || (read as u64) < LARGEST {
            return Some(line);
        }
        let mut rest = Vec::new();
        while rest.last() != Some(&b'\n') {
            rest.clear();
            if reader
                .by_ref()
                .take(1 << 20)
                .read_until(b'\n', &mut rest)
                .ok()?
                == 0
            {
                return None;
            }
        }
    }
}
