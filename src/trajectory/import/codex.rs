//! Codex: `sessions/YYYY/MM/DD/rollout-….jsonl`. Usage is counted from
//! `token_usage_record` rows, once a response; the running totals are not.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::error::Result;
use crate::trajectory::import::call::Billed;
use crate::trajectory::import::rows::{each, has, ms, plain, text};
use crate::trajectory::import::story::{Ended, Story};

/// Reads the sessions of `files`; a subagent's file belongs to its parent's.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Story>> {
    let mut stories: Vec<Story> = Vec::new();
    for file in files {
        let mut reading = Reading::default();
        let broken = each(file, is_wanted, |row| reading.row(&row))?;
        let Some(mut story) = reading.finish() else {
            continue;
        };
        story.broken += broken;
        match stories
            .iter_mut()
            .find(|known| known.session == story.session)
        {
            Some(known) => {
                known.events.extend(story.events);
                known.broken += story.broken;
                if let Some(began) = story.began {
                    known.at(began);
                }
            }
            None => stories.push(story),
        }
    }
    for story in &mut stories {
        story.events.sort_by_key(|event| event.ts);
    }
    Ok(stories.into_iter().map(Story::complete).collect())
}

fn is_wanted(row: &[u8]) -> bool {
    // A compaction repeats the whole history; its first bytes say enough.
    let head = &row[..row.len().min(160)];
    [
        "session_meta",
        "turn_context",
        "response_item",
        "token_usage_record",
        "compacted",
        "event_msg",
    ]
    .iter()
    .any(|kind| has(head, kind))
        && !has(head, "token_count")
}

#[derive(Default)]
struct Reading {
    story: Option<Story>,
    agent_id: Option<String>,
    model: String,
    /// The first instant of the answer that is being written.
    answer: Option<i64>,
    calls: u64,
    chars: u64,
    tools: HashMap<String, (String, i64)>,
    exits: HashMap<String, (i64, bool)>,
    seen: std::collections::HashSet<String>,
}

impl Reading {
    fn row(&mut self, row: &Value) {
        let (Some(kind), Some(ts)) = (text(row, "type"), ms(row, "timestamp")) else {
            return;
        };
        let payload = &row["payload"];
        if kind == "session_meta" {
            if self.story.is_none() {
                self.meta(payload, ts);
            }
            return;
        }
        if self.story.is_none() {
            return;
        }
        match kind {
            "turn_context" => self.model = text(payload, "model").unwrap_or(&self.model).to_owned(),
            "response_item" => self.item(payload, ts),
            "token_usage_record" => self.usage(payload, ts),
            "event_msg" => self.message(payload, ts),
            "compacted" => {
                if let Some(story) = &mut self.story {
                    story.compaction(ts, &ts.to_string(), "auto", None, None);
                }
            }
            _ => {}
        }
    }

    fn meta(&mut self, payload: &Value, ts: i64) {
        let Some(id) = text(payload, "id") else {
            return;
        };
        let session = text(payload, "session_id").unwrap_or(id);
        let mut story = Story::new("codex", session);
        story.at(ms(payload, "timestamp").unwrap_or(ts));
        story.cwd = text(payload, "cwd").map(PathBuf::from);
        if let Some(from) = text(payload, "forked_from_id") {
            story.parent = Some(serde_json::json!({"session": from, "call": null}));
        }
        if text(payload, "source") == Some("cli") {
            // On a terminal it asks for a title, in a thread that it keeps nothing of.
            story.unrecorded(ms(payload, "timestamp").unwrap_or(ts), id, "title");
        }
        self.agent_id = (id != session).then(|| id.to_owned());
        self.story = Some(story);
    }

    fn item(&mut self, payload: &Value, ts: i64) {
        let kind = text(payload, "type").unwrap_or_default();
        let by_model = matches!(
            kind,
            "reasoning"
                | "function_call"
                | "custom_tool_call"
                | "local_shell_call"
                | "web_search_call"
        ) || (kind == "message" && text(payload, "role") == Some("assistant"));
        if by_model {
            self.answer.get_or_insert(ts);
        }
        if kind == "message" && by_model {
            self.chars += plain(&payload["content"]).chars().count() as u64;
        }
        let (Some(story), Some(call)) = (&mut self.story, text(payload, "call_id")) else {
            return;
        };
        let agent_id = self.agent_id.as_deref();
        match kind {
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                self.calls += 1;
                let tool = text(payload, "name").unwrap_or(kind);
                let arguments = match text(payload, "arguments") {
                    Some(json) => serde_json::from_str(json).unwrap_or_else(|_| json.into()),
                    None => payload
                        .get("input")
                        .or_else(|| payload.get("action"))
                        .cloned()
                        .unwrap_or_default(),
                };
                self.tools.insert(call.to_owned(), (tool.to_owned(), ts));
                story.tool_start(ts, call, tool, &arguments, agent_id);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let (tool, began) = self.tools.get(call).cloned().unwrap_or((String::new(), ts));
                let result = plain(&payload["output"]);
                let outcome = outcome(&result, self.exits.get(call).copied());
                let ended = Ended {
                    outcome,
                    result,
                    duration_ms: Some((ts - began).max(0)),
                };
                story.tool_end(ts, call, &tool, ended, agent_id);
            }
            _ => {}
        }
    }

    fn message(&mut self, payload: &Value, ts: i64) {
        if text(payload, "type") != Some("item_completed") {
            return;
        }
        let Some(story) = &mut self.story else { return };
        let item = &payload["item"];
        let id = text(item, "id").unwrap_or_default();
        let agent_id = self.agent_id.as_deref();
        match text(item, "type") {
            Some("UserMessage") if agent_id.is_none() => {
                story.prompt(ts, id, &plain(&item["content"]), None)
            }
            Some(kind @ ("CommandExecution" | "FileChange")) => {
                let failed = text(item, "status") != Some("completed");
                let code = item["exit_code"].as_i64().unwrap_or(i64::from(failed));
                self.exits.insert(id.to_owned(), (code, failed));
                // A call that a script made has no row of its own.
                if !self.tools.contains_key(id) {
                    let tool = if kind == "FileChange" {
                        "apply_patch"
                    } else {
                        "exec_command"
                    };
                    let began = ms(payload, "started_at_ms").unwrap_or(ts);
                    let arguments = item
                        .get("command")
                        .or_else(|| item.get("changes"))
                        .cloned()
                        .unwrap_or_default();
                    self.tools.insert(id.to_owned(), (tool.to_owned(), began));
                    story.tool_start(began, id, tool, &arguments, agent_id);
                    let result = text(item, "aggregated_output")
                        .or_else(|| text(item, "stdout"))
                        .unwrap_or_default()
                        .to_owned();
                    let outcome = if failed { "error" } else { "ok" };
                    story.tool_end(
                        ts,
                        id,
                        tool,
                        Ended {
                            outcome,
                            result,
                            duration_ms: None,
                        },
                        agent_id,
                    );
                }
            }
            _ => {}
        }
    }

    fn usage(&mut self, payload: &Value, ts: i64) {
        let Some(key) = text(payload, "response_id") else {
            return;
        };
        if !self.seen.insert(key.to_owned()) {
            return;
        }
        let usage = &payload["usage"];
        let number = |name: &str| usage.get(name).and_then(Value::as_u64);
        let (cached, written) = (
            number("cached_input_tokens"),
            number("cache_write_input_tokens"),
        );
        let call = Billed {
            key: key.to_owned(),
            model: self.model.clone(),
            // Their input contains what was cached.
            input: number("input_tokens")
                .map(|all| all.saturating_sub(cached.unwrap_or(0) + written.unwrap_or(0))),
            cache_read: cached,
            cache_write_5m: written,
            output: number("output_tokens"),
            reasoning: number("reasoning_output_tokens"),
            tool_calls: Some(std::mem::take(&mut self.calls)),
            chars: Some(std::mem::take(&mut self.chars)),
            ..Billed::default()
        };
        let began = self.answer.take().unwrap_or(ts);
        if let Some(story) = &mut self.story {
            // Its tools were seen before its usage, and belong behind it.
            let at = story
                .events
                .iter()
                .rposition(|e| e.kind != "tool_start")
                .map_or(0, |n| n + 1);
            let tools = story.events.split_off(at);
            story.billed(began, call, self.agent_id.as_deref());
            story.events.extend(tools);
        }
    }

    fn finish(self) -> Option<Story> {
        self.story
    }
}

fn outcome(result: &str, exit: Option<(i64, bool)>) -> &'static str {
    // Whole messages: a result may quote any words.
    if result.starts_with("patch rejected: ")
        || (exit.is_none() && result.ends_with("; rejected by user approval settings"))
        || result.starts_with("Command blocked by PreToolUse hook: ")
    {
        return "denied";
    }
    if result
        .strip_prefix("Wall time: ")
        .is_some_and(|rest| rest.ends_with(" seconds\naborted by user"))
        || result == "aborted by user"
    {
        return "cancelled";
    }
    let code = result
        .lines()
        .find_map(|line| {
            line.strip_prefix("Process exited with code ")
                .or_else(|| line.strip_prefix("Exit code: "))
        })
        .and_then(|code| code.trim().parse::<i64>().ok());
    match (code, exit) {
        (Some(code), _) if code != 0 => "error",
        (None, Some((code, failed))) if code != 0 || failed => "error",
        (None, None) if result.contains("verification failed") || result.starts_with("failed") => {
            "error"
        }
        _ => "ok",
    }
}
