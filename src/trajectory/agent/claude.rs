//! Claude Code: one payload a hook, with the event's name in it.

use serde_json::{Value, json};

use crate::trajectory::agent::{Call, End, Moment, Told, owned, plain, text};

pub(super) fn told(data: &Value) -> Option<Told> {
    let session = text(data, "session_id")?;
    let moment = moment(data)?;
    let mut told = Told::new("claude", session, text(data, "cwd").unwrap_or("."), moment);
    told.project = std::env::var_os("CLAUDE_PROJECT_DIR")
        .filter(|v| !v.is_empty())
        .map(Into::into);
    told.agent_id = owned(data, "agent_id");
    told.transcript = owned(data, "transcript_path");
    told.model = owned(data, "model");
    Some(told)
}

fn moment(data: &Value) -> Option<Moment> {
    let word = |name: &str| owned(data, name).unwrap_or_default();
    Some(match text(data, "hook_event_name")? {
        "SessionStart" => Moment::SessionStart {
            source: word("source"),
            mode: owned(data, "permission_mode"),
        },
        "UserPromptSubmit" => Moment::Prompt(word("prompt")),
        "PreToolUse" => Moment::Before(call(data)),
        "PermissionRequest" => Moment::Asked(call(data)),
        "PostToolUse" => {
            let response = &data["tool_response"];
            let interrupted = response["interrupted"].as_bool().unwrap_or(false);
            Moment::After(
                call(data),
                End {
                    outcome: if interrupted { "cancelled" } else { "ok" },
                    result: result(response),
                    exec_ms: data["duration_ms"].as_i64(),
                },
            )
        }
        "PostToolUseFailure" => {
            let interrupted = data["is_interrupt"].as_bool().unwrap_or(false);
            Moment::After(
                call(data),
                End {
                    outcome: if interrupted { "cancelled" } else { "error" },
                    result: word("error"),
                    exec_ms: data["duration_ms"].as_i64(),
                },
            )
        }
        "PostToolBatch" => Moment::Batch(
            data["tool_calls"]
                .as_array()?
                .iter()
                .map(|one| (call(one), plain(&one["tool_response"])))
                .collect(),
        ),
        "PostCompact" => Moment::Compaction {
            reason: word("trigger"),
            before: None,
        },
        "Stop" => Moment::Settled { aborted: false },
        "StopFailure" => Moment::Note("stop_failure", json!({"error": data.get("error")})),
        "SubagentStart" => Moment::Note(
            "subagent_start",
            json!({"agent_type": data.get("agent_type")}),
        ),
        // Also fires at the end of a compaction, with no type and no beginning.
        "SubagentStop" if text(data, "agent_type").is_some_and(|t| !t.is_empty()) => Moment::Note(
            "subagent_stop",
            json!({"agent_type": data.get("agent_type")}),
        ),
        "SessionEnd" => Moment::SessionEnd(word("reason")),
        _ => return None,
    })
}

fn call(data: &Value) -> Call {
    Call {
        id: owned(data, "tool_use_id"),
        tool: owned(data, "tool_name").unwrap_or_default(),
        input: data.get("tool_input").cloned().unwrap_or_default(),
    }
}

/// What a person would see of a response: not the whole file before and after.
fn result(response: &Value) -> String {
    match (text(response, "stdout"), text(response, "stderr")) {
        (Some(out), Some(err)) if !err.is_empty() => format!("{out}\n{err}"),
        (Some(out), _) => out.to_owned(),
        _ => match (text(response, "filePath"), response.get("file")) {
            (Some(path), _) => path.to_owned(),
            (None, Some(file)) => owned(file, "content").unwrap_or_default(),
            _ => plain(response),
        },
    }
}
