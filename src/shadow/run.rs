//! `git shadow run`: a command inside a shadow, with a checkpoint before and after.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Result, bail, hinted};
use crate::events::mask::Masked;
use crate::git::Repo;
use crate::git::command::Child;
use crate::lane::save::{self, Request};
use crate::lane::{Checkpoint, Kind};
use crate::shadow::describe::healthy_entry;
use crate::shadow::environment;
use crate::shadow::lease::Lease;
use crate::shadow::logbook::Logbook;
use crate::shadow::task::{Phase, Task};
use crate::snapshot::difference::Trees;
use crate::state::lock::PATIENCE;
use crate::ui::Ui;

/// What timeout(1) answers when the time is over.
const TIMED_OUT: u8 = 124;
/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow, or several with commas, one after another
    #[arg(value_name = "task", value_delimiter = ',', required = true)]
    tasks: Vec<String>,
    /// Run this by the shell afterwards; its exit code is the answer
    #[arg(long, value_name = "command")]
    test: Option<String>,
    /// End the command and all it started after this time (90s, 5m, 1h)
    #[arg(long, value_name = "time", value_parser = duration)]
    timeout: Option<Duration>,
    /// The agent's id of the session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "command")]
    command: Vec<OsString>,
}

fn duration(text: &str) -> Result<Duration> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let parsed: jiff::SignedDuration = text.parse().context("no time: 90s, 5m, 1h")?;
    Duration::try_from(parsed).context("no time: 90s, 5m, 1h")
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let tasks: Vec<Task> = arguments
        .tasks
        .iter()
        .map(|name| Task::require(repo, name))
        .collect::<Result<_>>()?;
    let mut exit = Exit::Done;
    for task in tasks {
        let one = run_one(repo, &task, &arguments, ui)?;
        if exit == Exit::Done {
            exit = one;
        }
    }
    Ok(exit)
}

fn run_one(repo: &Repo, task: &Task, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    if task.phase != Phase::Ready {
        return Err(hinted(
            format!("the shadow '{}' is not ready", task.task),
            format!(
                "'git shadow add {}' continues what was cut short",
                task.task
            ),
        ));
    }
    healthy_entry(repo, task).with_context(|| format!("the shadow '{}' is broken", task.task))?;
    let _lease = Lease::take(repo, task)?;
    let shadow = task.open()?;
    environment::make_temporary(repo, task)?;
    let words: Vec<String> = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let command = words.join(" ");
    let logbook = Logbook::of(task, arguments.session.as_deref());
    if let Err(error) = logbook.started(repo, task, &command) {
        ui.warn(format_args!("not in the log: {error:#}"));
    }
    let masked = Some(Masked::new(&command).cut(200).as_str().to_owned());
    let before = checkpoint(&shadow, &logbook, Kind::BeforeCommand, &masked, None, ui);
    ui.flush()?;
    let start = Instant::now();
    let mut child = Child::new(&arguments.command[0]).args(&arguments.command[1..]);
    child = prepared(repo, task, &logbook, child);
    let status = wait(child, arguments.timeout)?;
    let took = start.elapsed();
    let mut exit = match status {
        Some(status) => Exit::Code(code(status)),
        None => {
            ui.warn(format_args!("'{}' was ended: its time was over", task.task));
            Exit::Code(TIMED_OUT)
        }
    };
    let number = before.as_ref().map(|b| b.record.number);
    let after = checkpoint(&shadow, &logbook, Kind::AfterCommand, &masked, number, ui);
    let changed = match (&before, &after) {
        (Some(before), Some(after)) => {
            let trees = Trees::new(&shadow, Default::default());
            Some(trees.differences(before.tree, after.tree)?.len())
        }
        _ => None,
    };
    let ended = status.map_or(TIMED_OUT, code);
    if let Err(error) = logbook.ended(repo, task, ended, took, changed) {
        ui.warn(format_args!("not in the log: {error:#}"));
    }
    if let Some(test) = &arguments.test {
        let child = prepared(repo, task, &logbook, Child::new("sh").args(["-c", test]));
        let status = wait(child, arguments.timeout)?;
        exit = Exit::Code(status.map_or(TIMED_OUT, code));
    }
    ui.note(format_args!(
        "{}: {} in {:.1} s",
        task.task,
        match exit {
            Exit::Code(0) | Exit::Done => "done".to_owned(),
            Exit::No => "failed".to_owned(),
            Exit::Code(code) => format!("exit code {code}"),
        },
        start.elapsed().as_secs_f64()
    ));
    Ok(if exit == Exit::Code(0) {
        Exit::Done
    } else {
        exit
    })
}

fn prepared(repo: &Repo, task: &Task, logbook: &Logbook, child: Child) -> Child {
    environment::variables(repo, task, Some(logbook.id()))
        .into_iter()
        .fold(child, |child, (name, value)| child.env(name, value))
        .current_dir(&task.path)
}

/// A checkpoint of the shadow; that it fails stops no command.
fn checkpoint(
    shadow: &Repo,
    logbook: &Logbook,
    kind: Kind,
    command: &Option<String>,
    after: Option<u32>,
    ui: &mut Ui,
) -> Option<Checkpoint> {
    let request = Request {
        kind,
        command: command.clone(),
        session: Some(logbook.id().to_owned()),
        after,
        ..Request::default()
    };
    match save::save(shadow, request, PATIENCE) {
        Ok(saved) => saved,
        Err(error) => {
            ui.warn(format_args!("no checkpoint of the shadow: {error:#}"));
            None
        }
    }
}

/// Runs it; `None` when its time was over and its whole process group was ended.
fn wait(child: Child, timeout: Option<Duration>) -> Result<Option<ExitStatus>> {
    let Some(timeout) = timeout else {
        return child.status().map(Some);
    };
    let mut running = child.spawn_group()?;
    let group = i32::try_from(running.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .context("a process has no number")?;
    // In a group of its own it must be told that the terminal is its: else reading stops it.
    let _ = rustix::termios::tcsetpgrp(std::io::stdin(), group);
    let deadline = Instant::now() + timeout;
    while Instant::now() < deadline {
        if let Some(status) = running.try_wait().context("cannot wait for the command")? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let signal = |signal| rustix::process::kill_process_group(group, signal);
    let _ = signal(rustix::process::Signal::TERM);
    let end = Instant::now() + GRACE;
    let mut ended = false;
    while Instant::now() < end && !ended {
        ended = running
            .try_wait()
            .context("cannot wait for the command")?
            .is_some();
        std::thread::sleep(Duration::from_millis(5));
    }
    // What the command started may live on in its group.
    let _ = signal(rustix::process::Signal::KILL);
    if !ended {
        running.wait().context("cannot wait for the command")?;
    }
    Ok(None)
}

/// As the shell counts: a signal is 128 and its number.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(128)
}

/// Runs a test command by the shell in the shadow; whether it says yes.
///
/// # Errors
/// When the shell cannot be started.
pub(super) fn test(repo: &Repo, task: &Task, command: &str) -> Result<bool> {
    if command.trim().is_empty() {
        bail!("the test command is empty");
    }
    environment::make_temporary(repo, task)?;
    let child = environment::variables(repo, task, None)
        .into_iter()
        .fold(Child::new("sh"), |child, (name, value)| {
            child.env(name, value)
        });
    let status = child
        .current_dir(&task.path)
        .args(["-c", command])
        .status_on_stderr()?;
    Ok(status.success())
}
