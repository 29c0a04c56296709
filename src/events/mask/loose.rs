//! Looser ties between a name and its value: a directive, a fallback, a cell of a
//! table, a sentence. Only what has a digit and a letter is taken there.

use std::ops::Range;

use super::named::Named;
use super::place::{find, is_word, line_before, run, run_back};

/// Words between a name and its value in a sentence.
const LINKS: &[&str] = &[
    "is", "is:", "is now", "was", "are", "to", "to:", "set to", "as", "lautet", "lautet:", "ist",
    "ist:", "es", "es:", "est", "est :", "é", "é:", "è", "er", "är", "on", "->", "<-", "=>", "→",
    "是", "为", "は", "은", "는", "—", "–",
];

/// Words behind a name that tell what it is for, up to a colon, a sign or a verb.
const FOR: &[&str] = &[
    "for ", "of ", "on ", "to ", "in ", "is ", "für ", "von ", "para ", "pour ", "del ", "de ",
    "di ", "per ", "voor ", "for: ", "от ", "для ", "к ", "(", "[",
];

impl Named<'_> {
    /// What may be the value of the name, whose quotes are closed at `closed`.
    pub(super) fn loose(&self) -> impl Iterator<Item = Range<usize>> {
        let closed = self.skip_quotes(self.name.end);
        let bare = closed == self.name.end;
        // Most lines have no digit, and then nothing that is taken here.
        let near = self.name.start.saturating_sub(60)..self.text.len().min(closed + 160);
        let has_digit = self.text[near].iter().any(u8::is_ascii_digit);
        let sentence = || {
            [
                self.directive(),
                self.linked(self.skip_blanks(closed)),
                self.told(": "),
                self.told(" = "),
                self.told(" is "),
                self.told(" es "),
                self.told(" est "),
                self.told(" ist "),
                self.told(" é "),
                self.next_word(),
                self.word_before(),
            ]
        };
        let ties = || {
            [
                self.fallback(closed),
                self.cell(closed),
                self.element(closed),
                self.block(closed),
            ]
        };
        let found: Vec<_> = match (has_digit, bare) {
            (false, _) => Vec::new(),
            (true, false) => ties().into(),
            (true, true) => ties().into_iter().chain(sentence()).collect(),
        };
        found
            .into_iter()
            .flatten()
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
        // `"name", with: "…"`
        if closed > self.name.end && self.byte(closed) == b',' {
            let word = self.skip_blanks(closed + 1);
            let sign = run(self.text, word, 12, |b| b.is_ascii_lowercase());
            return (sign > word && matches!(self.byte(sign), b':' | b'='))
                .then(|| self.literal(self.skip_blanks(sign + 1)))
                .flatten();
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

    /// `name is …`, `name: …` with a colon that is none of ASCII.
    fn linked(&self, at: usize) -> Option<Range<usize>> {
        let rest = &self.text[at..];
        if let Some(behind) = rest.strip_prefix("：".as_bytes()) {
            return Some(self.said(self.text.len() - behind.len()));
        }
        LINKS.iter().find_map(|link| {
            let behind = rest.strip_prefix(link.as_bytes())?;
            (behind.starts_with(b" ") || !link.is_ascii())
                .then(|| self.said(self.skip_blanks(at + link.len())))
        })
    }

    /// `name for the server: …`, `name (production) is …`: up to `sign`.
    fn told(&self, sign: &str) -> Option<Range<usize>> {
        let at = self.skip_blanks(self.name.end);
        if at == self.name.end {
            return None;
        }
        let end = run(self.text, at, 80, |b| b != b'\n');
        let rest = &self.text[at..end];
        let lower = rest.to_ascii_lowercase();
        let is_told = FOR.iter().any(|word| lower.starts_with(word.as_bytes()));
        let found = find(&lower, sign.as_bytes())?;
        if !is_told && (found > 12 || sign.len() < 4) {
            return None;
        }
        let value = self.skip_blanks(at + found + sign.len());
        Some(self.said(value))
    }

    /// `secret …` in a sentence.
    fn next_word(&self) -> Option<Range<usize>> {
        let at = self.skip_blanks(self.name.end);
        let value = self.said(at);
        (at > self.name.end && value.len() >= 10).then_some(value)
    }

    /// `… as the name`.
    fn word_before(&self) -> Option<Range<usize>> {
        let line = line_before(self.text, self.name.start);
        let link = [
            " as the ", " as ", " als ", " comme ", " como ", " is the ", " is my ",
        ]
        .iter()
        .find(|link| line.ends_with(link.as_bytes()))?;
        let end = self.name.start - link.len();
        let start = run_back(self.text, end, 200, |b| !b.is_ascii_whitespace());
        let is_around = |b: &u8| matches!(b, b'"' | b'\'' | b'`');
        let word = &self.text[start..end];
        let lead = word.iter().take_while(|b| is_around(b)).count();
        let tail = word.iter().rev().take_while(|b| is_around(b)).count();
        (lead + tail < word.len()).then(|| start + lead..end - tail)
    }

    /// A word of a sentence, without what ends the sentence.
    fn said(&self, at: usize) -> Range<usize> {
        let word = self.plain(self.skip_quotes(at));
        let mut end = word.end;
        while end > word.start && matches!(self.text[end - 1], b'.' | b')' | b':' | b'?' | b'*') {
            end -= 1;
        }
        word.start..end
    }
}
