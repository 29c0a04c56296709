//! A repository like the one in which the payloads were recorded, and how they
//! are played again.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::Repo;
use super::trajectory_import::fixtures;

/// A repository like the one in which the payloads were recorded, and the
/// agent's transcript beside it.
pub(crate) struct Scene {
    pub(crate) repo: Repo,
    pub(crate) agent: &'static str,
    scenario: &'static str,
}

impl Scene {
    pub(crate) fn new(agent: &'static str, scenario: &'static str) -> Self {
        let repo = Repo::with(&[("README.md", "# app\n\nA tiny project.\n")]);
        Scene {
            repo,
            agent,
            scenario,
        }
    }

    /// The recorded events, with the paths of this place.
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        let folder = fixtures().join(self.agent).join(self.scenario);
        let text = fs::read_to_string(folder.join("hooks.jsonl")).unwrap();
        let text = text.replace("/home/dev/app", self.repo.root().to_str().unwrap());
        text.lines()
            .map(|line| {
                let mut event: Value = serde_json::from_str(line).unwrap();
                let stdin = event["stdin"].take();
                (
                    event["event"].as_str().unwrap().to_owned(),
                    self.with_transcript(stdin),
                )
            })
            .collect()
    }

    pub(crate) fn with_transcript(&self, mut data: Value) -> Value {
        if let Some(path) = data.get("transcript_path").and_then(Value::as_str) {
            let name = PathBuf::from(path).file_name().unwrap().to_owned();
            let folder = fixtures()
                .join(self.agent)
                .join(self.scenario)
                .join("transcript");
            if let Some(found) = find(&folder, &name) {
                data["transcript_path"] = found.to_str().unwrap().into();
            }
        }
        data
    }

    /// Gives one payload to the hook, which says nothing.
    #[track_caller]
    pub(crate) fn tell(&self, data: &Value) {
        self.repo
            .feed(&format!("trajectory hook {}", self.agent), data.to_string())
            .ok()
            .silent();
    }

    /// Plays all events; the tool's write happens where it happened.
    #[track_caller]
    pub(crate) fn play(&self) {
        for (event, data) in self.events() {
            if matches!(event.as_str(), "PostToolUse" | "AfterTool") {
                self.write(&data);
            }
            self.tell(&data);
        }
    }

    /// What the tool of `data` did.
    pub(crate) fn write(&self, data: &Value) {
        let input = &data["tool_input"];
        if let (Some(path), Some(content)) =
            (input["file_path"].as_str(), input["content"].as_str())
        {
            fs::write(self.repo.root().join(path), content).unwrap();
        }
    }

    pub(crate) fn log(&self) -> Vec<Value> {
        let folder = self.repo.path(".git/harness/trajectories");
        let live = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| {
                path.extension().is_some_and(|e| e == "jsonl")
                    && !path.to_str().unwrap().ends_with(".import.jsonl")
            })
            .unwrap();
        fs::read_to_string(live)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The kinds of a call's lines, in the order of the file.
    pub(crate) fn of_call(&self, call: &str) -> Vec<String> {
        let of = |event: &Value| event["tool_call_id"] == call;
        self.log()
            .iter()
            .filter(|e| of(e))
            .map(|e| e["type"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The labels of the checkpoints.
    pub(crate) fn checkpoints(&self) -> Vec<String> {
        let list = self.repo.git("checkpoint list --json").ok().json();
        list.as_array()
            .unwrap()
            .iter()
            .map(|c| c["label"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn has_no_trouble(&self) {
        let log = self.repo.path(".git/harness/hook-errors.log");
        assert!(!log.exists(), "{}", fs::read_to_string(log).unwrap());
    }
}

fn find(folder: &Path, name: &std::ffi::OsStr) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name) {
                return Some(found);
            }
        } else if path.file_name() == Some(name) {
            return Some(path);
        }
    }
    None
}

/// The files below `folder` that have `part` in their bytes or their name, whatever they
/// hold, relative to it.
pub(crate) fn files_with(folder: &Path, part: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(folder)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            let holds = bytes.windows(part.len()).any(|w| w == part.as_bytes());
            if holds || name.contains(part) {
                found.push(name);
            }
        }
    }
    found
}
