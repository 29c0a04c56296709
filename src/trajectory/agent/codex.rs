//! Codex CLI: payloads like Claude Code's, with fewer events and less in them.

use serde_json::{Value, json};

use crate::trajectory::agent::{Call, End, Moment, Told, owned, plain, text};

pub(super) fn told(data: &Value) -> Option<Told> {
    let session = text(data, "session_id")?;
    let moment = moment(data)?;
    let mut told = Told::new("codex", session, text(data, "cwd").unwrap_or("."), moment);
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
            let result = plain(&data["tool_response"]);
            // No hook has the exit code; a patch says it in its first line.
            let failed = result
                .strip_prefix("Exit code: ")
                .is_some_and(|rest| !rest.starts_with('0'));
            Moment::After(
                call(data),
                End {
                    outcome: if failed { "error" } else { "ok" },
                    result,
                    exec_ms: None,
                },
            )
        }
        "PostCompact" => Moment::Compaction {
            reason: word("trigger"),
            before: None,
        },
        "Stop" => Moment::Settled { aborted: false },
        "Interrupt" => Moment::Interrupted,
        "SubagentStart" => Moment::Note(
            "subagent_start",
            json!({"agent_type": data.get("agent_type")}),
        ),
        "SubagentStop" => Moment::Note(
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
