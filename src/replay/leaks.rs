//! Secrets in what commits add: named by file and line, since to mask them
//! would change every id.

use crate::events::mask::secrets;
use crate::git::quote::{quoted, unquoted};
use crate::git::{BString, ByteSlice};

/// `<path>:<line>` of each added line in the readable `patch` that holds a secret.
pub(super) fn of(patch: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut path = BString::default();
    let mut number = 0;
    let mut left = 0;
    for line in patch.lines() {
        if left == 0 {
            if let Some(name) = line.strip_prefix(b"+++ ") {
                let name = name.strip_suffix(b"\t").unwrap_or(name);
                let name = unquoted(name.as_bstr()).unwrap_or_else(|| name.into());
                path = name.strip_prefix(b"b/").unwrap_or(&name).into();
            } else if let Some((start, count)) = added(line) {
                (number, left) = (start, count);
            }
            continue;
        }
        match line.first() {
            Some(b'+') => {
                if !secrets(&line[1..]).is_empty() {
                    found.push(format!("{}:{number}", quoted(path.as_bstr())));
                }
                number += 1;
                left -= 1;
            }
            Some(b'-' | b'\\') => {}
            _ => {
                number += 1;
                left -= 1;
            }
        }
    }
    found
}

/// Start and count of the new side in a hunk header.
fn added(line: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(line.strip_prefix(b"@@ -")?.split_str(" @@").next()?).ok()?;
    let (_, new) = text.split_once(" +")?;
    match new.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((new.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_by_file_and_line() {
        let secret = "ghp_Ab3dEf6hIj9LmN2pQr5tUv8xYz1Bc4De7FgH";
        let patch = format!(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ fn\n a\n-{secret}\n+b\n+key {secret}\n\
             diff --git \"a/q\\\"\" \"b/q\\\"\"\n--- /dev/null\n+++ \"b/q\\\"\"\n@@ -0,0 +1 @@\n+{secret}\n\\ No newline\n"
        );
        assert_eq!(of(patch.as_bytes()), ["x:3", "\"q\\\"\":1"]);
    }
}
