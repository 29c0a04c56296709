//! A command that is recorded: how it ended, and what it committed.

use std::ffi::OsString;

use gix::ObjectId;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::command::Child;
use crate::replay::range::Range;
use crate::replay::store::Store;
use crate::ui::{Ui, counted};

/// A command that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its exit code, as a shell says it.
    pub(super) code: u8,
    /// Whether it ran at all.
    pub(super) has_run: bool,
    /// Where HEAD was before.
    before: Option<ObjectId>,
}

impl Ended {
    /// Runs `command` to its end.
    ///
    /// # Errors
    /// When HEAD cannot be read, or the command cannot be waited for.
    pub(super) fn of(repo: &Repo, command: &[OsString], ui: &mut Ui) -> Result<Self> {
        let before = repo.head()?.commit;
        let (program, rest) = command.split_first().context("no command was given")?;
        ui.flush()?;
        let ended = Child::as_called(program).args(rest).wrapped()?;
        if let Some(reason) = &ended.not_started {
            ui.say(format_args!(
                "error: cannot run '{}': {reason}",
                program.display()
            ));
        }
        Ok(Ended {
            code: ended.code,
            has_run: ended.not_started.is_none(),
            before,
        })
    }

    /// The commits between HEAD before and now.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn range(&self, repo: &Repo, store: &Store, ui: &mut Ui) -> Result<Range> {
        let range = match repo.head()?.commit {
            Some(after) => Range::between(repo, store, self.before, after)?,
            None => Range::default(),
        };
        if let (Some(before), Some(baseline)) = (self.before, range.baseline)
            && before != baseline
        {
            ui.warn(format_args!(
                "the command did not build on {before}, where HEAD was; recorded from {baseline}"
            ));
        }
        if repo.worktree().is_some() {
            say_what_is_left(repo, ui)?;
        }
        Ok(range)
    }
}

/// A count of what is uncommitted; the record does not depend on it.
fn say_what_is_left(repo: &Repo, ui: &mut Ui) -> Result<()> {
    // A monitor of the file system is a program that the user never asked us to run.
    let status = repo
        .git(["-c", "core.fsmonitor=false", "status", "--porcelain", "-z"])
        .args(["--no-renames", "--untracked-files=normal"])
        .arg("--ignore-submodules=none")
        .output()?;
    if !status.status.success() {
        let said = String::from_utf8_lossy(&status.stderr);
        ui.warn(format_args!(
            "cannot tell what was left uncommitted: {}",
            said.trim()
        ));
        return Ok(());
    }
    let paths = status
        .stdout
        .split(|b| *b == 0)
        .filter(|entry| !entry.is_empty())
        .count();
    if paths > 0 {
        ui.warn(format_args!(
            "left uncommitted, and not in the journal: {}",
            counted(paths, "path")
        ));
    }
    Ok(())
}
