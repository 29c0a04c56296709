//! Whether this worktree is a shadow: one task works there and nobody else. Its
//! record and the lease of what runs in it lie beside those of the lanes.

use std::fs::File;

use crate::git::Repo;

impl Repo {
    /// Whether this worktree was made by `git shadow add`.
    pub fn is_shadow(&self) -> bool {
        self.shadow_file("json").is_some_and(|file| file.exists())
    }

    /// Whether a command started by `git shadow run` is running here.
    pub fn shadow_is_leased(&self) -> bool {
        self.shadow_file("lease")
            .and_then(|path| File::open(path).ok())
            .is_some_and(|file| file.try_lock().is_err())
    }

    fn shadow_file(&self, extension: &str) -> Option<std::path::PathBuf> {
        let mut name = self.git_dir().file_name()?.to_owned();
        name.push(".");
        name.push(extension);
        let file = self.shared_state().join("shadows").join(name);
        self.is_linked().then_some(file)
    }
}
