//! A change of one ref in two steps: first whatever can refuse it, then the
//! change itself (git-update-ref(1), `start`, `prepare`, `commit`).

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::{Result, anyhow, bail};
use crate::git::Repo;
use crate::git::quote::in_quotes;
use crate::git::talk::Talk;

/// How long git may take for one answer; it waits for locks of others for much
/// less, unless it is told otherwise.
const LIMIT: Duration = Duration::from_secs(600);

/// A ref and what becomes of it.
#[derive(Debug, Clone, Copy)]
pub struct RefChange<'a> {
    /// In full. A symbolic ref is itself changed, never what it points at.
    pub name: &'a str,
    /// What it points at now; `None` when it must not exist.
    pub old: Option<ObjectId>,
    /// What it will point at.
    pub new: ObjectId,
    /// What its reflog says of it.
    pub reason: &'a str,
}

/// A change that git has locked and found possible; undone when it is dropped.
#[derive(Debug)]
pub struct Prepared {
    talk: Talk,
}

impl Repo {
    /// Locks the ref of `change` and finds out whether it can be made. The new
    /// commit may still be in the object store `objects` only. No hook runs.
    ///
    /// # Errors
    /// What git says against it: the ref is another one by now, it is locked, or
    /// another ref's name is in its way.
    pub fn prepare_ref(&self, change: RefChange<'_>, objects: &Path) -> Result<Prepared> {
        let zero = ObjectId::null(change.new.kind());
        let update = format!(
            "start\0update {}\0{}\0{}\0prepare\0",
            change.name,
            change.new,
            change.old.unwrap_or(zero)
        );
        let git = || {
            self.git_unhooked(["update-ref", "--no-deref", "-m", change.reason])
                .args(["--stdin", "-z"])
                // As in a file of alternates, but with colons between them.
                .env(
                    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                    in_quotes(objects.as_os_str().as_bytes().as_bstr()),
                )
        };
        let mut talk = git().talk(LIMIT)?;
        if talk.ask(update.as_bytes(), b"prepare: ok\n").is_ok() {
            return Ok(Prepared { talk });
        }
        drop(talk);
        // Once more, for its words.
        let output = git().input(format!("{update}abort\0")).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        let said = said.strip_prefix("fatal: ").unwrap_or(said);
        let said = said.strip_prefix("prepare: ").unwrap_or(said);
        match said {
            "" => bail!("git did not answer"),
            said => Err(anyhow!("{said}")),
        }
    }
}

impl Prepared {
    /// Makes the change.
    ///
    /// # Errors
    /// When git could not.
    pub fn commit(mut self) -> Result<()> {
        match self.talk.ask(b"commit\0", b"commit: ok\n") {
            Ok(_) => Ok(()),
            Err(silence) => bail!("git could not make a change that it had prepared: {silence:?}"),
        }
    }
}
