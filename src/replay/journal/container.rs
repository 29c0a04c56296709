//! What a journal is stored in: a JSON array or JSON lines. Gives where each
//! entry stands, without reading it yet. Knows nothing of what entries mean.

use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Result, anyhow, bail, ensure};
use crate::replay::journal::{Limits, strict};

/// Where one entry stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: usize,
    end: usize,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// The form in which the entries were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One JSON array.
    Array,
    /// One JSON object a line.
    Lines,
}

/// The text of a journal, cut into entries.
#[derive(Debug)]
pub struct Container {
    text: String,
    entries: Vec<Span>,
    /// The form it had.
    pub form: Form,
    /// The line of a torn last entry that was left out (a writer was killed).
    pub torn: Option<usize>,
}

impl Container {
    /// Cuts `bytes` into entries. A byte order mark, CRLF, blank lines and a torn
    /// last line of JSON lines are coped with.
    ///
    /// # Errors
    /// When it is neither form, is not UTF-8, or passes one of the `limits`.
    pub fn cut(bytes: Vec<u8>, limits: Limits) -> Result<Self> {
        ensure!(
            bytes.len() as u64 <= limits.bytes,
            "it has {} bytes, more than the {} of journal.maxSize",
            bytes.len(),
            limits.bytes
        );
        let text = String::from_utf8(bytes).map_err(|e| {
            let valid = e.utf8_error().valid_up_to();
            let line = newlines(&e.as_bytes()[..valid]) + 1;
            anyhow!("line {line} is not UTF-8")
        })?;
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let body = &text[start..];
        let first = body.trim_ascii_start().chars().next();
        let mut entries = Vec::new();
        let (form, torn) = match first {
            Some('[') => {
                array(&text, start, limits, &mut entries)?;
                (Form::Array, None)
            }
            Some('{') => (Form::Lines, lines(&text, start, limits, &mut entries)?),
            Some(_) => bail!("it begins neither with '[' nor with '{{': it is no journal"),
            None => bail!("it is empty"),
        };
        Ok(Container {
            text,
            entries,
            form,
            torn,
        })
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The text of the entry at `index`, from 0.
    pub fn entry(&self, index: usize) -> Option<&str> {
        self.entries
            .get(index)
            .map(|span| &self.text[span.start..span.end])
    }

    /// How errors call the entry at `index`, from 0.
    pub fn place(&self, index: usize) -> String {
        match self.entries.get(index) {
            Some(span) => format!("entry {} (line {})", index + 1, span.line),
            None => format!("entry {}", index + 1),
        }
    }
}

fn lines(
    text: &str,
    start: usize,
    limits: Limits,
    entries: &mut Vec<Span>,
) -> Result<Option<usize>> {
    let mut offset = start;
    for (number, line) in text[start..].split_inclusive('\n').enumerate() {
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() {
            let lead = line.len() - line.trim_ascii_start().len();
            let span = Span {
                start: offset + lead,
                end: offset + lead + trimmed.len(),
                line: number + 1,
            };
            let is_torn =
                !line.ends_with('\n') && strict::parse(trimmed).is_err_and(|e| e.is_eof());
            if is_torn {
                return Ok(Some(number + 1));
            }
            ensure_room(entries, limits)?;
            entries.push(span);
        }
        offset += line.len();
    }
    Ok(None)
}

fn array(text: &str, start: usize, limits: Limits, entries: &mut Vec<Span>) -> Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(&text[start..]);
    let mut too_many = None;
    let read = deserializer
        .deserialize_seq(Elements {
            text,
            limits,
            entries,
            too_many: &mut too_many,
            at: (start, 1),
        })
        .and_then(|()| deserializer.end());
    match (read, too_many) {
        (_, Some(why)) => Err(why),
        (Err(e), None) => Err(anyhow!("after entry {}: {e}", entries.len())),
        (Ok(()), None) => Ok(()),
    }
}

struct Elements<'a> {
    text: &'a str,
    limits: Limits,
    entries: &'a mut Vec<Span>,
    too_many: &'a mut Option<crate::error::Error>,
    /// An offset and the line on which it lies.
    at: (usize, usize),
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(raw) = elements.next_element::<&'de RawValue>()? {
            if let Err(why) = ensure_room(self.entries, self.limits) {
                *self.too_many = Some(why);
                return Err(serde::de::Error::custom("too many entries"));
            }
            let start = raw.get().as_ptr() as usize - self.text.as_ptr() as usize;
            let line = self.at.1 + newlines(&self.text.as_bytes()[self.at.0..start]);
            self.at = (start, line);
            self.entries.push(Span {
                start,
                end: start + raw.get().len(),
                line,
            });
        }
        Ok(())
    }
}

fn ensure_room(entries: &[Span], limits: Limits) -> Result<()> {
    ensure!(
        entries.len() < limits.entries,
        "it has more than {} entries",
        limits.entries
    );
    Ok(())
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, entries: &[(&str, usize)]) -> Container {
        let cut = Container::cut(text.into(), Limits::default()).expect("a container");
        let found: Vec<(&str, usize)> = (0..cut.len())
            .map(|i| (cut.entry(i).expect("counted"), cut.entries[i].line))
            .collect();
        assert_eq!(found, entries);
        cut
    }

    #[test]
    fn both_forms_give_entries_and_lines() {
        check(
            "[{\"a\":1},\n\n {\"b\":\"]\"}]",
            &[("{\"a\":1}", 1), ("{\"b\":\"]\"}", 3)],
        );
        check(
            "\u{feff}{\"a\":1}\r\n\r\n {\"b\":2}",
            &[("{\"a\":1}", 1), ("{\"b\":2}", 3)],
        );
        check("\u{feff}[]", &[]);
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_said() {
        let cut = check("{\"a\":1}\n{\"b\":\"x", &[("{\"a\":1}", 1)]);
        assert_eq!(cut.torn, Some(2));
        // With its newline it was not torn but wrong, which its reader says.
        check("{\"b\":\"x\n", &[("{\"b\":\"x", 1)]);
    }

    #[test]
    fn bounds_are_errors() {
        let few = Limits {
            entries: 1,
            ..Limits::default()
        };
        for text in ["[{},{}]", "{}\n{}\n"] {
            let refused = Container::cut(text.into(), few).expect_err("two entries");
            assert!(
                refused.to_string().contains("more than 1 entries"),
                "{refused}"
            );
        }
        let small = Limits {
            bytes: 3,
            ..Limits::default()
        };
        Container::cut(b"[{}]".to_vec(), small).expect_err("four bytes");
    }

    #[test]
    fn what_is_no_container_is_said_so() {
        for bytes in [
            &b""[..],
            b" \n",
            b"x",
            b"[{}",
            b"[{}]x",
            b"[{},]",
            b"{\"\xff\"}",
        ] {
            Container::cut(bytes.to_vec(), Limits::default()).expect_err("no container");
        }
    }
}
