//! The lines of a call, written together when it is decided: permission,
//! checkpoint, start, end, in this order, each with the time at which it happened.

use serde_json::{Value, json};

use crate::events::line::{head, masked_arguments, masked_beginning};
use crate::events::{Event, time};
use crate::trajectory::agent::End;
use crate::trajectory::record::state::{Guarded, Open};

/// The events of `open`, which ended with `end`.
pub(super) fn events(open: &Open, end: &End) -> Vec<Event> {
    let now = time::now();
    let of_call = |ts: i64, kind: &str, name: &str, payload: Value| Event {
        ts,
        kind: kind.to_owned(),
        name: name.to_owned(),
        payload: serde_json::from_value(payload).unwrap_or_default(),
        agent_id: open.agent_id.clone(),
        turn: open.turn,
        tool_call_id: Some(open.call.clone()),
        ..Event::default()
    };
    let took = (!open.is_unseen).then(|| (now - open.began).max(0));
    let wait = took
        .zip(end.exec_ms)
        .map(|(took, exec)| (took - exec).max(0));
    let was_denied = end.outcome == "denied";
    let decision = match end.outcome {
        "denied" => "denied",
        "unknown" | "cancelled" => "unknown",
        _ => "allowed",
    };
    let by = if open.asked.is_some() {
        "person"
    } else {
        "rule"
    };
    let mut events = vec![of_call(
        open.began,
        "permission",
        &open.tool,
        json!({
            "tool_call_id": open.call, "decision": decision, "wait_ms": wait,
            "by": if decision == "unknown" { Value::Null } else { by.into() },
        }),
    )];
    for guard in open.guard.all() {
        let fields = checkpoint(open, guard);
        events.push(of_call(guard.taken, "checkpoint", &open.tool, fields));
    }
    // Whoever was asked has answered by now.
    let guarded = open.guard.all().map(|guard| guard.taken).max();
    let started = guarded
        .into_iter()
        .chain(open.asked)
        .fold(open.began, i64::max);
    if !was_denied {
        let start = json!({
            "tool_call_id": open.call, "args": head(&masked_arguments(&open.args)), "args_text": open.args,
        });
        events.push(of_call(started, "tool_start", &open.tool, start));
    }
    let is_error = match end.outcome {
        "unknown" => Value::Null,
        "ok" => false.into(),
        _ => true.into(),
    };
    let is_known = end.outcome != "unknown";
    events.push(of_call(
        now,
        "tool_end",
        &open.tool,
        json!({
            "tool_call_id": open.call,
            "duration_ms": is_known.then_some(()).and(end.exec_ms.or(took)),
            "is_error": is_error,
            "result_chars": is_known.then(|| end.result.chars().count()),
            "exec_ms": end.exec_ms, "wait_ms": wait, "outcome": end.outcome,
            "result_head": is_known.then(|| head(&masked_beginning(&end.result))),
        }),
    ));
    events
}

fn checkpoint(open: &Open, guard: &Guarded) -> Value {
    let mut fields = json!({
        "number": guard.number, "ref": guard.name, "commit": guard.commit, "tool_call_id": open.call, "paths": guard.paths,
        "worktree": guard.worktree,
    });
    if guard.is_taken_back {
        fields = json!({
            "number": null, "ref": null, "commit": null, "tool_call_id": open.call, "paths": guard.paths,
            "why": "the call was refused", "dropped": guard.number,
        });
    } else if let Some(error) = &guard.error {
        fields["error"] = error.as_str().into();
    } else if let Some(why) = &guard.why {
        fields["why"] = why.as_str().into();
    }
    fields
}
