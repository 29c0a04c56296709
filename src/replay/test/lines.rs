//! Verdicts as lines: for a person, and in the Test Anything Protocol.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use crate::error::{Context, Result};
use crate::git::ByteSlice;
use crate::git::quote::quoted;
use crate::replay::test::verdict::{Tested, count};
use crate::ui::Ui;

/// One line a journal, and how many there were on stderr.
///
/// # Errors
/// When stdout cannot be written.
pub(super) fn human(tested: &[Tested], ui: &mut Ui) -> Result<()> {
    for one in tested {
        let reason = one.reason().replace('\n', "\n    ");
        let name = quoted(one.path.as_os_str().as_bytes().as_bstr());
        writeln!(ui.out, "{:<8} {name}: {reason}", one.word()).context(CANNOT)?;
    }
    let (passed, diverged) = (count(tested, "passed"), count(tested, "diverged"));
    let errors = count(tested, "error");
    ui.note(format_args!(
        "{passed} passed, {diverged} diverged, {errors} in error"
    ));
    Ok(())
}

/// TAP version 13 (testanything.org).
///
/// # Errors
/// When stdout cannot be written.
pub(super) fn tap(tested: &[Tested], ui: &mut Ui) -> Result<()> {
    let mut text = format!("TAP version 13\n1..{}\n", tested.len());
    for (number, one) in tested.iter().enumerate() {
        let verdict = if one.has_passed() { "ok" } else { "not ok" };
        // A '#' would begin a directive.
        let name = one
            .name()
            .replace('\\', "\\\\")
            .replace('#', "\\#")
            .replace('\n', " ");
        text.push_str(&format!("{verdict} {} - {name}\n", number + 1));
        if !one.has_passed() {
            text.push_str(&format!("  ---\n  verdict: {}\n  message: |\n", one.word()));
            for line in one.reason().lines() {
                text.push_str(&format!("    {line}\n"));
            }
            text.push_str("  ...\n");
        }
    }
    ui.out.write_all(text.as_bytes()).context(CANNOT)
}

const CANNOT: &str = "cannot write to standard output";
