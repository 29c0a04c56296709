//! The extensions for agents that have no hooks but load code.

use std::path::Path;

/// The first words of our files, by which they are known again.
pub(super) const MARK: &str = "// git-trajectory: tells";

const PI: &str = include_str!("pi.ts");
const OPENCODE: &str = include_str!("opencode.js");

/// The extension of `agent` that starts `program`.
pub(super) fn text(agent: &str, program: &Path) -> String {
    let source = if agent == "pi" { PI } else { OPENCODE };
    source.replace(
        "\"@PROGRAM@\"",
        &serde_json::Value::from(program.to_string_lossy()).to_string(),
    )
}
