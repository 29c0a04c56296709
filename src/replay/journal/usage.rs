//! Tokens, as a journal counts them.

use serde::Serialize;

use crate::error::Result;
use crate::replay::journal::fields::Fields;

/// Tokens that a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Sent to the model.
    pub input: u64,
    /// Of these, read from a cache.
    pub cached: u64,
    /// Received from the model.
    pub output: u64,
    /// Written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "cacheCreated")]
    pub cache_creation: Option<u64>,
    /// Whether nothing is missing from the counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
}

impl Usage {
    /// Reads `fields`.
    ///
    /// # Errors
    /// When a count is missing or no count.
    pub(super) fn read(mut fields: Fields) -> Result<Self> {
        Ok(Usage {
            input: fields.require_count("input")?,
            cached: fields.require_count("cached")?,
            output: fields.require_count("output")?,
            cache_creation: fields.count("cacheCreated")?,
            complete: fields.boolean("complete")?,
        })
    }

    /// This together with `other`.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        let either = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Usage {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            cache_creation: either(self.cache_creation, other.cache_creation),
            complete: match (self.complete, other.complete) {
                (None, None) => None,
                (a, b) => Some(a != Some(false) && b != Some(false)),
            },
        }
    }

    /// What remains of this when `earlier` was counted already.
    #[must_use]
    pub fn minus(self, earlier: Usage) -> Usage {
        Usage {
            input: self.input.saturating_sub(earlier.input),
            cached: self.cached.saturating_sub(earlier.cached),
            output: self.output.saturating_sub(earlier.output),
            cache_creation: self
                .cache_creation
                .map(|n| n.saturating_sub(earlier.cache_creation.unwrap_or(0))),
            complete: self.complete,
        }
    }
}
