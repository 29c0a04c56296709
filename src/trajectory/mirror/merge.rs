//! One call, one row: where a live line and an imported one tell of the same
//! call, the live one keeps its id and time and takes from the other what it lacks.

use serde_json::{Map, Value};

/// Fills what `live` lacks (no field, or null) from `imported`; says which
/// fields those were in `merged`.
///
/// An outcome `ok` of `live` counts for nothing when it `is_guess`.
pub(super) fn fill(live: &mut Map<String, Value>, imported: &Map<String, Value>, is_guess: bool) {
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
    let outcome = |fields: &Map<String, Value>| fields.get("outcome").cloned().unwrap_or_default();
    let (was, known) = (outcome(live), outcome(imported));
    let can_change = was == "unknown" || (is_guess && was == "ok");
    if can_change && !known.is_null() && known != "unknown" && known != was {
        for field in ["outcome", "is_error"] {
            if let Some(value) = imported.get(field) {
                live.insert(field.to_owned(), value.clone());
                if !filled.iter().any(|name| name == field) {
                    filled.push(field.into());
                }
            }
        }
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
            false,
        );
        assert_eq!(
            Value::Object(live),
            json!({"duration_ms": 3, "outcome": "ok", "is_error": false, "merged": ["is_error", "outcome"]})
        );
    }

    #[test]
    fn a_guess_is_corrected_and_a_fact_is_not() {
        let failed = map(json!({"outcome": "error", "is_error": true}));
        for (is_guess, outcome) in [(true, "error"), (false, "ok")] {
            let mut live = map(json!({"outcome": "ok", "is_error": false}));
            fill(&mut live, &failed, is_guess);
            assert_eq!(live["outcome"], outcome);
            assert_eq!(live["is_error"], is_guess);
        }
    }
}
