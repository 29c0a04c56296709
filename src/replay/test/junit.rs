//! Verdicts as JUnit XML, in the shape that the schema of Jenkins accepts.

use std::fmt::Write as _;
use std::io::Write;

use crate::error::{Context, Result};
use crate::replay::test::verdict::{Tested, Verdict, count};
use crate::ui::Ui;

/// Writes one test suite with a case for each journal.
///
/// # Errors
/// When stdout cannot be written.
pub(super) fn write(tested: &[Tested], ui: &mut Ui) -> Result<()> {
    let seconds: f64 = tested.iter().map(|one| one.time.as_secs_f64()).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{seconds:.3}\"",
        tested.len(),
        count(tested, "diverged"),
        count(tested, "error"),
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"git-replay\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"journals\" {counts}>");
    for one in tested {
        let name = escaped(&one.name());
        let time = one.time.as_secs_f64();
        let _ = write!(
            xml,
            "    <testcase classname=\"git-replay\" name=\"{name}\" time=\"{time:.3}\""
        );
        let (element, kind) = match &one.verdict {
            Verdict::Passed { .. } => {
                xml.push_str("/>\n");
                continue;
            }
            Verdict::Diverged(divergences) => (
                "failure",
                divergences.first().map_or("diverged", |d| d.word()),
            ),
            Verdict::Error(_) => ("error", "error"),
        };
        let reason = escaped(&one.reason());
        let first = reason.lines().next().unwrap_or_default();
        let _ = writeln!(
            xml,
            ">\n      <{element} type=\"{kind}\" message=\"{first}\">{reason}</{element}>\n    </testcase>"
        );
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    ui.out
        .write_all(xml.as_bytes())
        .context("cannot write to standard output")
}

/// `text` as XML 1.0 may hold it, also in an attribute.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' | '\t' => xml.push(c),
            // Not even as a reference.
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_safe_for_xml() {
        assert_eq!(
            escaped("<a b=\"c\">&\x01\u{e9}\n"),
            "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}\u{e9}\n"
        );
    }
}
