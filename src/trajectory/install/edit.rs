//! Changes one field of a JSON object in its text. Numbers, spaces and the order of
//! everything else stay as somebody wrote them.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;

use crate::error::{Context, Result};

/// The fields of an object in the order of its text, each with the place of its value.
struct Fields(Vec<(String, Range<usize>)>);

/// `text`, an object or nothing, with `value` as its field `name`; without the field when
/// there is no value.
///
/// # Errors
/// When `text` is no JSON object.
pub(super) fn with_field(text: &str, name: &str, value: Option<&Value>) -> Result<String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let fields = Fields::of(text)?.0;
    let at = fields.iter().position(|(known, _)| known == name);
    let open = text.find('{').context("the settings are no JSON object")? + 1;
    let close = text.rfind('}').context("the settings are no JSON object")?;
    let unit = indentation(text, fields.is_empty());
    let written = value.map(|value| written(value, unit)).transpose()?;
    Ok(match (at, written) {
        (Some(at), Some(new)) => {
            let place = &fields[at].1;
            format!("{}{new}{}", &text[..place.start], &text[place.end..])
        }
        (Some(at), None) => {
            // With the comma and the spaces on one side of it.
            let (from, to) = match (at.checked_sub(1), fields.get(at + 1)) {
                (Some(before), _) => (fields[before].1.end, fields[at].1.end),
                (None, Some(_)) => {
                    let comma = text[fields[at].1.end..].find(',').unwrap_or(0);
                    (open, fields[at].1.end + comma + 1)
                }
                (None, None) => (open, close),
            };
            format!("{}{}", &text[..from], &text[to..])
        }
        (None, Some(new)) => {
            let end = fields.last().map_or(open, |(_, place)| place.end);
            let comma = if fields.is_empty() { "" } else { "," };
            let (line, rest) = match unit {
                Some(unit) if fields.is_empty() => {
                    (format!("\n{unit}"), format!("\n{}", &text[close..]))
                }
                Some(unit) => (format!("\n{unit}"), text[end..].to_owned()),
                None => (String::new(), text[end..].to_owned()),
            };
            let space = if unit.is_some() { " " } else { "" };
            format!("{}{comma}{line}\"{name}\":{space}{new}{rest}", &text[..end])
        }
        (None, None) => text.to_owned(),
    })
}

impl Fields {
    fn of(text: &str) -> Result<Self> {
        struct Visitor<'a>(&'a str);
        impl<'de> serde::de::Visitor<'de> for Visitor<'de> {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: serde::de::MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Fields, M::Error> {
                let mut fields = Vec::new();
                while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
                    // A raw value is a part of the text that it was read from.
                    let start = raw.get().as_ptr() as usize - self.0.as_ptr() as usize;
                    fields.push((name, start..start + raw.get().len()));
                }
                Ok(Fields(fields))
            }
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        serde::Deserializer::deserialize_map(&mut reader, Visitor(text))
            .context("the settings are no JSON object")
    }
}

/// What a level is indented by; `None` for an object on one line.
fn indentation(text: &str, is_empty: bool) -> Option<&str> {
    let Some((_, rest)) = text.trim_end().split_once('\n') else {
        return is_empty.then_some("  ");
    };
    let line = rest.lines().find(|line| !line.trim().is_empty())?;
    let unit = &line[..line.len() - line.trim_start().len()];
    Some(if unit.is_empty() { "  " } else { unit })
}

/// `value` as it stands one level deep.
fn written(value: &Value, unit: Option<&str>) -> Result<String> {
    let Some(unit) = unit else {
        return Ok(value.to_string());
    };
    let mut bytes = Vec::new();
    let format = PrettyFormatter::with_indent(unit.as_bytes());
    value.serialize(&mut Serializer::with_formatter(&mut bytes, format))?;
    let text = String::from_utf8(bytes).context("JSON is text")?;
    Ok(text.replace('\n', &format!("\n{unit}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(before: &str, value: Option<Value>, after: &str) {
        let done = with_field(before, "hooks", value.as_ref()).expect("edited");
        assert_eq!(done, after);
    }

    #[test]
    fn what_is_around_the_field_stays() {
        check("", Some(json!([1])), "{\n  \"hooks\": [\n    1\n  ]\n}\n");
        check(
            "{\n\t\"big\": 12345678901234567890123,\n\t\"f\": 1.50e2\n}\n",
            Some(json!({})),
            "{\n\t\"big\": 12345678901234567890123,\n\t\"f\": 1.50e2,\n\t\"hooks\": {}\n}\n",
        );
        check(
            "{\"a\":1.0, \"hooks\" : {\"x\":1},\"b\":2}",
            Some(json!({"y": 2})),
            "{\"a\":1.0, \"hooks\" : {\"y\":2},\"b\":2}",
        );
    }

    #[test]
    fn a_field_goes_with_its_comma() {
        check("{\"a\": 1,\n \"hooks\": {}}", None, "{\"a\": 1}");
        check("{\"hooks\": {},\n \"a\": 1}", None, "{\n \"a\": 1}");
        check("{\n  \"hooks\": {}\n}\n", None, "{}\n");
        check("{\"a\": 1}", None, "{\"a\": 1}");
    }
}
