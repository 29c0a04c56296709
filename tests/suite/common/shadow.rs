//! Short words for what the shadow tests do all the time.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Repo;

impl Repo {
    /// `git shadow add <arguments>`; the shadow, seen from its root.
    #[track_caller]
    pub(crate) fn shadow(&self, arguments: &str) -> Repo {
        let added = self.git(&format!("shadow add {arguments}")).ok();
        self.seen_at(printed_path(&added.stdout))
    }

    /// The same scene, seen from the worktree at `root`.
    pub(crate) fn seen_at(&self, root: impl AsRef<Path>) -> Repo {
        Repo {
            root: root.as_ref().to_owned(),
            dir: root.as_ref().to_owned(),
            ..self.clone()
        }
    }

    /// `git shadow show --json <task>`.
    #[track_caller]
    pub(crate) fn shown(&self, task: &str) -> Value {
        self.git(&format!("shadow show --json {task}")).ok().json()
    }

    /// The names of all shadows.
    #[track_caller]
    pub(crate) fn shadows(&self) -> Vec<String> {
        let list = self.git("shadow list --json").ok().json();
        list.as_array()
            .unwrap()
            .iter()
            .map(|one| one["task"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The names of all local branches.
    #[track_caller]
    pub(crate) fn branches(&self) -> Vec<String> {
        self.git("for-each-ref --format='%(refname:short)' refs/heads")
            .ok()
            .lines()
    }

    /// The folders of all worktrees, as git lists them.
    #[track_caller]
    pub(crate) fn worktrees(&self) -> Vec<PathBuf> {
        let listed = self.git("worktree list --porcelain -z").ok();
        listed
            .stdout
            .split(|b| *b == 0)
            .filter_map(|line| line.strip_prefix(b"worktree "))
            .map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
            .collect()
    }

    /// The kinds of what stood against `git shadow remove <arguments>`, which must
    /// have changed nothing.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &str) -> Vec<String> {
        let outcome = self
            .git(&format!("shadow remove --json {arguments}"))
            .fails(1);
        let json = outcome.json();
        assert_eq!(json["removed"], false, "{outcome:?}");
        json["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["kind"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Asserts that nothing of any shadow is left but what `main` had.
    #[track_caller]
    pub(crate) fn has_no_trace_of_shadows(&self) {
        assert_eq!(self.shadows(), [] as [&str; 0]);
        assert_eq!(self.worktrees(), std::slice::from_ref(&self.root));
        assert_eq!(self.branches(), ["main"]);
        let entries = self.common_dir().join("worktrees");
        assert!(!entries.exists(), "{}", entries.display());
        let exclude = std::fs::read_to_string(self.common_dir().join("info/exclude"));
        assert!(!exclude.unwrap_or_default().contains("git shadow"));
        assert_eq!(self.ports(), [] as [u64; 0]);
        self.fsck();
    }

    /// The first port of each block in the user's ledger.
    pub(crate) fn ports(&self) -> Vec<u64> {
        let ledger = self.home().join(".local/state/git-harness/ports.json");
        let Ok(text) = std::fs::read(ledger) else {
            return Vec::new();
        };
        let ledger: Value = serde_json::from_slice(&text).unwrap();
        ledger["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["start"].as_u64().unwrap())
            .collect()
    }
}

/// A path that was printed on a line of its own.
pub(crate) fn printed_path(stdout: &[u8]) -> PathBuf {
    let line = stdout.strip_suffix(b"\n").unwrap_or(stdout);
    PathBuf::from(std::ffi::OsStr::from_bytes(line))
}
