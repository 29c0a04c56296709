//! Paths as text: git's C-style quotes (git-config(1), `core.quotePath`) and JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gix::bstr::{BStr, BString, ByteSlice};
use serde_json::{Value, json};

/// `path` as it is, or in double quotes with escapes when it holds a control
/// byte, a quote, a backslash or bytes that are not UTF-8.
pub fn quoted(path: &BStr) -> String {
    match path.to_str() {
        Ok(text)
            if !text
                .chars()
                .any(|c| c.is_control() || c == '"' || c == '\\') =>
        {
            text.to_owned()
        }
        _ => in_quotes(path),
    }
}

/// `path` in double quotes, whatever is in it.
pub fn in_quotes(path: &BStr) -> String {
    let mut text = String::from("\"");
    for byte in path.iter() {
        match byte {
            b'\x07' => text.push_str("\\a"),
            b'\x08' => text.push_str("\\b"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\x0b' => text.push_str("\\v"),
            b'\x0c' => text.push_str("\\f"),
            b'\r' => text.push_str("\\r"),
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7e => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// The inverse of [`quoted`]; `None` when the quotes or escapes are broken.
pub fn unquoted(text: &BStr) -> Option<BString> {
    let Some(inner) = text.strip_prefix(b"\"") else {
        return Some(text.to_owned());
    };
    let inner = inner.strip_suffix(b"\"")?;
    let mut path = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        path.push(match bytes.next()? {
            b'a' => b'\x07',
            b'b' => b'\x08',
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => b'\x0b',
            b'f' => b'\x0c',
            b'r' => b'\r',
            same @ (b'"' | b'\\') => same,
            first @ b'0'..=b'3' => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    let digit = bytes.next().filter(|d| (b'0'..=b'7').contains(d))?;
                    value = value << 3 | (digit - b'0');
                }
                value
            }
            _ => return None,
        });
    }
    Some(path.into())
}

/// A path in our JSON: a string, or `{"bytes": "<base64>"}` when it is not UTF-8.
pub fn json_path(path: &BStr) -> Value {
    match path.to_str() {
        Ok(text) => Value::from(text),
        Err(_) => json!({"bytes": STANDARD.encode(path)}),
    }
}

/// The inverse of [`json_path`].
pub fn path_of_json(value: &Value) -> Option<BString> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        other => {
            let encoded = other.get("bytes")?.as_str()?;
            STANDARD.decode(encoded).ok().map(BString::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &[u8], text: &str) {
        assert_eq!(quoted(path.as_bstr()), text);
        assert_eq!(unquoted(text.into()), Some(path.into()));
        assert_eq!(path_of_json(&json_path(path.as_bstr())), Some(path.into()));
    }

    #[test]
    fn quotes_are_exact_both_ways() {
        check(b"a b/c", "a b/c");
        check("gr\u{fc}n".as_bytes(), "gr\u{fc}n");
        check(b"a\nHarness-Path: b", "\"a\\nHarness-Path: b\"");
        check(b"say \"hi\"\\", "\"say \\\"hi\\\"\\\\\"");
        check(b"\xff\x01", "\"\\377\\001\"");
    }

    #[test]
    fn broken_quotes_are_no_path() {
        for text in ["\"a", "\"\\x\"", "\"\\4\"", "\"\\37\""] {
            assert_eq!(unquoted(text.into()), None, "{text}");
        }
    }
}
