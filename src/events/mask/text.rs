//! Text without secrets, as a type.

use std::fmt;
use std::ops::{Deref, Range};

use super::{known_secrets, secrets};

/// What stands where a secret was.
pub const MASK: &str = "[masked]";

/// How far behind a cut is looked.
const LOOK_AHEAD: usize = 32 << 10;

/// Text without secrets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Masked(String);

impl Masked {
    /// Masks `text`.
    pub fn new(text: &str) -> Self {
        let found = secrets(text.as_bytes());
        Masked(without(&found, text).unwrap_or_else(|| text.to_owned()))
    }

    /// Masks `text`, which stays where it is when there is nothing to mask.
    pub fn from_string(text: String) -> Self {
        let found = secrets(text.as_bytes());
        Masked(without(&found, &text).unwrap_or(text))
    }

    /// Masks what may be a name: what is only random is none of a secret there.
    pub(super) fn of_name(text: String) -> Self {
        let found = known_secrets(text.as_bytes());
        Masked(without(&found, &text).unwrap_or(text))
    }

    /// Masks bytes; what is not UTF-8 becomes U+FFFD.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Masked::new(&String::from_utf8_lossy(bytes))
    }

    /// The first `limit` bytes of `text`, of which no more is masked than can matter: a
    /// secret that begins before the cut is known by what follows it.
    pub fn beginning(text: &str, limit: usize) -> Self {
        let seen = boundary(text, limit.saturating_add(LOOK_AHEAD));
        Masked::new(&text[..seen]).cut(limit)
    }

    /// At most `limit` bytes, cut where a character ends.
    #[must_use]
    pub fn cut(mut self, limit: usize) -> Self {
        self.0.truncate(boundary(&self.0, limit));
        self
    }

    /// At most `count` characters.
    #[must_use]
    pub fn head(&self, count: usize) -> Self {
        Masked(self.0.chars().take(count).collect())
    }

    /// The text, on its own.
    pub(super) fn into_string(self) -> String {
        self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Masked {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Masked {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

/// The greatest length up to `limit` at which `text` can be cut.
pub fn boundary(text: &str, limit: usize) -> usize {
    let mut at = limit.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `text` without `secrets`, when there are some.
fn without(secrets: &[Range<usize>], text: &str) -> Option<String> {
    if secrets.is_empty() {
        return None;
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for secret in secrets {
        // Rules end at ASCII bytes, but a value may begin or end inside of
        // what they do not look at.
        let start = boundary(text, secret.start).max(from);
        let mut end = secret.end.min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        clean.push_str(&text[from..start]);
        clean.push_str(MASK);
        from = end.max(start);
    }
    clean.push_str(&text[from..]);
    Some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_keeps_what_is_around_the_secret() {
        let text = Masked::new("grün postgres://app:hunter2hunter2@db/x ü");
        assert_eq!(&*text, "grün postgres://app:[masked]@db/x ü");
    }

    #[test]
    fn masking_twice_changes_nothing() {
        let once = Masked::new("password=hunter2secret token: 'abcDEF0123456789abcDEF'");
        assert!(once.contains(MASK));
        assert_eq!(Masked::new(&once), once);
    }

    #[test]
    fn a_cut_ends_at_a_character() {
        assert_eq!(&*Masked::new("aü").cut(2), "a");
        assert_eq!(&*Masked::new("aüb").head(2), "aü");
    }
}
