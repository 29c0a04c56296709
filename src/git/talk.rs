//! A program that stays and answers one request after the other, each within a
//! limit: what it starts in turn (a filter of the user's) may hang.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// It ended.
    Ended,
    /// It took longer than the limit, and was stopped with all that it started.
    TooLong,
}

/// How long a program may take to end whose input is over.
const FAREWELL: Duration = Duration::from_secs(1);

/// The open line to such a program; it ends with it.
#[derive(Debug)]
pub struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    limit: Duration,
}

impl Talk {
    /// `child` leads a process group of its own and has pipes for both streams.
    pub(super) fn new(mut child: Child, limit: Duration) -> Option<Self> {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Some(Talk {
            child,
            input,
            output: output?,
            limit,
        })
    }

    /// Sends `request`, and reads until the answer ends with `end`, which is not
    /// part of what is given.
    ///
    /// # Errors
    /// When no such answer comes; no other will then.
    pub fn ask(&mut self, request: &[u8], end: &[u8]) -> Result<Vec<u8>, Silence> {
        let until = Instant::now() + self.limit;
        let input = self.input.as_mut().ok_or(Silence::Ended)?;
        input.write_all(request).map_err(|_| Silence::Ended)?;
        let mut answer = Vec::new();
        while !answer.ends_with(end) {
            if !self.read(&mut answer, until)? {
                return Err(Silence::Ended);
            }
        }
        answer.truncate(answer.len() - end.len());
        Ok(answer)
    }

    /// Reads what there is; false at the end.
    fn read(&mut self, into: &mut Vec<u8>, until: Instant) -> Result<bool, Silence> {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Silence::TooLong)?;
        let output = self.output.as_fd();
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(_) => return Err(Silence::Ended),
            Ok(0) => {
                self.kill();
                return Err(Silence::TooLong);
            }
            Ok(_) => {}
        }
        let mut buffer = [0; 1 << 16];
        let count = self.output.read(&mut buffer).map_err(|_| Silence::Ended)?;
        into.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    fn kill(&mut self) {
        self.input = None;
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // At the end of its input it says farewell to what it started.
        self.input = None;
        let until = Instant::now() + FAREWELL;
        while let Ok(true) = self.read(&mut Vec::new(), until) {}
        // Whatever is left of the group would outlive us.
        self.kill();
        let _ = self.child.wait();
    }
}
