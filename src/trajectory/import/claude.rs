//! Claude Code: `projects/<folder>/<session>.jsonl`, subagents in
//! `<session>/subagents/`. One answer stands in several rows, each with the
//! whole usage; a fork repeats its parent's rows under its own session id.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::error::Result;
use crate::trajectory::import::call::Billed;
use crate::trajectory::import::rows::{each, has, ms, plain, text};
use crate::trajectory::import::story::{Ended, Story};

/// Reads the sessions of `files`.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Story>> {
    let mut stories: Vec<Story> = Vec::new();
    for file in files {
        let mut reading = Reading::default();
        let broken = each(file, is_wanted, |row| reading.row(&row))?;
        if let Some(story) = reading.finish() {
            match stories
                .iter_mut()
                .find(|known| known.session == story.session)
            {
                Some(known) => {
                    known.events.extend(story.events);
                    known.broken += story.broken;
                    known.began = known.began.min(story.began).or(known.began).or(story.began);
                }
                None => stories.push(story),
            }
        }
        if let Some(last) = stories.last_mut() {
            last.broken += broken;
        }
    }
    for story in &mut stories {
        story.events.sort_by_key(|event| event.ts);
    }
    Ok(stories.into_iter().map(Story::complete).collect())
}

/// Most bytes are repeated prompts and blobs, which are never parsed.
fn is_wanted(row: &[u8]) -> bool {
    !has(&row[..row.len().min(64)], "\"api-request")
        && (has(row, "\"type\":\"assistant\"")
            || has(row, "\"type\":\"user\"")
            || has(row, "\"type\":\"system\"")
            || has(row, "\"type\":\"queue-operation\""))
}

#[derive(Default)]
struct Reading {
    story: Option<Story>,
    answers: HashMap<String, usize>,
    calls: Vec<(i64, Billed, Option<String>)>,
    tools: HashMap<String, String>,
}

impl Reading {
    fn row(&mut self, row: &Value) {
        let Some(session) = text(row, "sessionId") else {
            return;
        };
        let story = self
            .story
            .get_or_insert_with(|| Story::new("claude", session));
        let Some(ts) = ms(row, "timestamp") else {
            return;
        };
        // The first row is the session's own; a fork's copies are older.
        story.began.get_or_insert(ts);
        if story.cwd.is_none() {
            story.cwd = text(row, "cwd").map(PathBuf::from);
        }
        let agent_id =
            text(row, "agentId").filter(|_| row.get("isSidechain") == Some(&Value::Bool(true)));
        let native = text(row, "uuid").unwrap_or_default();
        match text(row, "type") {
            Some("assistant") => self.assistant(row, ts, agent_id),
            Some("user") => self.user(row, ts, native, agent_id),
            Some("system") if text(row, "subtype") == Some("compact_boundary") => {
                let meta = &row["compactMetadata"];
                story.compaction(
                    ts,
                    native,
                    text(meta, "trigger").unwrap_or("unknown"),
                    meta["preTokens"].as_i64(),
                    meta["postTokens"].as_i64(),
                );
                story.unrecorded(ts, native, "compaction");
            }
            _ => {}
        }
    }

    fn assistant(&mut self, row: &Value, ts: i64, agent_id: Option<&str>) {
        let message = &row["message"];
        let (Some(key), Some(model)) = (text(message, "id"), text(message, "model")) else {
            return;
        };
        if model == "<synthetic>" {
            return;
        }
        let usage = &message["usage"];
        let number = |name: &str| usage.get(name).and_then(Value::as_u64);
        let written = &usage["cache_creation"];
        let (short, long) = match (
            written["ephemeral_5m_input_tokens"].as_u64(),
            written["ephemeral_1h_input_tokens"].as_u64(),
        ) {
            (None, None) => (number("cache_creation_input_tokens"), None),
            split => split,
        };
        let blocks = message["content"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let uses = blocks
            .iter()
            .filter(|b| text(b, "type") == Some("tool_use"));
        let chars: usize = blocks
            .iter()
            .filter_map(|b| text(b, "text"))
            .map(|t| t.chars().count())
            .sum();
        let found = Billed {
            key: key.to_owned(),
            model: model.to_owned(),
            input: number("input_tokens"),
            cache_read: number("cache_read_input_tokens"),
            cache_write_5m: short,
            cache_write_1h: long,
            output: number("output_tokens"),
            reasoning: usage["output_tokens_details"]["thinking_tokens"].as_u64(),
            cost_usd: row.get("costUSD").and_then(Value::as_f64),
            stop_reason: text(message, "stop_reason").map(str::to_owned),
            tool_calls: Some(uses.clone().count() as u64),
            chars: Some(chars as u64),
            ..Billed::default()
        };
        match self.answers.get(key) {
            Some(n) => {
                let known = &mut self.calls[*n].1;
                let (tools, chars) = (known.tool_calls, known.chars);
                // A later row has the usage of the finished answer.
                if found.total() >= known.total() {
                    *known = Billed {
                        reasoning: known.reasoning.and(found.reasoning),
                        ..found.clone()
                    };
                }
                known.tool_calls = Some(tools.unwrap_or(0) + found.tool_calls.unwrap_or(0));
                known.chars = Some(chars.unwrap_or(0) + found.chars.unwrap_or(0));
            }
            None => {
                self.answers.insert(key.to_owned(), self.calls.len());
                self.calls.push((ts, found, agent_id.map(str::to_owned)));
            }
        }
        let Some(story) = &mut self.story else { return };
        for block in uses {
            if let (Some(call), Some(tool)) = (text(block, "id"), text(block, "name"))
                && self
                    .tools
                    .insert(call.to_owned(), tool.to_owned())
                    .is_none()
                && !is_copy(story, ts)
            {
                story.tool_start(ts, call, tool, &block["input"], agent_id);
            }
        }
    }

    fn user(&mut self, row: &Value, ts: i64, native: &str, agent_id: Option<&str>) {
        let Some(story) = &mut self.story else { return };
        if is_copy(story, ts) {
            return;
        }
        let is_true = |name: &str| row.get(name) == Some(&Value::Bool(true));
        let content = &row["message"]["content"];
        let results = content
            .as_array()
            .into_iter()
            .flatten()
            .filter(|b| text(b, "type") == Some("tool_result"));
        let mut has_results = false;
        for block in results {
            has_results = true;
            let Some(call) = text(block, "tool_use_id") else {
                continue;
            };
            let outcome = match text(row, "toolDenialKind") {
                // Stopped with Esc while it ran looks like a refusal, but for these two.
                Some("user-rejected")
                    if !is_true("toolDenialBeforeRun")
                        && row.get("permissionDecision").is_none() =>
                {
                    "cancelled"
                }
                Some(_) => "denied",
                None if block.get("is_error") == Some(&Value::Bool(true)) => "error",
                None => "ok",
            };
            let tool = self.tools.get(call).map_or("", String::as_str);
            let ended = Ended {
                outcome,
                result: plain(&block["content"]),
                duration_ms: None,
            };
            story.tool_end(ts, call, tool, ended, agent_id);
        }
        let said = plain(content);
        let by_program = is_true("isMeta")
            || is_true("isCompactSummary")
            || said.starts_with("<command-")
            || said.starts_with("<local-command")
            || said.starts_with("[Request interrupted");
        if !has_results && !by_program && !said.is_empty() && agent_id.is_none() {
            story.prompt(ts, native, &said, None);
        }
    }

    fn finish(self) -> Option<Story> {
        let mut story = self.story?;
        for (ts, call, agent_id) in self.calls {
            story.billed(ts, call, agent_id.as_deref());
        }
        Some(story)
    }
}

fn is_copy(story: &Story, ts: i64) -> bool {
    story.began.is_some_and(|began| ts < began)
}
