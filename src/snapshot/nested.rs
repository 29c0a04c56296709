//! Repositories inside the working tree: submodules, and those that someone cloned there.

use std::path::Path;

use gix::ObjectId;

/// What a folder is as a repository.
pub(super) enum Nested {
    /// A repository whose HEAD is this commit.
    Commit(ObjectId),
    /// A repository without a commit, which git cannot record.
    Unborn,
    /// No repository.
    None,
}

/// Looks at the repository whose worktree is `folder`.
pub(super) fn commit_at(folder: &Path) -> Nested {
    // Its configuration decides nothing about its HEAD, so nothing of it is run or trusted.
    let options = gix::open::Options::isolated().with(gix::sec::Trust::Reduced);
    let opened = options.open_path_as_is(true).open(folder.join(".git"));
    match opened.map(|repo| repo.to_thread_local()) {
        Ok(repo) => match repo.head_id() {
            Ok(id) => Nested::Commit(id.detach()),
            Err(_) => Nested::Unborn,
        },
        Err(_) => Nested::None,
    }
}
