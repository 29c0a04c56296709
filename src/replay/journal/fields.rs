//! The fields of one JSON object, taken out by name and type; every error
//! says where the object stands.

use gix::ObjectId;
use serde_json::{Map, Value};

use crate::error::{Context, Result, anyhow, bail};
use crate::replay::object::object_id;

/// The greatest whole number that JavaScript keeps exact, `2^53 - 1`.
const SAFE: u64 = (1 << 53) - 1;

/// An object's fields, and what to call it in an error.
#[derive(Debug)]
pub struct Fields {
    place: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The fields of `value`, which stands at `place`.
    ///
    /// # Errors
    /// When it is no object.
    pub fn of(place: String, value: Value) -> Result<Self> {
        match value {
            Value::Object(map) => Ok(Fields { place, map }),
            other => bail!("{place} is {}, not an object", name_of(&other)),
        }
    }

    /// What errors call this object.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// An error about this object.
    pub fn error(&self, what: impl std::fmt::Display) -> crate::error::Error {
        anyhow!("{}: {what}", self.place)
    }

    /// Whether `key` is there.
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Takes the value of `key`.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    /// Takes the text `key`, if it is there.
    ///
    /// # Errors
    /// When it is no string.
    pub fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, "a string", &other)),
        }
    }

    /// Takes the text `key`.
    ///
    /// # Errors
    /// When it is missing or no string.
    pub fn require_text(&mut self, key: &str) -> Result<String> {
        self.text(key)?.with_context(|| self.missing(key))
    }

    /// Takes the object `key`, if it is there.
    ///
    /// # Errors
    /// When it is no object.
    pub fn object(&mut self, key: &str) -> Result<Option<Fields>> {
        match self.take(key) {
            None => Ok(None),
            Some(value @ Value::Object(_)) => {
                Ok(Some(Fields::of(format!("{}, {key}", self.place), value)?))
            }
            Some(other) => Err(self.wrong(key, "an object", &other)),
        }
    }

    /// Takes the object `key`.
    ///
    /// # Errors
    /// When it is missing or no object.
    pub fn require_object(&mut self, key: &str) -> Result<Fields> {
        self.object(key)?.with_context(|| self.missing(key))
    }

    /// Takes the array `key`, if it is there.
    ///
    /// # Errors
    /// When it is no array.
    pub fn array(&mut self, key: &str) -> Result<Option<Vec<Value>>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(self.wrong(key, "an array", &other)),
        }
    }

    /// Takes the array `key`.
    ///
    /// # Errors
    /// When it is missing or no array.
    pub fn require_array(&mut self, key: &str) -> Result<Vec<Value>> {
        self.array(key)?.with_context(|| self.missing(key))
    }

    /// Takes the boolean `key`, if it is there.
    ///
    /// # Errors
    /// When it is no boolean.
    pub fn boolean(&mut self, key: &str) -> Result<Option<bool>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(fact)) => Ok(Some(fact)),
            Some(other) => Err(self.wrong(key, "true or false", &other)),
        }
    }

    /// Takes the count `key`, if it is there: a whole number that JavaScript keeps exact.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn count(&mut self, key: &str) -> Result<Option<u64>> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|n| *n <= SAFE) {
                Some(count) => Ok(Some(count)),
                None => Err(self.wrong(key, "a whole number from 0 to 2^53-1", &value)),
            },
        }
    }

    /// Takes the count `key`.
    ///
    /// # Errors
    /// When it is missing or no count.
    pub fn require_count(&mut self, key: &str) -> Result<u64> {
        self.count(key)?.with_context(|| self.missing(key))
    }

    /// Takes the object id `key`: exactly 40 or exactly 64 lower-case hex digits.
    ///
    /// # Errors
    /// When it is missing or anything else.
    pub fn require_id(&mut self, key: &str) -> Result<ObjectId> {
        let text = self.require_text(key)?;
        object_id(&text).ok_or_else(|| {
            self.error(format_args!(
                "'{key}' must be an object id of 40 or 64 lower-case hex digits"
            ))
        })
    }

    fn missing(&self, key: &str) -> String {
        format!("{}: '{key}' is missing", self.place)
    }

    fn wrong(&self, key: &str, wanted: &str, found: &Value) -> crate::error::Error {
        self.error(format_args!("'{key}' is {}, not {wanted}", name_of(found)))
    }
}

fn name_of(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(fact) => fact.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}
