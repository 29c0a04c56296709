//! JSON without secrets: masked field by field, on decoded strings, so that a
//! secret in an escape is found and ids stay whole.

use std::fmt;

use serde_json::Value;

use super::argv::{mask_values, mask_words};
use super::prefilter::is_secret_field;
use super::public::is_public_name;
use super::{MASK, Masked, bare, boundary, known_secrets};

/// One JSON value without secrets, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedJson(String);

/// Fields whose values name something. They pass when they look like a name,
/// so that two records can still be joined.
const NAMES: &[&str] = &[
    "agent_id",
    "call_key",
    "commit",
    "event_id",
    "head",
    "message_id",
    "parent",
    "prompt_id",
    "ref",
    "request_id",
    "response_id",
    "session",
    "session_id",
    "tool_call_id",
    "tree",
    "turn_id",
    "uuid",
    "blob",
    "call",
    "run",
    "phase_id",
    "adw_id",
    "id",
    "model",
    "tool",
];

/// Fields that hold what cannot be read anyway, and must not be changed.
const OPAQUE: &[&str] = &[
    "signature",
    "thinkingSignature",
    "thoughtSignature",
    "encrypted_content",
];

/// Fields that hold what was said or printed: a token alone there is no name.
const SAID: &[&str] = &[
    "body", "command", "content", "output", "prompt", "result", "stderr", "stdout", "text", "value",
];

impl MaskedJson {
    /// Masks every string of `value`, keys too; what is longer than
    /// `limit` bytes is cut, and says how long it was.
    pub fn new(mut value: Value, limit: usize) -> Self {
        clean(&mut value, "", limit);
        MaskedJson(value.to_string())
    }

    /// The same for the value of one field, by the rules for that name.
    pub fn field(name: &str, mut value: Value, limit: usize) -> Self {
        clean(&mut value, name, limit);
        MaskedJson(value.to_string())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MaskedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn clean(value: &mut Value, field: &str, limit: usize) {
    match value {
        Value::String(text) => {
            if OPAQUE.contains(&field) || (NAMES.contains(&field) && is_identifier(text)) {
                return;
            }
            let is_said = SAID.contains(&field);
            if is_secret_field(field, text) || (is_said && bare::is_whole(text.as_bytes())) {
                MASK.clone_into(text);
                return;
            }
            if text.len() > limit {
                let (rest, size) = told_size(text).unwrap_or((text, text.len()));
                let head = Masked::beginning(rest, limit);
                *text = format!("{}{ELLIPSIS}{size}{BYTES}", head.as_str());
            } else if !is_said && !text.contains(' ') && is_public_name(field.as_bytes()) {
                *text = Masked::of_name(std::mem::take(text)).into_string();
            } else {
                *text = Masked::from_string(std::mem::take(text)).into_string();
            }
        }
        Value::Array(items) => {
            if !is_public_name(field.as_bytes()) {
                mask_words(items);
            }
            for item in items {
                clean(item, field, limit);
            }
        }
        Value::Object(fields) => {
            let dirty: Vec<String> = fields
                .keys()
                .filter(|key| !known_secrets(key.as_bytes()).is_empty())
                .cloned()
                .collect();
            for key in dirty {
                if let Some(held) = fields.remove(&key) {
                    fields.insert(Masked::new(&key).as_str().to_owned(), held);
                }
            }
            mask_values(field, fields);
            for (key, item) in fields.iter_mut() {
                clean(item, key, limit);
            }
        }
        _ => {}
    }
}

/// Between what is left of a text and its size.
const ELLIPSIS: &str = "… [";
/// Behind the size.
const BYTES: &str = " bytes]";

/// What was cut before tells its size already.
fn told_size(text: &str) -> Option<(&str, usize)> {
    let (head, size) = text.strip_suffix(BYTES)?.rsplit_once(ELLIPSIS)?;
    let size = size.parse().ok()?;
    (size > head.len()).then_some((head, size))
}

/// Whether `text` is a name that a program gave: an id, a hash, a ref, a model. A
/// token with a known shape is none.
pub fn is_identifier(text: &str) -> bool {
    text.len() <= 200
        && text.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'/' | b'#' | b'@')
        })
        && known_secrets(text.as_bytes()).is_empty()
        && boundary(text, text.len()) == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, clean: &str) {
        assert_eq!(MaskedJson::new(value, 4096).as_str(), clean);
    }

    #[test]
    fn fields_are_masked_by_their_name() {
        check(
            json!({"password": "hunter2secret"}),
            r#"{"password":"[masked]"}"#,
        );
        check(
            json!({"a": ["x", {"apiKey": "9f86d081884c7d659a2feaa0c55ad015"}]}),
            r#"{"a":["x",{"apiKey":"[masked]"}]}"#,
        );
    }

    #[test]
    fn ids_and_signatures_stay() {
        check(
            json!({"session_id": "6c874c5d-3369-4120-b7ee-7ec04aaf9561"}),
            r#"{"session_id":"6c874c5d-3369-4120-b7ee-7ec04aaf9561"}"#,
        );
        check(
            json!({"signature": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x"}),
            r#"{"signature":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x"}"#,
        );
    }

    #[test]
    fn long_strings_are_cut_after_masking() {
        let text = format!("{}hunter2secret", "x password=");
        assert_eq!(
            MaskedJson::new(json!({"t": text}), 14).as_str(),
            r#"{"t":"x password=[ma… [24 bytes]"}"#
        );
        // Once more changes nothing: the size stays that of the whole.
        let once = MaskedJson::new(json!({"t": text}), 14);
        let again = serde_json::from_str(once.as_str()).expect("JSON");
        assert_eq!(MaskedJson::new(again, 14), once);
    }
}
