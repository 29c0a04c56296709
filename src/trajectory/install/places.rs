//! Where each agent reads its hooks.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::error::{Context, Result, bail};

/// For whom the hook is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// For this user, in every repository
    User,
    /// For everyone who works in this repository
    Project,
    /// For this user in this repository
    Local,
}

/// The file of `agent` in which a hook for `scope` belongs; `root` is the worktree.
pub(crate) fn place(agent: &str, scope: Scope, root: Option<&Path>) -> Result<PathBuf> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let set = |variable: &str| {
        std::env::var_os(variable)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let own = |variable: &str, folder: &str| -> Result<PathBuf> {
        match set(variable) {
            Some(path) => Ok(path),
            None => Ok(home.clone().context("HOME is not set")?.join(folder)),
        }
    };
    let project = || root.context("this is no repository with a working tree");
    Ok(match (agent, scope) {
        ("claude", Scope::User) => own("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
        ("claude", Scope::Project) => project()?.join(".claude/settings.json"),
        ("claude", Scope::Local) => project()?.join(".claude/settings.local.json"),
        ("codex", Scope::User) => own("CODEX_HOME", ".codex")?.join("hooks.json"),
        ("codex", Scope::Project) => project()?.join(".codex/hooks.json"),
        ("gemini", Scope::User) => match set("GEMINI_CLI_HOME") {
            Some(base) => base.join(".gemini/settings.json"),
            None => own("", ".gemini")?.join("settings.json"),
        },
        ("gemini", Scope::Project) => project()?.join(".gemini/settings.json"),
        ("pi", Scope::User) => {
            own("PI_CODING_AGENT_DIR", ".pi/agent")?.join("extensions/git-trajectory.ts")
        }
        ("pi", Scope::Project) => project()?.join(".pi/extensions/git-trajectory.ts"),
        ("opencode", Scope::User) => match set("OPENCODE_CONFIG_DIR") {
            Some(base) => base.join("plugins/git-trajectory.js"),
            None => own("XDG_CONFIG_HOME", ".config")?.join("opencode/plugins/git-trajectory.js"),
        },
        ("opencode", Scope::Project) => project()?.join(".opencode/plugins/git-trajectory.js"),
        (agent, Scope::Local) => bail!("{agent} has no settings for one user in one repository"),
        (other, _) => bail!(
            "the agent '{other}' is not known: one of {} is expected",
            crate::trajectory::agent::AGENTS.join(", ")
        ),
    })
}

/// Whether the file at `path` calls our hook for `agent`.
pub(crate) fn is_installed(path: &Path, agent: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else {
        return false;
    };
    text.contains("git-trajectory")
        && (text.contains(&format!("hook {agent}")) || text.contains(super::extension::MARK))
}
