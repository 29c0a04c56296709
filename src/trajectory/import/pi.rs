//! pi: `sessions/--<folder>--/<time>_<id>.jsonl`, a tree of entries. Forks copy
//! entries; abandoned branches and summaries were paid for too.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::error::Result;
use crate::trajectory::import::call::Billed;
use crate::trajectory::import::rows::{each, ms, plain, text};
use crate::trajectory::import::story::{Ended, Story};

/// Reads the sessions of `files`.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Story>> {
    let mut stories = Vec::new();
    for file in files {
        let mut story: Option<Story> = None;
        let mut tools: HashMap<String, String> = HashMap::new();
        let broken = each(
            file,
            |_| true,
            |row| match (&mut story, text(&row, "type")) {
                (None, Some("session")) => story = begin(&row),
                (Some(story), Some(_)) => entry(story, &mut tools, &row),
                _ => {}
            },
        )?;
        if let Some(mut story) = story {
            story.broken += broken;
            stories.push(story.complete());
        }
    }
    Ok(stories)
}

fn begin(row: &Value) -> Option<Story> {
    let mut story = Story::new("pi", text(row, "id")?);
    if let Some(ts) = ms(row, "timestamp") {
        story.at(ts);
    }
    story.cwd = text(row, "cwd").map(PathBuf::from);
    story.parent = text(row, "parentSession").map(|file| {
        let stem = file
            .rsplit('/')
            .next()
            .unwrap_or(file)
            .trim_end_matches(".jsonl");
        let id = stem.split_once('_').map_or(stem, |(_, id)| id);
        serde_json::json!({"session": id, "call": null})
    });
    Some(story)
}

fn entry(story: &mut Story, tools: &mut HashMap<String, String>, row: &Value) {
    let (Some(native), Some(ts)) = (text(row, "id"), ms(row, "timestamp")) else {
        return;
    };
    let is_copy = story.began.is_some_and(|began| ts < began);
    let own_key = format!("{native}@{}", text(row, "timestamp").unwrap_or_default());
    match text(row, "type") {
        Some("message") => message(story, tools, row, (native, ts, is_copy), own_key),
        Some(kind @ ("compaction" | "branch_summary")) => {
            if kind == "compaction" && !is_copy {
                story.compaction(ts, native, "auto", row["tokensBefore"].as_i64(), None);
            }
            let purpose = if kind == "compaction" {
                "compaction"
            } else {
                "summary"
            };
            if row["usage"].is_null() && !is_copy && row["fromHook"] != true {
                story.unrecorded(ts, native, purpose);
            }
            if let Some(call) = billed(&row["usage"], own_key, String::new()) {
                story.billed(
                    ts,
                    Billed {
                        purpose: Some(purpose),
                        ..call
                    },
                    None,
                );
            }
        }
        _ => {}
    }
}

fn message(
    story: &mut Story,
    tools: &mut HashMap<String, String>,
    row: &Value,
    (native, ts, is_copy): (&str, i64, bool),
    own_key: String,
) {
    let message = &row["message"];
    let content = &message["content"];
    match text(message, "role") {
        Some("user") if !is_copy => story.prompt(ts, native, &plain(content), None),
        Some("assistant") => {
            let uses: Vec<&Value> = content
                .as_array()
                .into_iter()
                .flatten()
                .filter(|b| text(b, "type") == Some("toolCall"))
                .collect();
            if let Some(call) = assistant(message, own_key) {
                story.billed(ts, call, None);
            }
            for block in uses {
                if let (Some(call), Some(tool)) = (text(block, "id"), text(block, "name")) {
                    tools.insert(call.to_owned(), tool.to_owned());
                    if !is_copy {
                        story.tool_start(ts, call, tool, &block["arguments"], None);
                    }
                }
            }
        }
        Some("toolResult") => {
            if let Some(call) = billed(&message["usage"], own_key, String::new()) {
                story.billed(
                    ts,
                    Billed {
                        purpose: Some("tool"),
                        ..call
                    },
                    None,
                );
            }
            if let (Some(call), false) = (text(message, "toolCallId"), is_copy) {
                let failed = message.get("isError") == Some(&Value::Bool(true));
                let ended = Ended {
                    outcome: if failed { "error" } else { "ok" },
                    result: plain(content),
                    duration_ms: message["durationMs"].as_i64(),
                };
                let tool = text(message, "toolName")
                    .unwrap_or_else(|| tools.get(call).map_or("", String::as_str))
                    .to_owned();
                story.tool_end(ts, call, &tool, ended, None);
            }
        }
        _ => {}
    }
}

/// The call that an assistant message was paid for with; `own_key` where the
/// provider gave no id.
pub(crate) fn assistant(message: &Value, own_key: String) -> Option<Billed> {
    let key = text(message, "responseId").map_or(own_key, str::to_owned);
    let model = match (text(message, "provider"), text(message, "model")) {
        (Some(provider), Some(model)) => format!("{provider}/{model}"),
        (_, model) => model.unwrap_or_default().to_owned(),
    };
    let content = message["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let uses = content
        .iter()
        .filter(|b| text(b, "type") == Some("toolCall"))
        .count();
    let chars: usize = content
        .iter()
        .filter_map(|b| text(b, "text"))
        .map(|t| t.chars().count())
        .sum();
    billed(&message["usage"], key, model).map(|call| Billed {
        stop_reason: text(message, "stopReason").map(str::to_owned),
        tool_calls: Some(uses as u64),
        chars: Some(chars as u64),
        ..call
    })
}

/// An attempt that failed has a usage of zeros, and was not billed.
fn billed(usage: &Value, key: String, model: String) -> Option<Billed> {
    let number = |name: &str| usage.get(name).and_then(Value::as_u64);
    let call = Billed {
        key,
        model,
        input: number("input"),
        cache_read: number("cacheRead"),
        cache_write_5m: number("cacheWrite"),
        output: number("output"),
        reasoning: number("reasoning"),
        cost_usd: usage["cost"]["total"].as_f64(),
        ..Billed::default()
    };
    call.total().is_some_and(|total| total > 0).then_some(call)
}
