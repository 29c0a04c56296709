//! Starts programs. Every child of ours begins here, with an environment that
//! says what it means: no variable of the caller's git leaks into another
//! repository, no prompt, no translated text, no optional lock.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use crate::error::{Context, Result, anyhow};
use crate::git::Repo;
use crate::git::talk::Talk;
use crate::ui;

/// What `git rev-parse --local-env-vars` prints, plus what else redirects git
/// (git(1), "Environment Variables"). Configuration given by `git -c` stays: the
/// user meant it for this command.
const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMON_DIR",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A program to start. `new` gives a bare one with the scrubbed environment.
#[derive(Debug)]
pub struct Child {
    command: Command,
    shown: String,
    input: Vec<u8>,
    input_file: Option<File>,
}

impl Child {
    /// `program` with the caller's environment, less what ties it to a repository.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where processes start"
    )]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program.as_ref());
        for variable in REPOSITORY_VARIABLES {
            command.env_remove(variable);
        }
        Child {
            command,
            shown: program.as_ref().to_string_lossy().into_owned(),
            input: Vec::new(),
            input_file: None,
        }
    }

    /// `program` with the caller's environment untouched: what the user would have
    /// started in our place.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where processes start"
    )]
    pub fn as_called(program: impl AsRef<OsStr>) -> Self {
        Child {
            command: Command::new(program.as_ref()),
            shown: program.as_ref().to_string_lossy().into_owned(),
            input: Vec::new(),
            input_file: None,
        }
    }

    /// `git` outside any known repository (to find one, or to ask for its version).
    pub fn git() -> Self {
        let mut child = Child::new("git");
        child
            .command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0");
        child
    }

    /// `git` in the repository at `git_dir`, at the root of its `worktree`.
    pub fn git_in(git_dir: &Path, worktree: Option<&Path>) -> Self {
        let mut child = Child::git().env("GIT_DIR", git_dir);
        if let Some(worktree) = worktree {
            child = child.env("GIT_WORK_TREE", worktree);
        }
        child.current_dir(worktree.unwrap_or(git_dir))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        self.shown.push_str(&argument.as_ref().to_string_lossy());
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = S>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Takes a variable away.
    #[must_use]
    pub fn without_env(mut self, key: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(key);
        self
    }

    /// Gives a variable back that [`Child::new`] takes away.
    #[must_use]
    pub fn keep_env(mut self, key: &str) -> Self {
        if let Some(value) = std::env::var_os(key) {
            self.command.env(key, value);
        }
        self
    }

    /// Starts it in `folder`.
    #[must_use]
    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Bytes for its standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// A file for its standard input, from its current position on.
    #[must_use]
    pub fn input_file(mut self, file: File) -> Self {
        self.input_file = Some(file);
        self
    }

    /// Runs it and gives what it printed, whatever its exit code.
    ///
    /// # Errors
    /// When it cannot be started or fed.
    pub fn output(self) -> Result<Output> {
        self.output_to(Stdio::piped())
    }

    /// Runs it, requires exit code 0, and lets it write its standard output itself:
    /// into `file`, or where our own goes.
    ///
    /// # Errors
    /// As [`Child::stdout`].
    pub fn write_to(self, file: Option<File>) -> Result<()> {
        let shown = self.shown.clone();
        let output = self.output_to(file.map_or_else(Stdio::inherit, Stdio::from))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failure(&shown, &output))
    }

    fn output_to(mut self, stdout: Stdio) -> Result<Output> {
        let stdin = match self.input_file.take() {
            Some(file) => Stdio::from(file),
            None if self.input.is_empty() => Stdio::null(),
            None => Stdio::piped(),
        };
        self.command
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped());
        let mut running = self
            .command
            .spawn()
            .with_context(|| format!("cannot start '{}'", self.shown))?;
        // Fed from a thread: a child that prints before it has read everything
        // would otherwise wait for us while we wait for it.
        let feeder = running.stdin.take().map(|mut stdin| {
            let input = std::mem::take(&mut self.input);
            std::thread::spawn(move || {
                // A child that ends without reading all is judged by its exit code.
                let _ = stdin.write_all(&input);
            })
        });
        let output = running
            .wait_with_output()
            .with_context(|| format!("cannot wait for '{}'", self.shown))?;
        if let Some(feeder) = feeder {
            let _ = feeder.join();
        }
        Ok(output)
    }

    /// Runs it, requires exit code 0, and gives its standard output.
    ///
    /// # Errors
    /// When it cannot be started or fails; the message carries what it said.
    pub fn stdout(self) -> Result<Vec<u8>> {
        let shown = self.shown.clone();
        let output = self.output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(failure(&shown, &output))
    }

    /// Runs it for `Some(stdout)` on exit 0 and `None` on exit 1, git's "no".
    ///
    /// # Errors
    /// On any other outcome.
    pub fn answer(self) -> Result<Option<Vec<u8>>> {
        let shown = self.shown.clone();
        let output = self.output()?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(failure(&shown, &output)),
        }
    }

    /// Runs it with our streams, its standard output on our standard error: what it
    /// tells is no answer of ours.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn status_on_stderr(mut self) -> Result<ExitStatus> {
        let stderr = ui::stderr_fd().context("cannot pass standard error on")?;
        self.command.stdin(Stdio::null()).stdout(stderr);
        self.status()
    }

    /// Starts it as the first of a process group of its own, with our streams.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_group(mut self) -> Result<std::process::Child> {
        self.set_group();
        self.command
            .spawn()
            .with_context(|| format!("cannot start '{}'", self.shown))
    }

    /// Starts it for a conversation in which each answer takes at most `limit`, in a
    /// process group of its own; what it says on standard error is not heard.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn talk(mut self, limit: Duration) -> Result<Talk> {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let child = self
            .command
            .spawn()
            .with_context(|| format!("cannot start '{}'", self.shown))?;
        Talk::new(child, limit).with_context(|| format!("no pipe to '{}'", self.shown))
    }

    /// Starts it and leaves it alone: without our streams, and not ended by what
    /// ends our group of processes.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn detach(mut self) -> Result<()> {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start '{}'", self.shown))?;
        Ok(())
    }

    /// Makes it the first of a process group of its own.
    pub(super) fn set_group(&mut self) {
        self.command.process_group(0);
    }

    /// Starts it with our own streams.
    pub(super) fn spawn(&mut self) -> std::io::Result<std::process::Child> {
        self.command.spawn()
    }

    /// Runs it with our own streams, for a person to see.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn status(mut self) -> Result<ExitStatus> {
        self.command
            .status()
            .with_context(|| format!("cannot start '{}'", self.shown))
    }
}

fn failure(shown: &str, output: &Output) -> crate::error::Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    let said = said.strip_prefix("fatal: ").unwrap_or(said);
    match (said.is_empty(), output.status.code()) {
        (false, _) => anyhow!("'{shown}': {said}"),
        (true, Some(code)) => anyhow!("'{shown}' ended with exit code {code}"),
        (true, None) => anyhow!("'{shown}' was killed"),
    }
}

impl Repo {
    /// `git` in this repository and worktree, at the worktree's root.
    pub fn git<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Child {
        Child::git_in(self.git_dir(), self.worktree()).args(arguments)
    }

    /// [`Repo::git`] that never runs a hook: for work on our own refs and indexes.
    pub fn git_unhooked<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Child {
        let mut all: Vec<OsString> = vec!["-c".into(), "core.hooksPath=/dev/null".into()];
        all.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
        self.git(all)
    }
}
