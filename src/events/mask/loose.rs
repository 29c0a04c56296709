//! Looser ties between a name and its value: a directive, a fallback, a cell of a
//! table, a sentence. Only what has a digit and a letter is taken there.

use std::ops::Range;

use super::named::Named;
use super::place::{find, is_word, line_before, run};

/// Words between a name and its value in a sentence.
const LINKS: &[&str] = &[
    "is", "was", "are", "to", "to:", "set to", "lautet", "ist", "es", "est", "é", "è", "er", "är",
    "is now", "lautet:", "ist:", "is:", "->", "=>", "→", "as",
];

impl Named<'_> {
    /// The value behind the name, when its quotes are closed at `closed`.
    pub(super) fn loose(&self, closed: usize) -> Option<Range<usize>> {
        let was_quoted = closed > self.name.end;
        self.fallback(closed)
            .or_else(|| self.cell(closed))
            .or_else(|| self.element(closed))
            .or_else(|| self.block(closed))
            .or_else(|| if was_quoted { None } else { self.directive() })
            .or_else(|| if was_quoted { None } else { self.sentence() })
            .filter(|value| value.start < value.end && value.end <= self.text.len())
    }

    fn literal(&self, at: usize) -> Option<Range<usize>> {
        let open = self.skip_quotes(at);
        (open > at).then(|| {
            let quote = self.byte(open - 1);
            let end = run(self.text, open, 1000, |b| b != quote && b != b'\n');
            let escape = usize::from(self.text[..end].ends_with(b"\\"));
            open..end - escape
        })
    }

    fn plain(&self, at: usize) -> Range<usize> {
        let end = run(self.text, at, 1000, |b| {
            b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'`' | b',' | b';')
        });
        at..end
    }

    /// `name") ?? "…"`, `name || '…'`, `name").fill("…")`.
    fn fallback(&self, closed: usize) -> Option<Range<usize>> {
        let close = run(self.text, closed, 2, |b| matches!(b, b')' | b']' | b'}'));
        let at = self.skip_blanks(close);
        let rest = &self.text[at..];
        for sign in ["?? ", "|| ", "or ", "?: ", ": ", "default: "] {
            if rest.starts_with(sign.as_bytes()) && (at > close || sign == "?? ") {
                return self.literal(at + sign.len());
            }
        }
        let mut dot = close;
        // At most two calls follow: `.orElse(…)`, `.first().fill(…)`.
        for _ in 0..2 {
            if close == closed || self.byte(dot) != b'.' {
                return None;
            }
            let name = run(self.text, dot + 1, 24, is_word);
            let open = run(self.text, name, 3, |b| matches!(b, b'(' | b' ' | b'='));
            if open > name
                && let Some(value) = self.literal(open)
            {
                return Some(value);
            }
            dot = run(self.text, open, 1, |b| b == b')');
        }
        None
    }

    /// `| name | … |`, and with lines for a frame.
    fn cell(&self, closed: usize) -> Option<Range<usize>> {
        let at = self.skip_blanks(closed);
        let bar = [&b"|"[..], "│".as_bytes(), "┃".as_bytes()]
            .into_iter()
            .find(|bar| self.text[at..].starts_with(bar))?;
        if bar == b"|" && self.byte(at + 1) == b'|' {
            return None;
        }
        let value = self.skip_blanks(at + bar.len());
        let word = self.plain(self.skip_quotes(value));
        let after = self.skip_blanks(self.skip_quotes(word.end));
        self.text[after..].starts_with(bar).then_some(word)
    }

    /// `<property name="name">…<`, `<key>name</key> <string>…<`.
    fn element(&self, closed: usize) -> Option<Range<usize>> {
        let mut at = closed;
        if self.text[at..].starts_with(b"</key>") {
            let open = run(self.text, at + 6, 40, |b| b.is_ascii_whitespace());
            at = open + self.text[open..].strip_prefix(b"<string").map(|_| 7)?;
        }
        if at == self.name.end || self.byte(at) != b'>' {
            return None;
        }
        let end = run(self.text, at + 1, 1000, |b| b != b'<' && b != b'\n');
        (self.byte(end) == b'<').then_some(at + 1..end)
    }

    /// `variable "name" { default = "…" }`.
    fn block(&self, closed: usize) -> Option<Range<usize>> {
        let open = self.skip_blanks(closed);
        if closed == self.name.end || self.byte(open) != b'{' {
            return None;
        }
        let end = run(self.text, open, 300, |b| b != b'}');
        let at = open + find(&self.text[open..end], b"default")? + "default".len();
        let sign = self.skip_blanks(at);
        (self.byte(sign) == b'=')
            .then(|| self.literal(self.skip_blanks(sign + 1)))
            .flatten()
    }

    /// `name "…"`, and `name …` alone in its line.
    fn directive(&self) -> Option<Range<usize>> {
        let mut at = self.skip_blanks(self.name.end);
        if at == self.name.end {
            return None;
        }
        // `password 7 …`: the kind of what follows.
        if self.byte(at).is_ascii_digit() && self.byte(at + 1) == b' ' {
            at += 2;
        }
        if let Some(value) = self.literal(at) {
            return Some(value);
        }
        let value = self.plain(at);
        let next = run(self.text, self.skip_blanks(value.end), 1, |b| b == b';');
        let is_end = matches!(self.byte(next), b'\n' | b'\r' | 0 | b'#' | b'\\' | b'}');
        let line = line_before(self.text, self.name.start);
        let words = line
            .split(|b| b.is_ascii_whitespace())
            .filter(|word| !word.is_empty());
        (is_end && words.count() <= 3).then_some(value)
    }

    /// `name is …`, `name for the server: …`.
    fn sentence(&self) -> Option<Range<usize>> {
        let at = self.skip_blanks(self.name.end);
        if at == self.name.end {
            return None;
        }
        let rest = &self.text[at..self.text.len().min(at + 80)];
        for link in LINKS {
            if let Some(behind) = rest.strip_prefix(link.as_bytes())
                && behind.starts_with(b" ")
            {
                let value = self.skip_blanks(at + link.len());
                return Some(self.said(self.skip_quotes(value)));
            }
        }
        let behind = [
            "for ", "of ", "on ", "to ", "für ", "para ", "pour ", "del ", "(", "von ",
        ];
        if behind.iter().any(|word| rest.starts_with(word.as_bytes())) {
            let end = run(self.text, at, 70, |b| b != b'\n' && b != b':' && b != b'=');
            let value = self.skip_blanks(end + 1);
            if matches!(self.byte(end), b':' | b'=') && (value > end + 1) {
                return Some(self.said(self.skip_quotes(value)));
            }
        }
        // `secret …` in a sentence.
        let value = self.said(at);
        (value.len() >= 10).then_some(value)
    }

    /// A word of a sentence, without what ends the sentence.
    fn said(&self, at: usize) -> Range<usize> {
        let word = self.plain(at);
        let mut end = word.end;
        while end > word.start && matches!(self.text[end - 1], b'.' | b')' | b':' | b'?' | b'*') {
            end -= 1;
        }
        word.start..end
    }
}
