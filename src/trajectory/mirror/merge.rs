//! One call, one row: where a live line and an imported one tell of the same
//! call, the live one keeps its id and time and takes from the other what it lacks.

use serde_json::{Map, Value};

/// Fills what `live` lacks (no field, or null) from `imported`; says which
/// fields those were in `merged`.
pub(super) fn fill(live: &mut Map<String, Value>, imported: &Map<String, Value>) {
    let mut filled: Vec<Value> = match live.get("merged") {
        Some(Value::Array(before)) => before.clone(),
        _ => Vec::new(),
    };
    for (field, value) in imported {
        let lacks = live.get(field).is_none_or(Value::is_null);
        if field != "merged" && field != "copied" && lacks && !value.is_null() {
            live.insert(field.clone(), value.clone());
            filled.push(field.as_str().into());
        }
    }
    // A guess is replaced by the word of the agent's own record.
    if live.get("outcome").and_then(Value::as_str) == Some("unknown")
        && let Some(known) = imported
            .get("outcome")
            .filter(|o| o.as_str() != Some("unknown") && !o.is_null())
    {
        live.insert("outcome".to_owned(), known.clone());
        filled.push("outcome".into());
    }
    if !filled.is_empty() {
        live.insert("merged".to_owned(), Value::Array(filled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn only_what_is_missing_is_filled() {
        let mut live = map(json!({"duration_ms": 3, "outcome": "unknown", "is_error": null}));
        fill(
            &mut live,
            &map(json!({"duration_ms": 9, "outcome": "ok", "is_error": false})),
        );
        assert_eq!(
            Value::Object(live),
            json!({"duration_ms": 3, "outcome": "ok", "is_error": false, "merged": ["is_error", "outcome"]})
        );
    }
}
