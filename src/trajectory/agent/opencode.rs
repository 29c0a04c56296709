//! opencode: the hooks around tools and the events of its bus.

use serde_json::{Value, json};

use crate::trajectory::agent::{Call, End, Moment, Told, owned, plain, text};
use crate::trajectory::import::{opencode_answer, opencode_refusal, opencode_unquoted};

pub(super) fn told(event: &str, session: &str, cwd: &str, data: &Value) -> Option<Told> {
    let moment = moment(event, data)?;
    let mut told = Told::new("opencode", session, cwd, moment);
    told.parent = owned(&data["info"], "parentID").filter(|_| event == "session.created");
    Some(told)
}

fn moment(event: &str, data: &Value) -> Option<Moment> {
    Some(match event {
        "session.created" => Moment::SessionStart {
            source: "startup".to_owned(),
            mode: None,
        },
        "chat.message" => Moment::Prompt(opencode_unquoted(text(data, "text")?).to_owned()),
        "tool.execute.before" => Moment::Before(call(data)),
        "tool.execute.after" => {
            let failed = data["metadata"]["exit"]
                .as_i64()
                .is_some_and(|code| code != 0)
                || text(data, "tool") == Some("invalid");
            let end = End {
                outcome: if failed { "error" } else { "ok" },
                result: plain(&data["output"]),
                exec_ms: None,
            };
            Moment::After(call(data), end)
        }
        "permission.asked" => Moment::Asked(call(data)),
        "permission.replied" => Moment::Note(
            "permission_reply",
            json!({"reply": data.get("reply"), "request": data.get("requestID")}),
        ),
        // A tool that threw or was refused: the only word of it.
        "tool.error" => {
            let why = plain(&data["error"]);
            Moment::After(
                call(data),
                End {
                    outcome: opencode_refusal(&why),
                    result: why,
                    exec_ms: None,
                },
            )
        }
        "message.updated" => Moment::Answer(opencode_answer(&data["info"])?),
        "session.compacted" => Moment::Compaction {
            reason: "auto".to_owned(),
            before: None,
        },
        "session.idle" => Moment::Settled { aborted: false },
        "dispose" => Moment::SessionEnd("exit".to_owned()),
        _ => return None,
    })
}

fn call(data: &Value) -> Call {
    Call {
        id: owned(data, "callID"),
        tool: owned(data, "tool").unwrap_or_default(),
        input: data.get("args").cloned().unwrap_or_default(),
    }
}
