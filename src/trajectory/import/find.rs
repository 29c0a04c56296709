//! Where agents keep their transcripts, and which of them tell of a repository.

use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::enclosing::enclosing;
use crate::trajectory::import::{archive, rows};

/// The files that belong to the session of the transcript `path`: itself, and
/// those of its subagents.
pub(crate) fn companions(agent: &str, path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_owned()];
    match agent {
        "claude" => below(&path.with_extension("").join("subagents"), &mut files),
        "gemini" => {
            // `chats/session-…-<id8>.jsonl` and `chats/<session id>/…`.
            if let Some(id) = session_id(path) {
                let chats = path.parent().unwrap_or(Path::new("."));
                below(&chats.join(&id), &mut files);
                for other in listed(chats) {
                    if other != path && session_id(&other).as_deref() == Some(&id) {
                        files.push(other);
                    }
                }
            }
        }
        "codex" => {
            if let (Some(id), Some(day)) = (codex_session(path), path.parent()) {
                for other in listed(day) {
                    if other != path && codex_session(&other).as_deref() == Some(&id) {
                        files.push(other);
                    }
                }
            }
        }
        _ => {}
    }
    files
}

fn session_id(path: &Path) -> Option<String> {
    first_row(path).and_then(|row| rows::text(&row, "sessionId").map(str::to_owned))
}

fn codex_session(path: &Path) -> Option<String> {
    let row = first_row(path)?;
    rows::text(&row["payload"], "session_id")
        .or_else(|| rows::text(&row["payload"], "id"))
        .map(str::to_owned)
}

fn first_row(path: &Path) -> Option<serde_json::Value> {
    let mut lines = archive::lines(path, 4 << 20).ok()?;
    let (_, text) = lines.next_line().ok()??;
    serde_json::from_slice(text).ok()
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| archive::is_transcript(path))
        .collect();
    found.sort();
    found
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            below(&path, files);
        } else if archive::is_transcript(&path) {
            files.push(path);
        }
    }
}

/// All transcripts of `agent` that this user has.
pub(crate) fn of_user(agent: &str) -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let set = |variable: &str| {
        std::env::var_os(variable)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let mut files = Vec::new();
    match agent {
        "claude" => {
            let base = set("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
            below(&base.join("projects"), &mut files);
        }
        "codex" => {
            let base = set("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
            below(&base.join("sessions"), &mut files);
            below(&base.join("archived_sessions"), &mut files);
        }
        "gemini" => {
            let base = set("GEMINI_CLI_HOME").unwrap_or(home).join(".gemini");
            below(&base.join("tmp"), &mut files);
            files.retain(|path| path.components().any(|part| part.as_os_str() == "chats"));
        }
        "pi" => {
            let base = set("PI_CODING_AGENT_DIR")
                .or_else(|| set("PI_AGENT_DIR"))
                .unwrap_or_else(|| home.join(".pi/agent"));
            below(&base.join("sessions"), &mut files);
        }
        "opencode" => {
            let base = set("OPENCODE_DATA_DIR")
                .or_else(|| set("XDG_DATA_HOME").map(|data| data.join("opencode")))
                .unwrap_or_else(|| home.join(".local/share/opencode"));
            files.push(base.join("opencode.db"));
            files.retain(|path| path.is_file());
        }
        _ => {}
    }
    files
}

/// Whether `cwd` lies in the repository: in a worktree of it, also one that is gone.
pub(crate) fn of_repository(repo: &Repo, cwd: Option<&Path>) -> bool {
    let Some(cwd) = cwd else {
        return false;
    };
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    if repo.worktree().is_some_and(|root| cwd.starts_with(root)) {
        return true;
    }
    enclosing(&cwd).is_some_and(|found| found.common_dir == repo.common_dir())
}
