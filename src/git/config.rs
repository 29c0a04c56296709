//! git's configuration, read in process.

use gix::bstr::{BString, ByteSlice};

use crate::error::{Context, Result, bail};
use crate::git::Repo;

impl Repo {
    /// The last value of `key`.
    pub fn config(&self, key: &str) -> Option<BString> {
        self.gix().config_snapshot().string(key)
    }

    /// The last value of `key`, when it is text.
    pub fn config_text(&self, key: &str) -> Option<String> {
        self.config(key)
            .and_then(|v| String::from_utf8(v.into()).ok())
    }

    /// All values of a multi-valued `key`, in git's order.
    pub fn config_all(&self, key: &str) -> Vec<BString> {
        self.gix()
            .config_snapshot()
            .plumbing()
            .strings(key)
            .unwrap_or_default()
            .into_iter()
            .collect()
    }

    /// A boolean in any of git's spellings, or `default` when it is not set.
    ///
    /// # Errors
    /// When the value is no boolean.
    pub fn config_bool(&self, key: &str, default: bool) -> Result<bool> {
        let value = self
            .gix()
            .config_snapshot()
            .try_boolean(key)
            .with_context(|| format!("bad boolean value for '{key}'"))?;
        Ok(value.unwrap_or(default))
    }

    /// A number with git's suffixes `k`, `m`, `g`, or `default` when it is not set.
    ///
    /// # Errors
    /// When the value is no such number, or negative.
    pub fn config_size(&self, key: &str, default: u64) -> Result<u64> {
        let value = self
            .gix()
            .config_snapshot()
            .try_integer(key)
            .with_context(|| format!("bad numeric value for '{key}'"))?;
        match value {
            None => Ok(default),
            Some(number) => u64::try_from(number)
                .ok()
                .with_context(|| format!("bad numeric value '{number}' for '{key}'")),
        }
    }

    /// One of `allowed` words, the first being the default.
    ///
    /// # Errors
    /// When another word stands there.
    pub fn config_word<'a>(&self, key: &str, allowed: &[&'a str]) -> Result<&'a str> {
        let Some(value) = self.config(key) else {
            return Ok(allowed[0]);
        };
        match allowed.iter().find(|word| value == word.as_bytes()) {
            Some(word) => Ok(word),
            None => bail!(
                "bad value '{}' for '{key}': one of {} is expected",
                value.as_bstr(),
                allowed.join(", ")
            ),
        }
    }
}
