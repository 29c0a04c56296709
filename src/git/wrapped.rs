//! A command of the user's that we stand around: its streams, its terminal and
//! its signals are its own.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{Context, Result};
use crate::git::command::Child;

/// The signals by which people and systems ask a program to end.
const WATCHED: [i32; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

/// How often a command with a time limit is looked at.
const INTERVAL: Duration = Duration::from_millis(5);

/// How long a command that was told to end may take for it.
const GRACE: Duration = Duration::from_secs(2);

/// How a wrapped command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapped {
    /// As a shell says it: its own code, 128 + n for signal n, 127 not found, 126
    /// found but not executable.
    pub code: u8,
    /// Why it could not even be started.
    pub not_started: Option<String>,
    /// Who ended it.
    pub end: End,
}

/// Who ended a wrapped command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It ended by itself.
    Itself,
    /// Its time was over.
    TooLong,
    /// It was to wait for the terminal, which it does not have with a time limit.
    NoTerminal,
    /// A signal by which programs are asked to end.
    Signal,
}

impl Child {
    /// Runs it to its end. Ctrl-C and Ctrl-\ reach it through the terminal and not us;
    /// a request to end that reaches us alone is passed on.
    ///
    /// # Errors
    /// When signals cannot be watched, or it cannot be waited for.
    pub fn wrapped(self) -> Result<Wrapped> {
        self.wrapped_within(None)
    }

    /// The same for at most `limit`. What has one is a process group of its own, all of
    /// which is ended when the time is over; as with timeout(1) it is in the background
    /// of the terminal then, and every signal is passed on.
    ///
    /// # Errors
    /// As [`Child::wrapped`].
    pub fn wrapped_within(mut self, limit: Option<Duration>) -> Result<Wrapped> {
        let mut signals = Signals::new(WATCHED).context("cannot watch for signals")?;
        if limit.is_some() {
            self.set_group();
        }
        let mut running = match self.spawn() {
            Ok(running) => running,
            Err(e) => {
                let is_missing = e.kind() == io::ErrorKind::NotFound;
                return Ok(Wrapped {
                    code: if is_missing { 127 } else { 126 },
                    not_started: Some(e.to_string()),
                    end: End::Itself,
                });
            }
        };
        let child = i32::try_from(running.id())
            .ok()
            .and_then(Pid::from_raw)
            .context("a process has no number")?;
        let watch = signals.handle();
        let watcher = std::thread::spawn(move || {
            let mut came = None;
            for signal in signals.forever() {
                came = Some(signal);
                pass_on(signal, child, limit.is_some());
            }
            came
        });
        let cut = match limit {
            Some(limit) => watched(child, limit)?,
            None => None,
        };
        let status = running.wait().context("cannot wait for the command")?;
        watch.close();
        let came = watcher.join().ok().flatten();
        let code = code_of(status);
        // What ends all of us may reach the command before it reaches us.
        let by_signal = status
            .signal()
            .is_some_and(|signal| WATCHED.contains(&signal))
            || came.is_some_and(|came| i32::from(code) == 128 + came);
        Ok(Wrapped {
            code,
            not_started: None,
            end: cut.unwrap_or(if by_signal { End::Signal } else { End::Itself }),
        })
    }
}

/// Gives `child` a signal that came to us.
fn pass_on(signal: i32, child: Pid, has_group: bool) {
    let same = match signal {
        SIGTERM => Signal::TERM,
        SIGHUP => Signal::HUP,
        SIGQUIT => Signal::QUIT,
        _ => Signal::INT,
    };
    if has_group {
        let _ = kill_process_group(child, same);
    } else if matches!(same, Signal::TERM | Signal::HUP) {
        let _ = kill_process(child, same);
    }
}

/// Waits for the end of `child`, the first of its group, which is then there to be
/// waited for; ends the group when `limit` is over. Gives why, when it had to.
fn watched(child: Pid, limit: Duration) -> Result<Option<End>> {
    let deadline = Instant::now() + limit;
    let why = loop {
        match look(child)? {
            Some(Look::Ended) => return Ok(None),
            Some(Look::WantsTerminal) => break End::NoTerminal,
            None if Instant::now() >= deadline => break End::TooLong,
            None => std::thread::sleep(INTERVAL),
        }
    };
    let _ = kill_process_group(child, Signal::TERM);
    let _ = kill_process_group(child, Signal::CONT);
    let end = Instant::now() + GRACE;
    while Instant::now() < end && look(child)? != Some(Look::Ended) {
        std::thread::sleep(INTERVAL);
    }
    // What it started may live on in the group, whose number is its own as long as
    // nobody has waited for it.
    let _ = kill_process_group(child, Signal::KILL);
    Ok(Some(why))
}

#[derive(PartialEq, Eq)]
enum Look {
    Ended,
    WantsTerminal,
}

fn look(child: Pid) -> Result<Option<Look>> {
    let options = WaitIdOptions::EXITED
        | WaitIdOptions::STOPPED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT;
    let found = waitid(WaitId::Pid(child), options).context("cannot wait for the command")?;
    Ok(found.and_then(|status| match status.stopping_signal() {
        Some(signal) if signal == Signal::TTIN.as_raw() || signal == Signal::TTOU.as_raw() => {
            Some(Look::WantsTerminal)
        }
        Some(_) => None,
        None => Some(Look::Ended),
    }))
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|n| 128 + n));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}
