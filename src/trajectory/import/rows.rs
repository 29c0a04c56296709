//! The rows of a transcript, whatever state the file is in.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::error::Result;
use crate::events::time;
use crate::trajectory::import::archive;

/// The longest row that is read; longer ones hold images or whole histories.
const LONGEST: usize = 32 << 20;

/// Calls `row` for each JSON row of `path` that `wanted` lets pass; gives the
/// number of rows that could not be read.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn each(
    path: &Path,
    wanted: impl Fn(&[u8]) -> bool,
    mut row: impl FnMut(Value),
) -> Result<u64> {
    let mut lines = archive::lines(path, LONGEST)?;
    let mut broken = 0;
    let mut take = |text: &[u8]| {
        if !wanted(text) {
            return;
        }
        match serde_json::from_slice(text)
            .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(text)))
        {
            Ok(value) => row(value),
            Err(_) => broken += 1,
        }
    };
    while let Some((_, text)) = lines.next_line()? {
        take(text);
    }
    if !lines.rest().is_empty() {
        take(lines.rest());
    }
    Ok(broken + lines.passed().long)
}

/// Whether `text` has `part` in it.
pub(super) fn has(text: &[u8], part: &str) -> bool {
    let part = part.as_bytes();
    text.windows(part.len()).any(|window| window == part)
}

/// The time in field `name` of `row`, RFC 3339 or milliseconds.
pub(super) fn ms(row: &Value, name: &str) -> Option<i64> {
    match row.get(name)? {
        Value::String(text) => time::parse(text),
        number => number.as_i64(),
    }
}

/// The text in field `name` of `row`.
pub(super) fn text<'a>(row: &'a Value, name: &str) -> Option<&'a str> {
    row.get(name)?.as_str()
}

/// All text of a message's content: a string, or blocks with `text`.
pub(super) fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|b| b.get("text").and_then(Value::as_str).or_else(|| b.as_str()))
                .collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The agent that wrote the transcript at `path`.
pub(super) fn agent_of(path: &Path) -> Option<&'static str> {
    let mut head = vec![0; 4096];
    let mut file = std::fs::File::open(path).ok()?;
    let length = file.read(&mut head).ok()?;
    let head = &head[..length];
    if head.starts_with(b"SQLite format 3\0") {
        return Some("opencode");
    }
    let first = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let starts = |what: &str| has(first, what);
    if starts("\"session_meta\"") || path.extension().is_some_and(|e| e == "zst") {
        Some("codex")
    } else if starts("\"projectHash\"") {
        Some("gemini")
    } else if starts("\"type\":\"session\"") && starts("\"version\"") {
        Some("pi")
    } else if has(head, "\"sessionId\"") {
        Some("claude")
    } else {
        None
    }
}
