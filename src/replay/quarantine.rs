//! Where the objects of a push are while git's pre-receive hook decides on it
//! (git-receive-pack(1), "QUARANTINE ENVIRONMENT").

use std::path::PathBuf;

use crate::error::{Result, hinted};
use crate::git::Repo;
use crate::git::command::Child;

/// What git sets for such a hook besides [`PATH`].
const OBJECTS: &[&str] = &["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];
/// The quarantine's own object store.
const PATH: &str = "GIT_QUARANTINE_PATH";

/// The object store of what is being pushed into `repo`; `None` outside such a hook.
pub(super) fn of(repo: &Repo) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os(PATH)?).canonicalize().ok()?;
    let store = repo.common_dir().join("objects").canonicalize().ok()?;
    // One of another repository is no business of this one.
    path.starts_with(store).then_some(path)
}

/// `git` that sees what is being pushed.
pub(super) fn seeing(repo: &Repo, git: Child) -> Child {
    match of(repo) {
        Some(_) => OBJECTS.iter().fold(git, |git, name| git.keep_env(name)),
        None => git,
    }
}

/// Refuses to make a branch where git itself forbids it: the push may be refused,
/// and the branch would have lost its objects.
///
/// # Errors
/// In such a hook.
pub(super) fn refuse(repo: &Repo) -> Result<()> {
    match of(repo) {
        Some(_) => Err(hinted(
            "no branch can be made while a push is in its quarantine",
            "--check and 'git-replay test' write nothing; a post-receive hook may make branches",
        )),
        None => Ok(()),
    }
}
