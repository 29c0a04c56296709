//! Where a path belongs, by the files that git itself looks for: no
//! configuration is read and no process started, so that a hook can ask at each
//! event.

use std::path::{Path, PathBuf};

/// A worktree found by walking up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosing {
    /// The worktree's root.
    pub worktree: PathBuf,
    /// Its git folder.
    pub git_dir: PathBuf,
    /// The git folder that all worktrees share.
    pub common_dir: PathBuf,
}

/// The worktree that holds `path`, which need not exist. `None` outside of any
/// worktree, and where a `.git` cannot be followed.
pub fn enclosing(path: &Path) -> Option<Enclosing> {
    let start = path.ancestors().find_map(|p| p.canonicalize().ok())?;
    start.ancestors().find_map(|folder| {
        let dot_git = folder.join(".git");
        let found = std::fs::symlink_metadata(&dot_git).ok()?;
        let git_dir = if found.is_file() {
            let text = std::fs::read_to_string(&dot_git).ok()?;
            let target = text.strip_prefix("gitdir: ")?.trim_end();
            folder.join(target).canonicalize().ok()?
        } else {
            dot_git.canonicalize().ok()?
        };
        // What git takes for a git folder (setup.c, `is_git_directory`).
        if !git_dir.join("HEAD").exists() {
            return None;
        }
        let common_dir = match std::fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end()).canonicalize().ok()?,
            Err(_) => git_dir.clone(),
        };
        common_dir.join("objects").is_dir().then(|| Enclosing {
            worktree: folder.to_owned(),
            git_dir,
            common_dir,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_git_has_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join(".git")).expect("made");
        assert_eq!(
            enclosing(&folder.path().join("a/b")),
            None,
            "an empty .git is none"
        );
    }
}
