//! Gemini CLI: `tmp/<project>/chats/session-….jsonl`, subagents below
//! `chats/<parent session>/`. Messages are written again when they grow, and
//! a resume writes them once more without their tokens: what was seen is kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Result;
use crate::events::Key;
use crate::trajectory::import::call::{Billed, canonical, tool_key};
use crate::trajectory::import::rows::{each, ms, plain, text};
use crate::trajectory::import::story::{Ended, Story};

/// How often a tool was called with the same arguments.
type Counts = HashMap<(String, String), u64>;

/// Reads the sessions of `files`.
pub(super) fn read(files: &[PathBuf], key: &Key) -> Result<Vec<Story>> {
    let mut found: Vec<Reading> = Vec::new();
    for file in files {
        let mut reading = Reading {
            parent: parent_of(file),
            ..Reading::default()
        };
        reading.broken = each(file, |_| true, |row| reading_row(&mut reading, &row))?;
        if !reading.id.is_empty() {
            found.push(reading);
        }
    }
    let mut stories: Vec<(Story, Counts)> = Vec::new();
    // Calls are told apart by their order, so all files of a session are told in order.
    found.sort_by_key(|reading| reading.began);
    let mut messages: Vec<(String, Option<String>, Message)> = Vec::new();
    for reading in found {
        let session = reading.parent.clone().unwrap_or_else(|| reading.id.clone());
        let agent_id = reading.parent.is_some().then(|| reading.id.clone());
        let at = match stories.iter().position(|(s, _)| s.session.id == session) {
            Some(at) => at,
            None => {
                stories.push((Story::new("gemini", &session), HashMap::new()));
                stories.len() - 1
            }
        };
        let story = &mut stories[at].0;
        if agent_id.is_none()
            && let Some(began) = reading.began
        {
            story.at(began);
        }
        story.broken += reading.broken;
        if story.cwd.is_none() {
            story.cwd.clone_from(&reading.cwd);
        }
        for (ts, native, reason) in &reading.compactions {
            story.compaction(*ts, native, reason, None, None);
            story.unrecorded(*ts, native, "compaction");
        }
        for message in reading.messages {
            let known = messages
                .iter_mut()
                .find(|(s, a, m)| *s == session && *a == agent_id && m.id == message.id);
            match known {
                Some((_, _, known)) => known.take(&message),
                None => messages.push((session.clone(), agent_id.clone(), message)),
            }
        }
    }
    messages.sort_by_key(|(_, _, message)| message.ts);
    for (session, agent_id, message) in messages {
        if let Some((story, counts)) = stories.iter_mut().find(|(s, _)| s.session.id == session) {
            tell(story, counts, key, &message, agent_id.as_deref());
        }
    }
    Ok(stories
        .into_iter()
        .map(|(story, _)| story.complete())
        .collect())
}

/// The parent session of a subagent's file: the name of the folder below `chats`.
fn parent_of(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    let is_below = folder.parent()?.file_name()? == "chats";
    is_below.then(|| folder.file_name().map(|n| n.to_string_lossy().into_owned()))?
}

#[derive(Default)]
struct Reading {
    id: String,
    parent: Option<String>,
    began: Option<i64>,
    cwd: Option<PathBuf>,
    messages: Vec<Message>,
    compactions: Vec<(i64, String, &'static str)>,
    set_once: bool,
    broken: u64,
}

#[derive(Debug, Clone, Default)]
struct Message {
    id: String,
    ts: i64,
    kind: String,
    content: Value,
    tokens: Option<Value>,
    model: Option<String>,
    tools: Vec<Value>,
    is_context: bool,
}

impl Message {
    /// Takes what `later` adds; nothing that was seen is lost.
    fn take(&mut self, later: &Message) {
        if later.tokens.is_some() {
            self.tokens.clone_from(&later.tokens);
        }
        if later.model.is_some() {
            self.model.clone_from(&later.model);
        }
        if !later.tools.is_empty() {
            self.tools.clone_from(&later.tools);
        }
        self.ts = self.ts.min(later.ts);
    }
}

fn reading_row(reading: &mut Reading, row: &Value) {
    if let Some(set) = row.get("$set") {
        if let Some(Value::Array(list)) = set.get("messages") {
            let second = list
                .get(1)
                .map(|m| plain(&m["content"]))
                .unwrap_or_default();
            if second.starts_with("<state_snapshot>") {
                let ts = reading.messages.last().map_or(0, |m| m.ts);
                reading.compactions.push((
                    ts,
                    text(&list[1], "id").unwrap_or_default().to_owned(),
                    "auto",
                ));
            }
            let first_time = !std::mem::replace(&mut reading.set_once, true);
            for (n, message) in list.iter().enumerate() {
                // The first list is what the program says before anyone else does; a later
                // one repeats, and is only asked for tokens that were not seen yet.
                let repeats = !first_time || n == 0;
                add(reading, message, repeats);
            }
        }
        return;
    }
    if let Some(id) = text(row, "sessionId") {
        if reading.id.is_empty() {
            id.clone_into(&mut reading.id);
            reading.began = ms(row, "startTime");
        }
        if let Some(Value::String(folder)) = row.get("directories").and_then(|d| d.get(0)) {
            reading.cwd = Some(folder.into());
        }
        for message in row
            .get("messages")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            add(reading, message, false);
        }
        return;
    }
    add(reading, row, false);
}

fn add(reading: &mut Reading, row: &Value, is_context: bool) {
    let (Some(id), Some(kind)) = (text(row, "id"), text(row, "type")) else {
        return;
    };
    let message = Message {
        id: id.to_owned(),
        ts: ms(row, "timestamp").unwrap_or(0),
        kind: kind.to_owned(),
        content: row.get("content").cloned().unwrap_or_default(),
        tokens: row.get("tokens").filter(|t| t.is_object()).cloned(),
        model: text(row, "model").map(str::to_owned),
        tools: row
            .get("toolCalls")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        is_context,
    };
    match reading.messages.iter_mut().find(|m| m.id == message.id) {
        Some(known) => known.take(&message),
        None => reading.messages.push(message),
    }
}

fn tell(
    story: &mut Story,
    counts: &mut Counts,
    key: &Key,
    message: &Message,
    agent_id: Option<&str>,
) {
    let is_copy = story.began.is_some_and(|began| message.ts < began);
    if message.kind == "user" {
        let said = plain(&message.content);
        let is_result = message
            .content
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|b| b.get("functionResponse").is_some()));
        if !message.is_context && !is_result && !is_copy && !said.is_empty() && agent_id.is_none() {
            story.prompt(message.ts, &message.id, &said, None);
        }
        return;
    }
    if message.kind != "gemini" {
        return;
    }
    if let Some(tokens) = &message.tokens {
        let number = |name: &str| tokens.get(name).and_then(Value::as_u64);
        let cached = number("cached").unwrap_or(0);
        let call = Billed {
            key: message.id.clone(),
            model: message.model.clone().unwrap_or_default(),
            // Their input contains the cache, their output not the thoughts.
            input: number("input")
                .map(|all| (all + number("tool").unwrap_or(0)).saturating_sub(cached)),
            cache_read: number("cached"),
            output: number("output").map(|out| out + number("thoughts").unwrap_or(0)),
            reasoning: number("thoughts"),
            tool_calls: Some(message.tools.len() as u64),
            chars: Some(plain(&message.content).chars().count() as u64),
            ..Billed::default()
        };
        story.billed(message.ts, call, agent_id);
    }
    for tool in &message.tools {
        let name = text(tool, "name").unwrap_or_default();
        let arguments = tool.get("args").cloned().unwrap_or_default();
        let nth = counts
            .entry((name.to_owned(), canonical(&arguments)))
            .or_insert(0);
        let call = tool_key(key, name, &arguments, *nth);
        *nth += 1;
        if is_copy {
            continue;
        }
        story.tool_start(message.ts, &call, name, &arguments, agent_id);
        let Some(status) = text(tool, "status") else {
            continue;
        };
        let result = result_of(tool);
        let outcome = match status {
            "success" => exit_of(&result),
            "cancelled" => "cancelled",
            _ if result.starts_with("Tool execution denied by policy.")
                || result.starts_with("Tool execution blocked: ") =>
            {
                "denied"
            }
            _ => "error",
        };
        let ts = ms(tool, "timestamp").unwrap_or(message.ts);
        story.tool_end(
            ts,
            &call,
            name,
            Ended {
                outcome,
                result,
                duration_ms: None,
            },
            agent_id,
        );
    }
}

fn result_of(tool: &Value) -> String {
    let response = &tool["result"][0]["functionResponse"]["response"];
    text(response, "output")
        .or_else(|| text(response, "error"))
        .map_or_else(|| plain(&tool["resultDisplay"]), str::to_owned)
}

/// A command's exit code stands only in its output, and not when it is 0.
fn exit_of(result: &str) -> &'static str {
    let failed = result.lines().any(|line| {
        line.strip_prefix("Exit Code: ")
            .is_some_and(|code| code.trim() != "0")
    });
    if failed { "error" } else { "ok" }
}
