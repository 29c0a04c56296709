//! What a program answered.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use serde_json::Value;

/// Exit code and both streams of one command, and what is asserted of them.
pub(crate) struct Outcome {
    command: String,
    status: ExitStatus,
    /// The bytes of standard output, as they came.
    pub(crate) stdout: Vec<u8>,
    /// The bytes of standard error, as they came.
    pub(crate) stderr: Vec<u8>,
}

impl Outcome {
    #[track_caller]
    pub(super) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self::from(command, output)
    }

    /// Likewise; `None` when there is no such program.
    pub(super) fn of_quietly(command: &mut Command) -> Option<Self> {
        let output = command.output().ok()?;
        Some(Self::from(command, output))
    }

    #[track_caller]
    pub(super) fn fed(command: &mut Command, input: &[u8]) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writer = thread::spawn(move || {
            // A program that does not read all of it is free to.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Self::from(command, output)
    }

    fn from(command: &Command, output: std::process::Output) -> Self {
        let mut line = command.get_program().to_string_lossy().into_owned();
        for argument in command.get_args() {
            line.push(' ');
            line.push_str(&argument.to_string_lossy());
        }
        Outcome {
            command: line,
            status: output.status,
            stdout: output.stdout,
            stderr: output.stderr,
        }
    }

    /// The exit code; `None` when a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Asserts exit code 0.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.fails(0)
    }

    /// Asserts this exit code.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> Self {
        assert!(
            self.code() == Some(code),
            "expected exit code {code}\n{self:?}"
        );
        self
    }

    /// Asserts that standard output is `expected` (and the newline that ends it).
    #[track_caller]
    pub(crate) fn prints(self, expected: &str) -> Self {
        assert!(
            self.out() == expected,
            "expected stdout '{expected}'\n{self:?}"
        );
        self
    }

    /// Asserts that standard error contains `fragment`.
    #[track_caller]
    pub(crate) fn says(self, fragment: &str) -> Self {
        assert!(
            self.err().contains(fragment),
            "expected '{fragment}' on stderr\n{self:?}"
        );
        self
    }

    /// Asserts that standard error does not contain `fragment`.
    #[track_caller]
    pub(crate) fn never_says(self, fragment: &str) -> Self {
        assert!(
            !self.err().contains(fragment),
            "unexpected '{fragment}' on stderr\n{self:?}"
        );
        self
    }

    /// Asserts that standard error is empty.
    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert!(self.stderr.is_empty(), "expected an empty stderr\n{self:?}");
        self
    }

    /// Standard output without colour and without the newline that ends it.
    #[track_caller]
    pub(crate) fn out(&self) -> String {
        text(&self.stdout)
    }

    /// Standard error, likewise.
    #[track_caller]
    pub(crate) fn err(&self) -> String {
        text(&self.stderr)
    }

    /// Standard output as lines, without colour.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<String> {
        self.out().lines().map(str::to_owned).collect()
    }

    /// Standard output as the one JSON document that it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is not one JSON document: {e}\n{self:?}"))
    }
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "$ {}\n{}\n--- stdout\n{}\n--- stderr\n{}",
            self.command,
            self.status,
            String::from_utf8_lossy(&self.stdout),
            String::from_utf8_lossy(&self.stderr)
        )
    }
}

/// `bytes` as text, without colour sequences (`ESC [ … m`).
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut rest = text.as_ref();
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let sequence = &rest[start + 2..];
        let end = sequence.find(|c: char| c.is_ascii_alphabetic());
        rest = end.map_or("", |end| &sequence[end + 1..]);
    }
    plain.push_str(rest);
    plain.truncate(plain.trim_end_matches('\n').len());
    plain
}
