//! What a trajectory knows of a run: its prompts, tools, usage and failure.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{Context, Result, hinted};
use crate::events::mask::MASK;
use crate::events::session::{file_name, folder};
use crate::events::{Reader, Stored};
use crate::git::Repo;
use crate::replay::compose::{Part, entry};
use crate::replay::journal::write::json as text;
use crate::replay::journal::{Failure, Usage};

/// Reasons for the end of a session that mean it did not end well, and the code
/// that a journal has for each.
const FAILURES: &[(&str, &str)] = &[
    ("error", "process"),
    ("failed", "process"),
    ("timeout", "timeout"),
    ("aborted", "aborted"),
    ("killed", "aborted"),
    ("interrupted", "aborted"),
    ("limit", "limit"),
    ("quota", "quota"),
];

/// One part for each prompt of the session called `id`.
///
/// # Errors
/// When no trajectory, or more than one, has that name, or it holds no prompt.
pub(super) fn parts(repo: &Repo, id: &str) -> Result<Vec<Part>> {
    let stem = stem(repo, id)?;
    let folder = folder(repo);
    let live = read(&folder.join(format!("{stem}.jsonl")))?;
    let imported = read(&folder.join(format!("{stem}.import.jsonl")))?;
    let parts = told(together(live, imported));
    if parts.is_empty() {
        return Err(hinted(
            format!("the trajectory '{stem}' holds no prompt"),
            "give the prompt by --prompt or --prompt-file instead",
        ));
    }
    Ok(parts)
}

/// The file name, without its ending, of the session called `id`: the agent's
/// own id, or with the agent's name before it.
pub(super) fn stem(repo: &Repo, id: &str) -> Result<String> {
    find(repo, id)?.ok_or_else(|| {
        hinted(
            format!("there is no trajectory of a session '{id}'"),
            "'git trajectory list' shows those that are there",
        )
    })
}

/// As [`stem`], `None` where there is none.
pub(super) fn find(repo: &Repo, id: &str) -> Result<Option<String>> {
    let wanted = file_name(id);
    let mut found: Vec<String> = Vec::new();
    for path in logs(&folder(repo))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".jsonl").unwrap_or(&name);
        let stem = stem.strip_suffix(".import").unwrap_or(stem);
        let of_agent = stem.split_once('-').map(|(_, rest)| rest);
        if (stem == wanted || of_agent == Some(&wanted)) && !found.iter().any(|f| f == stem) {
            found.push(stem.to_owned());
        }
    }
    match found.as_slice() {
        [only] => Ok(Some(only.clone())),
        [] => Ok(None),
        several => Err(hinted(
            format!("{} trajectories have a session '{id}'", several.len()),
            format!("name one of {}", several.join(", ")),
        )),
    }
}

fn logs(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(Vec::new());
    };
    let mut logs = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot list '{}'", folder.display()))?
            .path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            logs.push(path);
        }
    }
    logs.sort();
    Ok(logs)
}

fn read(path: &Path) -> Result<Vec<Stored>> {
    let mut events = Vec::new();
    if path.exists() {
        let mut reader = Reader::open(path, 0)?;
        while let Some(event) = reader.next_event()? {
            events.push(event);
        }
    }
    Ok(events)
}

/// What hooks saw, and what only the transcript knows. Both tell of a prompt under
/// ids of their own: each one of the hooks answers for one of the same text.
fn together(live: Vec<Stored>, imported: Vec<Stored>) -> Vec<Stored> {
    let mut told: HashMap<(Option<u64>, String), usize> = HashMap::new();
    for event in live.iter().filter(|event| is_prompt(event)) {
        *told.entry(whole(event)).or_default() += 1;
    }
    let mut events = live;
    for event in imported {
        if is_prompt(&event)
            && let Some(count) = told.get_mut(&whole(&event)).filter(|count| **count > 0)
        {
            *count -= 1;
            continue;
        }
        events.push(event);
    }
    events
}

/// Whether it is a prompt of the user, not one that an agent gave to another.
fn is_prompt(event: &Stored) -> bool {
    event.kind == "prompt" && event.agent_id.is_none()
}

/// All that is known of the text of a prompt.
fn whole(event: &Stored) -> (Option<u64>, String) {
    let fields = event.fields();
    let chars = fields.get("chars").and_then(Value::as_u64);
    (chars, prompt_text(&fields).to_owned())
}

/// What is counted once, although it stands in the logs more than once.
#[derive(Default)]
struct Seen {
    /// By the id of the event.
    prompts: HashSet<String>,
    calls: HashSet<String>,
    tools: HashSet<(String, String)>,
}

fn told(mut events: Vec<Stored>) -> Vec<Part> {
    events.sort_by_key(|event| event.ms().unwrap_or(i64::MAX));
    let mut seen = Seen::default();
    let mut parts: Vec<Part> = Vec::new();
    let mut began = None;
    for event in &events {
        let fields = event.fields();
        if event.kind == "prompt" {
            if is_prompt(event) && seen.prompts.insert(event.event_id.clone()) {
                parts.push(prompt(&fields));
                began = event.ms();
            }
            continue;
        }
        let Some(part) = parts.last_mut() else {
            continue;
        };
        if let (Some(began), Some(now)) = (began, event.ms()) {
            part.duration_ms = u64::try_from(now - began).ok();
        }
        match event.kind.as_str() {
            "tool_start" | "tool_end" => tool(part, event, &fields, &mut seen),
            "assistant" => assistant(part, event, &fields, &mut seen),
            "session_shutdown" => part.failure = failure(fields.get("reason")),
            _ => {}
        }
    }
    parts
}

fn prompt_text(fields: &Map<String, Value>) -> &str {
    let word = |name: &str| fields.get(name).and_then(Value::as_str);
    word("text").or(word("head")).unwrap_or_default()
}

/// The prompt as far as it is there: whole, or marked.
fn prompt(fields: &Map<String, Value>) -> Part {
    let known = prompt_text(fields);
    let chars = fields.get("chars").and_then(Value::as_u64);
    let is_masked = known.contains(MASK);
    let is_cut = !is_masked && chars != Some(known.chars().count() as u64);
    let is_whole = !is_masked && !is_cut;
    let head: String = known.chars().take(120).collect();
    Part {
        prompt: if is_whole { known.to_owned() } else { head },
        marks: (!is_whole).then(|| json!({"chars": chars, "cut": is_cut, "masked": is_masked})),
        ..Part::default()
    }
}

fn tool(part: &mut Part, event: &Stored, fields: &Map<String, Value>, seen: &mut Seen) {
    let word = |name: &str| fields.get(name).and_then(Value::as_str);
    let Some(call) = word("tool_call_id").or(event.tool_call_id.as_deref()) else {
        return;
    };
    if !seen.tools.insert((event.kind.clone(), call.to_owned())) {
        return;
    }
    let name = ("name", Some(text(event.name.as_str())));
    let call = ("callId", Some(text(call)));
    part.events.push(if event.kind == "tool_start" {
        let given = word("args_text").or(word("args")).unwrap_or_default();
        let input: Value = serde_json::from_str(given).unwrap_or_else(|_| given.into());
        entry(
            "tool",
            "agent",
            &[name, ("input", Some(input.to_string())), call],
        )
    } else {
        let is_error = fields
            .get("is_error")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let characters = fields
            .get("result_chars")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        entry(
            "tool-result",
            "agent",
            &[
                call,
                name,
                ("isError", Some(text(is_error))),
                (
                    "preview",
                    Some(text(word("result_head").unwrap_or_default())),
                ),
                ("characters", Some(text(characters))),
            ],
        )
    });
}

/// Adds what one billed call used; counts that are not known make the sum "at least".
fn assistant(part: &mut Part, event: &Stored, fields: &Map<String, Value>, seen: &mut Seen) {
    if event
        .call_key
        .as_ref()
        .is_some_and(|key| !seen.calls.insert(key.clone()))
    {
        return;
    }
    let count = |name: &str| fields.get(name).and_then(Value::as_u64);
    let is_known = count("input").is_some() && count("output").is_some();
    let used = Usage {
        input: count("input").unwrap_or(0),
        cached: count("cache_read").unwrap_or(0),
        output: count("output").unwrap_or(0),
        cache_creation: count("cache_write"),
        complete: (!is_known).then_some(false),
    };
    part.usage = Some(part.usage.map_or(used, |sum| sum.plus(used)));
}

fn failure(reason: Option<&Value>) -> Option<Failure> {
    let reason = reason?.as_str()?;
    let (_, code) = FAILURES.iter().find(|(word, _)| *word == reason)?;
    Some(Failure {
        code: (*code).to_owned(),
        message: format!("the session ended: {reason}"),
    })
}
