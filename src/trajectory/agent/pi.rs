//! pi: the events of its extension, which come one after another.

use serde_json::Value;

use crate::events::time;
use crate::trajectory::agent::{Call, End, Moment, Told, owned, plain, text};
use crate::trajectory::import::pi_answer;

pub(super) fn told(event: &str, session: &str, cwd: &str, data: &Value) -> Option<Told> {
    let moment = moment(event, data)?;
    let mut told = Told::new("pi", session, cwd, moment);
    told.transcript = owned(data, "sessionFile");
    told.model = owned(data, "model");
    Some(told)
}

fn moment(event: &str, data: &Value) -> Option<Moment> {
    let word = |name: &str| owned(data, name).unwrap_or_default();
    let turn = || {
        data["turnIndex"]
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(0)
    };
    Some(match event {
        "session_start" => Moment::SessionStart {
            source: word("reason"),
            mode: owned(data, "mode"),
        },
        "before_agent_start" => Moment::Prompt(word("prompt")),
        "turn_start" => Moment::TurnStart(turn()),
        "turn_end" => Moment::TurnEnd {
            turn: turn(),
            tool_results: data["toolResults"].as_u64().unwrap_or(0),
        },
        "message_end" => {
            let message = &data["message"];
            let made = message["timestamp"].as_i64().unwrap_or_else(time::now);
            // Without an id of the provider the call cannot be told from another.
            Moment::Answer(pi_answer(message, format!("pi@{made}"))?)
        }
        "tool_call" => Moment::Before(call(data)),
        "tool_execution_end" => {
            let result = plain(&data["result"]["content"]);
            let failed = data["isError"].as_bool().unwrap_or(false);
            // An end without a result is a refusal, once our own `tool_call` was seen.
            let refused = failed
                && data["sawResult"].as_bool() == Some(false)
                && !(result.starts_with("Tool ") && result.ends_with(" not found"));
            let outcome = match (refused, failed) {
                (true, _) => "denied",
                (_, true) => "error",
                _ => "ok",
            };
            Moment::After(
                call(data),
                End {
                    outcome,
                    result,
                    exec_ms: data["durationMs"].as_i64(),
                },
            )
        }
        "session_compact" => Moment::Compaction {
            reason: word("reason"),
            before: data["compactionEntry"]["tokensBefore"].as_i64(),
        },
        "agent_settled" | "agent_end" => Moment::Settled {
            aborted: data["aborted"].as_bool().unwrap_or(false),
        },
        "session_shutdown" => Moment::SessionEnd(text(data, "reason").unwrap_or("quit").to_owned()),
        _ => return None,
    })
}

fn call(data: &Value) -> Call {
    Call {
        id: owned(data, "toolCallId"),
        tool: owned(data, "toolName").unwrap_or_default(),
        input: data
            .get("input")
            .or_else(|| data.get("args"))
            .cloned()
            .unwrap_or_default(),
    }
}
