//! Gemini CLI: calls have no id, and a denied one has no end.

use serde_json::Value;

use crate::trajectory::agent::{Call, End, Moment, Told, owned, plain, text};

pub(super) fn told(data: &Value) -> Option<Told> {
    let session = text(data, "session_id")?;
    let moment = moment(data)?;
    let mut told = Told::new("gemini", session, text(data, "cwd").unwrap_or("."), moment);
    told.project = std::env::var_os("GEMINI_PROJECT_DIR")
        .filter(|v| !v.is_empty())
        .map(Into::into);
    told.transcript = owned(data, "transcript_path");
    Some(told)
}

fn moment(data: &Value) -> Option<Moment> {
    let word = |name: &str| owned(data, name).unwrap_or_default();
    Some(match text(data, "hook_event_name")? {
        "SessionStart" => Moment::SessionStart {
            source: word("source"),
            mode: None,
        },
        "BeforeAgent" => Moment::Prompt(word("prompt")),
        "BeforeTool" => Moment::Before(call(data)),
        "AfterTool" => {
            let response = &data["tool_response"];
            let result = plain(&response["llmContent"]);
            // A command that failed says so in its output only, and nothing when it did not.
            let exit = result.lines().any(|line| {
                line.strip_prefix("Exit Code: ")
                    .is_some_and(|code| code.trim() != "0")
            });
            let failed = exit || response.get("error").is_some_and(|e| !e.is_null());
            Moment::After(
                call(data),
                End {
                    outcome: if failed { "error" } else { "ok" },
                    result,
                    exec_ms: None,
                },
            )
        }
        "AfterAgent" => Moment::Settled { aborted: false },
        "SessionEnd" => Moment::SessionEnd(word("reason")),
        _ => return None,
    })
}

fn call(data: &Value) -> Call {
    Call {
        id: None,
        tool: owned(data, "tool_name").unwrap_or_default(),
        input: data.get("tool_input").cloned().unwrap_or_default(),
    }
}
