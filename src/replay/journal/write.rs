//! Writing a journal: one entry a line, so that a change of one is a change
//! of one line.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::replay::journal::container::Form;

/// The envelope fields, which belong to the container and not to the event.
const ENVELOPE: &[&str] = &["seq", "at", "source", "scope", "label", "pass"];

/// `entries`, each one JSON object without line breaks, in `form`.
pub fn container(entries: &[String], form: Form) -> String {
    match form {
        Form::Lines => entries.iter().map(|entry| format!("{entry}\n")).collect(),
        Form::Array => format!("[\n{}\n]\n", entries.join(",\n")),
    }
}

/// The JSON `text` without blanks and line breaks between its tokens, every
/// token as it stands.
pub fn compact(text: &str) -> String {
    let mut compacted = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            quoted = c == '"';
        }
        compacted.push(c);
    }
    compacted
}

/// The event in the entry `text`: its fields as they stand, without the envelope.
///
/// # Errors
/// When it is no JSON object.
pub fn event(text: &str) -> Result<String> {
    let fields: Fields<'_> = serde_json::from_str(text)?;
    let mut event = String::from("{");
    for (key, value) in fields.0 {
        if ENVELOPE.contains(&key.as_str()) {
            continue;
        }
        if event.len() > 1 {
            event.push(',');
        }
        event.push_str(&json(key));
        event.push(':');
        event.push_str(&compact(value.get()));
    }
    event.push('}');
    Ok(event)
}

/// The object `text` with `value`, which is JSON, in its field `key`; every other
/// field as it stands.
///
/// # Errors
/// When it is no JSON object.
pub fn with(text: &str, key: &str, value: &str) -> Result<String> {
    let fields: Fields<'_> = serde_json::from_str(text)?;
    let written: Vec<(&str, Option<String>)> = fields
        .0
        .iter()
        .map(|(name, raw)| match name == key {
            true => (name.as_str(), Some(value.to_owned())),
            false => (name.as_str(), Some(compact(raw.get()))),
        })
        .collect();
    Ok(object(&written))
}

/// The JSON of the field `key` of the object `text`.
///
/// # Errors
/// When it is no JSON object.
pub fn field<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    let fields: Fields<'a> = serde_json::from_str(text)?;
    let found = fields.0.into_iter().find(|(name, _)| name == key);
    Ok(found.map(|(_, raw)| raw.get()))
}

/// The JSON of each element of the array `text`.
///
/// # Errors
/// When it is no JSON array.
pub fn elements(text: &str) -> Result<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(elements.into_iter().map(RawValue::get).collect())
}

/// An object's fields in the order in which they stand.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> serde::de::Visitor<'de> for Ordered {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut pairs: A,
            ) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(pair) = pairs.next_entry()? {
                    fields.push(pair);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}

/// An object whose fields stand in this order; each value is JSON text, and a
/// field without one is left out.
pub fn object(fields: &[(&str, Option<String>)]) -> String {
    let mut text = String::from("{");
    for (key, value) in fields {
        let Some(value) = value else {
            continue;
        };
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&json(*key));
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// `value` as JSON text.
pub fn json(value: impl Into<Value>) -> String {
    value.into().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_changes_no_token() {
        assert_eq!(
            compact("{ \"a b\" : [ 1.0 ,\n 1e5, \"x \\\" y\\\\\" ] }"),
            "{\"a b\":[1.0,1e5,\"x \\\" y\\\\\"]}"
        );
    }

    #[test]
    fn an_event_keeps_order_and_spelling() {
        let entry =
            r#"{"seq":1,"z":1.50,"kind":"text","at":"x","a":{"c":1,"b":2},"source":"agent"}"#;
        assert_eq!(
            event(entry).expect("an object"),
            r#"{"z":1.50,"kind":"text","a":{"c":1,"b":2}}"#
        );
    }
}
