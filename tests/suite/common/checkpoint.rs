//! Short words for what the checkpoint tests do all the time.

use serde_json::Value;

use super::{Outcome, Repo};

impl Repo {
    /// `git checkpoint save --json <options>`.
    #[track_caller]
    pub(crate) fn save(&self, options: &str) -> Value {
        self.git(&format!("checkpoint save --json {options}"))
            .ok()
            .json()
    }

    /// What an agent's edit looks like: a checkpoint that names the path, then the write.
    #[track_caller]
    pub(crate) fn agent_writes(&self, path: &str, content: &str) {
        self.announce("edit_file", path);
        self.write(path, content);
    }

    /// The checkpoint before an act of an agent.
    #[track_caller]
    pub(crate) fn announce(&self, tool: &str, path: &str) {
        let label = format!("before {tool} {path}");
        self.run([
            "checkpoint",
            "save",
            "-q",
            "-m",
            &label,
            "--tool",
            tool,
            "--path",
            path,
        ])
        .ok();
    }

    /// `git checkpoint undo --json <options>`, exit code not looked at.
    #[track_caller]
    pub(crate) fn undo(&self, options: &str) -> Outcome {
        self.git(&format!("checkpoint undo --json {options}"))
    }

    /// The refs of all checkpoints.
    #[track_caller]
    pub(crate) fn checkpoints(&self) -> Vec<String> {
        self.git("for-each-ref --format='%(refname)' refs/harness/checkpoints")
            .ok()
            .lines()
    }

    /// The tree of the checkpoint `number` of the lane `main`.
    #[track_caller]
    pub(crate) fn tree_of(&self, number: usize) -> String {
        self.oid(&format!(
            "refs/harness/checkpoints/main/{number:03}^{{tree}}"
        ))
    }

    /// One trailer of a checkpoint's message, all its values.
    #[track_caller]
    pub(crate) fn trailer(&self, checkpoint: &str, name: &str) -> Vec<String> {
        let format = format!("--format=%(trailers:key={name},valueonly)");
        self.run(["log", "-1", &format, checkpoint])
            .ok()
            .lines()
            .into_iter()
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// The texts in a JSON array.
#[track_caller]
pub(crate) fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("not an array: {value}"))
        .iter()
        .map(|v| v.as_str().unwrap_or_else(|| panic!("not a text: {v}")))
        .collect()
}

/// The `path` of each `{path, reason}` in a JSON array; each has a reason.
#[track_caller]
pub(crate) fn paths(value: &Value) -> Vec<&str> {
    let all = value
        .as_array()
        .unwrap_or_else(|| panic!("not an array: {value}"));
    for one in all {
        assert!(
            one["reason"].as_str().is_some_and(|r| !r.is_empty()),
            "{one}"
        );
    }
    all.iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect()
}
