//! Secrets whose name is another string of the same JSON: the words of a command, a
//! field `value` beside or below a name.

use serde_json::{Map, Value};

use super::prefilter::is_secret_field;
use super::{MASK, secrets};

/// How long a list of words may be to be a command.
const LONGEST: usize = 64 << 10;

/// Fields that hold the name of what is in `value`.
const NAMING: &[&str] = &["name", "key", "field", "variable", "header", "id"];

/// Fields that only hold the value of the field they are in.
const HOLDING: &[&str] = &[
    "value", "val", "raw", "data", "string", "text", "plain", "content",
];

/// Masks secrets that the words of a command make of each other.
pub(super) fn mask_words(items: &mut [Value]) {
    let mut joined = String::new();
    let mut starts = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Value::String(word) = item else { return };
        starts.push(joined.len());
        joined.push_str(word);
        joined.push(' ');
        if joined.len() > LONGEST {
            return;
        }
    }
    for secret in secrets(joined.as_bytes()).into_iter().rev() {
        for (item, start) in items.iter_mut().zip(&starts).rev() {
            let Value::String(word) = item else { continue };
            let from = secret.start.max(*start) - start;
            let to = secret.end.min(start + word.len()).saturating_sub(*start);
            if from < to && word.is_char_boundary(from) && word.is_char_boundary(to) {
                word.replace_range(from..to, MASK);
            }
        }
    }
}

/// Masks the fields of an object in `field` that hold the value of a name beside or
/// above them.
pub(super) fn mask_values(field: &str, fields: &mut Map<String, Value>) {
    let name = NAMING
        .iter()
        .find_map(|naming| fields.get(*naming))
        .and_then(Value::as_str)
        .map(str::to_owned);
    for (key, value) in fields.iter_mut() {
        let Value::String(text) = value else { continue };
        let holds = HOLDING
            .iter()
            .any(|holding| key.eq_ignore_ascii_case(holding));
        let is_named = |name: &str| is_secret_field(name, text);
        let is = (holds && (is_named(field) || name.as_deref().is_some_and(is_named)))
            || (["pass", "pw"]
                .iter()
                .any(|word| key.eq_ignore_ascii_case(word))
                && is_secret_field("password", text));
        if is {
            MASK.clone_into(text);
        }
    }
}
