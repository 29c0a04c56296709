//! Errors as git prints them: what failed, on which thing, why; then what to do.

use std::fmt;
use std::io;

pub use anyhow::{Context, Error, Result, anyhow, bail, ensure};

/// An error together with the advice that belongs to it.
#[derive(Debug)]
struct Hinted {
    hint: String,
    source: Error,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.source()
    }
}

/// Attaches a `hint:` line to a failure, at the place where the advice is known.
pub trait Hint<T> {
    /// Adds `text`, printed after the error as `hint: <text>`.
    ///
    /// # Errors
    /// Passes the failure on, now with the hint.
    fn hint(self, text: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<Error>> Hint<T> for std::result::Result<T, E> {
    fn hint(self, text: impl Into<String>) -> Result<T> {
        self.map_err(|e| {
            Error::new(Hinted {
                hint: text.into(),
                source: e.into(),
            })
        })
    }
}

/// Makes an error that carries a hint.
pub fn hinted(message: impl fmt::Display, hint: impl Into<String>) -> Error {
    Error::new(Hinted {
        hint: hint.into(),
        source: anyhow!("{message}"),
    })
}

/// The lines to print for `error`: one `fatal:` line with the whole chain,
/// then its hints, outermost first.
pub fn report(error: &Error) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // A wrapper that repeats its source (`Hinted`, gix's own errors) says it once.
        if reasons.last().is_none_or(|last| !last.ends_with(&text)) {
            reasons.push(text);
        }
    }
    let mut lines = format!("fatal: {}", reasons.join(": "));
    for hint in hints(error) {
        for line in hint.lines() {
            lines.push_str("\nhint: ");
            lines.push_str(line);
        }
    }
    lines
}

fn hints(error: &Error) -> Vec<&str> {
    let mut found = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        next = None;
        for cause in error.chain() {
            if let Some(hinted) = cause.downcast_ref::<Hinted>() {
                found.push(hinted.hint.as_str());
                next = Some(&hinted.source);
                break;
            }
        }
        if next.is_none() {
            // `context()` on top of a hinted error hides it from `chain()`'s
            // downcast but not from anyhow's own.
            if let Some(hinted) = error.downcast_ref::<Hinted>()
                && !found.contains(&hinted.hint.as_str())
            {
                found.push(hinted.hint.as_str());
                next = Some(&hinted.source);
            }
        }
    }
    found
}

/// Whether `error` only says that the reader of our output went away.
pub fn is_broken_pipe(error: &Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_chain_and_the_hint() {
        let inner: Result<()> = Err(anyhow!("it has changes")).hint("commit them");
        let error = inner.context("cannot remove 'x'").unwrap_err();
        assert_eq!(
            report(&error),
            "fatal: cannot remove 'x': it has changes\nhint: commit them"
        );
    }

    #[test]
    fn a_hint_on_top_of_a_chain_keeps_the_reasons() {
        let error = Err::<(), _>(anyhow!("no space"))
            .context("cannot write 'a'")
            .hint("free some")
            .unwrap_err();
        assert_eq!(
            report(&error),
            "fatal: cannot write 'a': no space\nhint: free some"
        );
    }

    #[test]
    fn a_closed_pipe_is_known_below_context() {
        let error = Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot print");
        assert!(is_broken_pipe(&error));
    }
}
