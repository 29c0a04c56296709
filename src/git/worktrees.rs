//! The worktrees of a repository, as git lists them.

use crate::error::Result;
use crate::git::Repo;

/// How often git is asked while others remove worktrees.
const TRIES: u32 = 20;

impl Repo {
    /// What `git worktree list --porcelain -z` prints. An entry that goes while git
    /// looks at it ends some versions of git ("Invalid path"): then it is asked again.
    ///
    /// # Errors
    /// When git cannot list them.
    pub fn listed_worktrees(&self) -> Result<Vec<u8>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.git(["worktree", "list", "--porcelain", "-z"]).stdout() {
                Err(error) if tries < TRIES && is_gone(&error) => {}
                listed => return listed,
            }
        }
    }
}

fn is_gone(error: &crate::error::Error) -> bool {
    let text = format!("{error:#}");
    text.contains("/worktrees/") && text.contains("No such file or directory")
}
