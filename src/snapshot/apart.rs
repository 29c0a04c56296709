//! The state of now in an object store of its own, for a git that only looks:
//! nothing is added to the repository.

use gix::ObjectId;
use tempfile::TempDir;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::command::Child;
use crate::snapshot::sink::Writing;
use crate::snapshot::take::{Request, take};

/// A snapshot whose objects are in a temporary folder; they go with it.
pub struct Apart {
    /// Its tree.
    pub tree: ObjectId,
    folder: TempDir,
    objects: std::path::PathBuf,
}

impl Apart {
    /// Takes the state of the worktree of `repo`.
    ///
    /// # Errors
    /// When it cannot be taken, or the temporary folder not be written.
    pub fn of_now(repo: &Repo) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("git-harness-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        let snapshot = take(
            repo,
            &Request {
                writing: Writing::Fast,
                apart: Some(folder.path().to_owned()),
                ..Request::default()
            },
        )?;
        let tree = snapshot.tree;
        snapshot.sink.finish()?;
        Ok(Apart {
            tree,
            folder,
            objects: repo.objects_dir(),
        })
    }

    /// Lets `child` see the objects beside the repository's own.
    pub fn shown_to(&self, child: Child) -> Child {
        child
            .env("GIT_OBJECT_DIRECTORY", self.folder.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.objects)
    }
}
