//! The message of a checkpoint's commit: a label, then trailers
//! (git-interpret-trailers(1)) whose values cannot forge one another.

use gix::bstr::{BStr, BString, ByteSlice};

use crate::git::quote::{quoted, unquoted};

/// The longest label, in bytes.
const LABEL_AT_MOST: usize = 200;

/// A message being written.
#[derive(Debug)]
pub struct Writer {
    text: String,
}

impl Writer {
    /// Begins with `label`, on one line and cut.
    pub fn new(label: &str) -> Self {
        let mut text = one_line(label);
        if text.len() > LABEL_AT_MOST {
            let end = (0..=LABEL_AT_MOST)
                .rev()
                .find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
        }
        text.push_str("\n\n");
        Writer { text }
    }

    /// Adds `Harness-<key>: <value>`, on one line.
    pub fn add(&mut self, key: &str, value: impl std::fmt::Display) {
        let value = one_line(&value.to_string());
        self.text.push_str(&format!("Harness-{key}: {value}\n"));
    }

    /// Adds the trailer when there is a value.
    pub fn add_some(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    /// Adds a path, in C quotes when it holds what could end the line.
    pub fn add_path(&mut self, key: &str, path: &BStr) {
        self.add(key, quoted(path));
    }

    /// The message.
    pub fn finish(self) -> String {
        self.text
    }
}

fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    clean.trim().to_owned()
}

/// A message that was read: its label and its trailers in order.
#[derive(Debug)]
pub struct Reader {
    /// The first line.
    pub label: String,
    trailers: Vec<(String, BString)>,
}

impl Reader {
    /// Splits `message`; lines that are no trailer of ours are passed over.
    pub fn new(message: &BStr) -> Self {
        let mut lines = message.lines();
        let label = lines.next().unwrap_or_default().to_str_lossy().into_owned();
        let trailers = lines
            .filter_map(|line| {
                let line = line.strip_prefix(b"Harness-")?;
                let (key, value) = line.split_once_str(": ")?;
                Some((key.to_str().ok()?.to_owned(), value.into()))
            })
            .collect();
        Reader { label, trailers }
    }

    /// All values of `key`, in order.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &BStr> {
        self.trailers
            .iter()
            .filter(move |(k, _)| k == key)
            .map(|(_, value)| value.as_bstr())
    }

    /// The first value of `key`.
    pub fn first(&self, key: &str) -> Option<&BStr> {
        self.all(key).next()
    }

    /// The first value of `key` as text.
    pub fn text(&self, key: &str) -> Option<String> {
        self.first(key).map(|v| v.to_str_lossy().into_owned())
    }

    /// All values of `key` that are paths.
    pub fn paths(&self, key: &str) -> Vec<BString> {
        self.all(key).filter_map(unquoted).collect()
    }
}

/// Splits `"quoted path" rest` or `path rest`-less values: the path, then what
/// follows its closing quote.
pub fn split_path(value: &BStr) -> Option<(BString, &BStr)> {
    if !value.starts_with(b"\"") {
        return Some((value.to_owned(), b"".as_bstr()));
    }
    let mut at = 1;
    while at < value.len() {
        match value[at] {
            b'\\' => at += 2,
            b'"' => {
                let path = unquoted(value[..=at].as_bstr())?;
                return Some((path, value[at + 1..].as_bstr()));
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_forge_a_trailer() {
        let mut writer = Writer::new("label\nHarness-Number: 9");
        let path = b"a\nHarness-Number: 7";
        writer.add_path("Path", path.as_bstr());
        let message = writer.finish();
        let reader = Reader::new(message.as_bytes().as_bstr());
        assert_eq!(reader.label, "label Harness-Number: 9");
        assert_eq!(reader.first("Number"), None);
        assert_eq!(reader.paths("Path"), [BString::from(path.as_slice())]);
    }

    #[test]
    fn a_label_is_cut_on_a_character() {
        let message = Writer::new(&"é".repeat(150)).finish();
        let label = Reader::new(message.as_bytes().as_bstr()).label;
        assert_eq!(label, "é".repeat(100));
    }
}
