//! Where HEAD points, and which operation is under way.

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use crate::error::{Context, Result, bail};
use crate::git::Repo;

/// HEAD: a branch or none, and its commit or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The full name of the branch; `None` when HEAD is detached.
    pub branch: Option<BString>,
    /// The commit; `None` on an unborn branch.
    pub commit: Option<ObjectId>,
}

impl Repo {
    /// Where HEAD points.
    ///
    /// # Errors
    /// When HEAD cannot be read.
    pub fn head(&self) -> Result<Head> {
        // HEAD itself is a plain file in every worktree with the files backend, and a
        // stub with reftable, where only git knows.
        let text = if self.backend().is_files() {
            std::fs::read(self.git_dir().join("HEAD")).context("cannot read HEAD")?
        } else {
            match self.git(["symbolic-ref", "-q", "HEAD"]).answer()? {
                Some(name) => [b"ref: ", name.as_slice()].concat(),
                None => self.git(["rev-parse", "--verify", "HEAD"]).stdout()?,
            }
        };
        let line = text.trim_ascii();
        match line.strip_prefix(b"ref:") {
            Some(name) => {
                let name = BString::from(name.trim_ascii());
                Ok(Head {
                    commit: self.find_ref(name.as_bstr())?,
                    branch: Some(name),
                })
            }
            None => match ObjectId::from_hex(line) {
                Ok(id) => Ok(Head {
                    branch: None,
                    commit: Some(id),
                }),
                Err(_) => bail!(
                    "HEAD is neither a branch nor a commit: '{}'",
                    line.as_bstr()
                ),
            },
        }
    }

    /// The operation that git has under way in this worktree, in one word.
    pub fn operation(&self) -> Option<&'static str> {
        // The files by which git itself knows (wt-status.c, `wt_status_get_state`).
        const SIGNS: &[(&str, &str)] = &[
            ("rebase-merge", "rebase"),
            ("rebase-apply", "rebase"),
            ("MERGE_HEAD", "merge"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
            ("BISECT_LOG", "bisect"),
        ];
        SIGNS
            .iter()
            .find(|(file, _)| self.git_dir().join(file).exists())
            .map(|(_, operation)| *operation)
    }
}
