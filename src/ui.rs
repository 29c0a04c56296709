//! The terminal: what one would pipe goes to stdout, everything else to
//! stderr; colour; questions. The only place that prints.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

use dialoguer::console::Term;
use serde::Serialize;

use crate::error::{Context, Result};

/// The streams of one run, and how to write to them.
pub struct Ui {
    /// Standard output, buffered; an error here may be a closed pipe.
    pub out: Box<dyn Write>,
    err: Box<dyn Write>,
    quiet: bool,
    colour: bool,
}

impl Ui {
    /// The process's own streams.
    pub fn from_terminal() -> Self {
        Ui {
            out: Box::new(BufWriter::new(io::stdout())),
            err: Box::new(io::stderr()),
            quiet: false,
            colour: false,
        }
    }

    /// Silences [`Ui::note`].
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Settles colour on stdout from `color.ui` (git's meaning), `NO_COLOR` and the terminal.
    pub fn set_colour(&mut self, color_ui: Option<&str>) {
        self.colour = match color_ui {
            Some("always") => true,
            Some("never" | "false" | "no" | "off" | "0") => false,
            _ => {
                io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
    }

    /// `text` in git's colour for object names, when stdout is coloured.
    pub fn yellow(&self, text: impl Display) -> String {
        if self.colour {
            format!("\x1b[33m{text}\x1b[m")
        } else {
            text.to_string()
        }
    }

    /// Whether stdout is a terminal, on which no binary data belongs.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Whether stdout gets colour.
    pub fn is_coloured(&self) -> bool {
        self.colour
    }

    /// A line on stderr that must be seen: an error, a warning, a question's material.
    pub fn say(&mut self, line: impl Display) {
        // A closed stderr leaves nowhere to report to.
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{line}");
    }

    /// A line on stderr that `--quiet` drops.
    pub fn note(&mut self, line: impl Display) {
        if !self.quiet {
            self.say(line);
        }
    }

    /// A `warning:` line on stderr.
    pub fn warn(&mut self, line: impl Display) {
        self.say(format_args!("warning: {line}"));
    }

    /// One JSON document on a line of stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.out, value)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .context("cannot write to standard output")
    }

    /// Passes what is buffered on to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().context("cannot write to standard output")
    }
}

/// How far long work is: a line on stderr when that is a terminal, from its
/// second second on; gone when this is dropped.
pub struct Progress {
    what: &'static str,
    began: Instant,
    shown: Option<Instant>,
    can_show: bool,
}

impl Progress {
    /// Work called `what` begins; with `quiet` nothing is shown.
    pub fn of(what: &'static str, quiet: bool) -> Self {
        Progress {
            what,
            began: Instant::now(),
            shown: None,
            can_show: !quiet && io::stderr().is_terminal(),
        }
    }

    /// `done` of `all` steps are done.
    pub fn at(&mut self, done: usize, all: usize) {
        let since = self.shown.unwrap_or(self.began).elapsed();
        let wait = if self.shown.is_some() { 100 } else { 1000 };
        if self.can_show && since >= Duration::from_millis(wait) {
            self.shown = Some(Instant::now());
            let line = progress_line(self.what, done, all);
            let _ = write!(io::stderr(), "\r{line}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// As git shows it: `Rebuilding commits:  34% (34/100)`.
fn progress_line(what: &str, done: usize, all: usize) -> String {
    let percent = (done * 100).checked_div(all).unwrap_or(100);
    format!("{what}: {percent:3}% ({done}/{all})")
}

/// Standard error for a child that tells its story there.
///
/// # Errors
/// When the system has no descriptor left.
pub fn stderr_fd() -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd;
    io::stderr().as_fd().try_clone_to_owned()
}

/// Whether a question can be asked: stdin and stderr are a terminal, and git
/// was not told to leave it alone (`GIT_TERMINAL_PROMPT=0`).
pub fn can_ask() -> bool {
    let forbidden =
        std::env::var_os("GIT_TERMINAL_PROMPT").is_some_and(|v| v == "0" || v == "false");
    !forbidden && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks `question` on the terminal with these `answers`; the first is what Enter gives.
/// `None` when the user left with Esc or `q`.
///
/// # Errors
/// When the terminal cannot be read.
pub fn choose(question: &str, answers: &[&str]) -> Result<Option<usize>> {
    dialoguer::Select::new()
        .with_prompt(question)
        .items(answers)
        .default(0)
        .interact_on_opt(&Term::stderr())
        .context("cannot ask on the terminal")
}

/// Asks a yes/no `question`; Enter and Esc say no.
///
/// # Errors
/// When the terminal cannot be read.
pub fn confirm(question: &str) -> Result<bool> {
    dialoguer::Confirm::new()
        .with_prompt(question)
        .default(false)
        .interact_on_opt(&Term::stderr())
        .context("cannot ask on the terminal")
        .map(|answer| answer == Some(true))
}

/// At most 20 of `items` as indented lines, then how many more there are.
pub fn listed<T: Display>(items: &[T]) -> String {
    const SHOWN: usize = 20;
    let mut lines: Vec<String> = items.iter().take(SHOWN).map(|i| format!("  {i}")).collect();
    if items.len() > SHOWN {
        lines.push(format!("  … and {} more", items.len() - SHOWN));
    }
    lines.join("\n")
}

/// `1 turn`, `2 turns`.
pub fn counted(count: impl Display, noun: &str) -> String {
    match count.to_string().as_str() {
        "1" => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_as_git_shows_it() {
        assert_eq!(progress_line("Work", 34, 101), "Work:  33% (34/101)");
        assert_eq!(progress_line("Work", 0, 0), "Work: 100% (0/0)");
    }
}
