//! The objects that a partial clone has not got, and can get from the remote
//! that has promised them.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::git::command::Child;

/// Where promised objects come from.
#[derive(Debug, Clone)]
pub struct Promisor {
    git_dir: PathBuf,
    remotes: Vec<BString>,
}

impl Repo {
    /// Whether a remote has promised objects that are not here (a partial clone).
    pub fn is_partial(&self) -> bool {
        self.promisor().is_some()
    }

    /// The remotes that have promised objects; `None` in a clone that is whole.
    pub fn promisor(&self) -> Option<Promisor> {
        let promises = |name: &BString| {
            self.config_bool(&format!("remote.{name}.promisor"), false)
                .unwrap_or(false)
        };
        let mut remotes: Vec<BString> = self.remotes().into_iter().filter(promises).collect();
        remotes.extend(self.config("extensions.partialClone"));
        remotes.sort();
        remotes.dedup();
        (!remotes.is_empty()).then(|| Promisor {
            git_dir: self.common_dir().to_owned(),
            remotes,
        })
    }
}

impl Promisor {
    /// Fetches `ids` at once, as git itself does for one of them; what no remote
    /// has stays missing. They come into the object store `into`, which must have
    /// the repository's for an alternate, or else into the repository's own.
    ///
    /// # Errors
    /// When git cannot be started.
    pub fn fetch(&self, ids: &[ObjectId], into: Option<&Path>) -> Result<()> {
        let wanted: String = ids.iter().map(|id| format!("{id}\n")).collect();
        for remote in &self.remotes {
            // `fetch_objects` of git's promisor-remote.c.
            let mut git = self.git();
            if let Some(objects) = into {
                git = git.env("GIT_OBJECT_DIRECTORY", objects);
            }
            let output = git
                .args(["-c", "fetch.negotiationAlgorithm=noop", "fetch"])
                .arg(remote.to_os_str_lossy())
                .args(["--no-tags", "--no-write-fetch-head", "--no-auto-gc", "-q"])
                .args(["--recurse-submodules=no", "--filter=blob:none", "--stdin"])
                .input(wanted.as_bytes())
                .output()?;
            if output.status.success() {
                break;
            }
        }
        Ok(())
    }

    /// Git in the repository, fetching by itself what it misses.
    pub fn git(&self) -> Child {
        Child::git()
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .without_env("GIT_NO_LAZY_FETCH")
            .current_dir(Path::new(&self.git_dir))
    }
}
