//! A command of the user's that we stand around: its streams, its terminal and
//! its signals are its own.

use std::io;
use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{Context, Result};
use crate::git::command::Child;

/// How a wrapped command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapped {
    /// As a shell says it: its own code, 128 + n for signal n, 127 not found, 126
    /// found but not executable.
    pub code: u8,
    /// Why it could not even be started.
    pub not_started: Option<String>,
}

impl Child {
    /// Runs it to its end. Ctrl-C and Ctrl-\ reach it through the terminal and not us;
    /// a request to end that reaches us alone is passed on.
    ///
    /// # Errors
    /// When signals cannot be watched, or it cannot be waited for.
    pub fn wrapped(mut self) -> Result<Wrapped> {
        let mut signals =
            Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
        let mut running = match self.spawn() {
            Ok(running) => running,
            Err(e) => {
                let is_missing = e.kind() == io::ErrorKind::NotFound;
                return Ok(Wrapped {
                    code: if is_missing { 127 } else { 126 },
                    not_started: Some(e.to_string()),
                });
            }
        };
        let watch = signals.handle();
        let child = i32::try_from(running.id()).ok().and_then(Pid::from_raw);
        let watcher = std::thread::spawn(move || {
            for signal in signals.forever() {
                let pass_on = match signal {
                    SIGTERM => Signal::TERM,
                    SIGHUP => Signal::HUP,
                    _ => continue,
                };
                if let Some(child) = child {
                    let _ = kill_process(child, pass_on);
                }
            }
        });
        let status = running.wait().context("cannot wait for the command")?;
        watch.close();
        let _ = watcher.join();
        let code = status.code().or_else(|| status.signal().map(|n| 128 + n));
        Ok(Wrapped {
            code: code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255),
            not_started: None,
        })
    }
}
