//! The hooks in a settings file of JSON. What else is in it stays as it is.

use serde_json::{Map, Value, json};

use crate::error::{Result, bail};

/// An event, whether its hooks have a matcher, and its time limit in the agent's own unit.
type Event = (&'static str, bool, u64);

/// What Claude Code calls us for (seconds). One that fires for each chunk, or
/// that would replace the making of worktrees, is never among them.
const CLAUDE: &[Event] = &[
    ("SessionStart", true, 10),
    ("UserPromptSubmit", false, 10),
    ("PreToolUse", true, 10),
    ("PermissionRequest", true, 10),
    ("PostToolUse", true, 10),
    ("PostToolUseFailure", true, 10),
    ("PostToolBatch", false, 10),
    ("SubagentStart", true, 10),
    ("SubagentStop", true, 10),
    ("PostCompact", true, 10),
    ("Stop", false, 10),
    ("StopFailure", true, 10),
    ("SessionEnd", true, 10),
];

/// What Codex calls us for (seconds; it cuts the last two to 3).
const CODEX: &[Event] = &[
    ("SessionStart", false, 10),
    ("UserPromptSubmit", false, 10),
    ("PreToolUse", true, 10),
    ("PermissionRequest", true, 10),
    ("PostToolUse", true, 10),
    ("PreCompact", false, 10),
    ("PostCompact", false, 10),
    ("SubagentStart", false, 10),
    ("SubagentStop", false, 10),
    ("Stop", false, 10),
    ("SessionEnd", false, 3),
    ("Interrupt", false, 3),
];

/// What Gemini CLI calls us for (milliseconds).
const GEMINI: &[Event] = &[
    ("SessionStart", true, 10_000),
    ("BeforeAgent", true, 10_000),
    ("BeforeTool", true, 10_000),
    ("AfterTool", true, 10_000),
    ("AfterAgent", true, 10_000),
    ("SessionEnd", true, 10_000),
];

fn events(agent: &str) -> &'static [Event] {
    match agent {
        "codex" => CODEX,
        "gemini" => GEMINI,
        _ => CLAUDE,
    }
}

/// `settings` with our hooks for `agent`, run by `command`; ours of another
/// version are replaced.
///
/// # Errors
/// When `hooks` is something else than the agent documents.
pub(super) fn with_hooks(settings: &Value, agent: &str, command: &str) -> Result<Value> {
    let mut settings = without_hooks(settings, agent)?;
    let Value::Object(fields) = &mut settings else {
        bail!("the settings are no JSON object");
    };
    let hooks = fields.entry("hooks").or_insert_with(|| json!({}));
    let Value::Object(hooks) = hooks else {
        bail!("'hooks' in the settings is no object");
    };
    for (event, matches, timeout) in events(agent) {
        let mut entry = Map::new();
        if *matches {
            entry.insert("matcher".to_owned(), "*".into());
        }
        let mut hook = json!({"type": "command", "command": command, "timeout": timeout});
        if agent == "gemini" {
            hook["name"] = "git-trajectory".into();
        }
        entry.insert("hooks".to_owned(), json!([hook]));
        match hooks.entry(*event).or_insert_with(|| json!([])) {
            Value::Array(list) => list.push(entry.into()),
            _ => bail!("'hooks.{event}' in the settings is no list"),
        }
    }
    Ok(settings)
}

/// `settings` without our hooks for `agent`; what is empty then goes too.
///
/// # Errors
/// When the settings are no JSON object.
pub(super) fn without_hooks(settings: &Value, agent: &str) -> Result<Value> {
    let mut settings = settings.clone();
    let Value::Object(fields) = &mut settings else {
        bail!("the settings are no JSON object");
    };
    let Some(Value::Object(hooks)) = fields.get_mut("hooks") else {
        return Ok(settings);
    };
    let had = !hooks.is_empty();
    for list in hooks.values_mut().filter_map(Value::as_array_mut) {
        for entry in list.iter_mut() {
            if let Some(Value::Array(own)) = entry.get_mut("hooks") {
                own.retain(|hook| !is_ours(hook, agent));
            }
        }
        list.retain(|entry| {
            entry
                .get("hooks")
                .and_then(Value::as_array)
                .is_none_or(|own| !own.is_empty())
        });
    }
    hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
    if had && hooks.is_empty() {
        fields.shift_remove("hooks");
    }
    Ok(settings)
}

fn is_ours(hook: &Value, agent: &str) -> bool {
    hook.get("command")
        .and_then(Value::as_str)
        .is_some_and(|command| {
            command.contains("git-trajectory") && command.ends_with(&format!(" hook {agent}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_in_its_order() {
        let before = json!({"z": 1, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}, "a": [2]});
        let with =
            with_hooks(&before, "claude", "/bin/git-trajectory hook claude").expect("merged");
        assert_eq!(
            with.as_object()
                .expect("an object")
                .keys()
                .collect::<Vec<_>>(),
            ["z", "hooks", "a"]
        );
        assert_eq!(with["hooks"]["Stop"][0]["hooks"][0]["command"], "beep");
        assert_eq!(with["hooks"]["PreToolUse"][0]["matcher"], "*");
        assert_eq!(
            with_hooks(&with, "claude", "/bin/git-trajectory hook claude").expect("again"),
            with
        );
        assert_eq!(without_hooks(&with, "claude").expect("taken out"), before);
    }

    #[test]
    fn nothing_is_left_of_what_was_only_ours() {
        let with =
            with_hooks(&json!({}), "gemini", "x/git-trajectory hook gemini").expect("merged");
        assert_eq!(
            with["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"],
            10_000
        );
        assert_eq!(
            without_hooks(&with, "gemini").expect("taken out"),
            json!({})
        );
    }
}
