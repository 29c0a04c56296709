//! What agents tell a hook, in one vocabulary: one file an agent.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
mod told;
pub(super) mod tools;

use serde_json::Value;

pub(super) use told::{Call, End, Moment, Told};
use told::{owned, plain, text};
pub(super) use tools::Tools;

/// The agents that can be hooked.
pub(super) const AGENTS: &[&str] = &["claude", "codex", "gemini", "opencode", "pi"];

/// What the payload `data` of a hook of `agent` tells; `None` for what is of no interest.
pub(super) fn told(agent: &str, data: &Value) -> Option<Told> {
    match agent {
        "claude" => claude::told(data),
        "codex" => codex::told(data),
        "gemini" => gemini::told(data),
        _ => None,
    }
}

/// An event of `agent` in `cwd` that says no more than that something may be written.
pub(super) fn unreadable(agent: &str, cwd: &str) -> Told {
    Told::new(agent, "", cwd, Moment::Unreadable)
}

/// What a line of the stream of `agent`'s extension tells: event, session, folder, data.
pub(super) fn streamed(
    agent: &str,
    event: &str,
    session: &str,
    cwd: &str,
    data: &Value,
) -> Option<Told> {
    match agent {
        "pi" => pi::told(event, session, cwd, data),
        "opencode" => opencode::told(event, session, cwd, data),
        _ => None,
    }
}
