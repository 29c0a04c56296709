//! A session and its files. An id comes from outside, so its name on disk is
//! made of harmless bytes only.

use std::path::{Path, PathBuf};

use crate::error::{Result, hinted};
use crate::events::id;
use crate::events::mask::secrets;
use crate::git::Repo;

/// What an agent calls a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session {
    /// The agent's short name: `claude`, `codex`, `gemini`, `opencode`, `pi`, or the name of a harness.
    pub agent: String,
    /// The agent's own id of it.
    pub id: String,
}

/// The longest file name of a session, before its ending.
const LONGEST: usize = 100;

impl Session {
    /// The session `id` of `agent`.
    pub fn new(agent: impl Into<String>, id: impl Into<String>) -> Self {
        Session {
            agent: agent.into(),
            id: without_secret(id.into()),
        }
    }

    /// The name of its files, without folder and ending.
    pub fn stem(&self) -> String {
        let name = file_name(&format!("{}-{}", self.agent, self.id));
        // The ending of what was imported is no part of an id.
        match name.strip_suffix(".import") {
            Some(rest) => format!("{rest}%2Eimport"),
            None => name,
        }
    }

    /// Its live log.
    pub fn log(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.jsonl", self.stem()))
    }

    /// What was imported of it from the agent's own transcript.
    pub fn import(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.import.jsonl", self.stem()))
    }

    /// What a hook must know between two events.
    pub fn state(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.state", self.stem()))
    }
}

/// An id with a secret in it is told by its hash: it stands in names of files, in labels
/// and in the mirror.
pub fn without_secret(id: String) -> String {
    if secrets(id.as_bytes()).is_empty() {
        id
    } else {
        format!("masked-{}", &id::hash(&[&id])[..16])
    }
}

/// `name` in bytes that every file system takes: others percent-encoded, a long
/// rest replaced by a hash.
pub fn file_name(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        let plain =
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0);
        if plain {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    if text.len() > LONGEST {
        let hash = id::hash(&[name]);
        text.truncate(LONGEST - 17);
        text.push('-');
        text.push_str(&hash[..16]);
    }
    text
}

/// The session `id`, by the log that is there of it.
pub fn find(repo: &Repo, id: &str) -> Option<Session> {
    let id = without_secret(id.to_owned());
    let wanted = file_name(&id);
    let mut found = Vec::new();
    if let Ok(entries) = std::fs::read_dir(folder(repo)) {
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".jsonl") else {
                continue;
            };
            let stem = stem.strip_suffix(".import").unwrap_or(stem);
            if let Some((agent, rest)) = stem.split_once('-')
                && (rest == wanted || stem == wanted || Session::new(agent, &id).stem() == stem)
            {
                found.push(if stem == wanted {
                    Session::new(agent, rest)
                } else {
                    Session::new(agent, &id)
                });
            }
        }
    }
    found.sort();
    found.into_iter().next()
}

/// Where the logs of `repo` are.
pub fn folder(repo: &Repo) -> PathBuf {
    repo.shared_state().join("trajectories")
}

/// Where the logs of runs are.
pub fn runs_folder(repo: &Repo) -> PathBuf {
    repo.shared_state().join("runs")
}

/// The mirror of all logs.
pub fn mirror(repo: &Repo) -> PathBuf {
    repo.shared_state().join("trajectory").with_extension("db")
}

/// Refuses a place that a `git add` could pick up: a git folder that lies in a
/// working tree under another name than `.git`.
///
/// # Errors
/// When logs would lie among versioned files.
pub fn require_private(repo: &Repo) -> Result<()> {
    let Some(root) = repo.worktree() else {
        return Ok(());
    };
    let Ok(inside) = repo.common_dir().strip_prefix(root) else {
        return Ok(());
    };
    if inside.components().any(|part| part.as_os_str() == ".git") {
        return Ok(());
    }
    Err(hinted(
        format!(
            "the log would lie inside the working tree, in '{}'",
            repo.common_dir().display()
        ),
        "move the git folder out of it, or name it .git",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_the_folder() {
        assert_eq!(
            Session::new("claude", "../../x").stem(),
            "claude-..%2F..%2Fx"
        );
        assert_eq!(file_name(".hidden"), "%2Ehidden");
        assert_eq!(Session::new("pi", "x.import").stem(), "pi-x%2Eimport");
        assert_eq!(file_name("a b\0ü"), "a%20b%00%C3%BC");
    }

    #[test]
    fn a_long_id_keeps_its_difference() {
        let (a, b) = ("x".repeat(300) + "a", "x".repeat(300) + "b");
        assert_eq!(file_name(&a).len(), LONGEST);
        assert_ne!(file_name(&a), file_name(&b));
    }
}
