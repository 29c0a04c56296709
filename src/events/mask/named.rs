//! What follows a name that may be that of a secret: its value, in the ways that
//! settings, code, command lines, headers, forms and documents write one.

use std::ops::Range;

use super::place::{contains, find, has_word_at, is_word, line_before, run};
use super::value::{Form, names_itself};

/// A name in a text, and how its value follows.
pub(super) struct Named<'a> {
    pub(super) text: &'a [u8],
    /// Where the name stands.
    pub(super) name: Range<usize>,
}

impl Named<'_> {
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    pub(super) fn skip_blanks(&self, at: usize) -> usize {
        run(self.text, at, 40, |b| b == b' ' || b == b'\t')
    }

    /// Past quotes, and the backslashes that JSON in JSON puts before them.
    pub(super) fn skip_quotes(&self, at: usize) -> usize {
        run(self.text, at, 8, |b| {
            matches!(b, b'"' | b'\'' | b'`' | b'\\')
        })
    }

    fn skip_number(&self, at: usize) -> usize {
        run(self.text, at, 2, |b| b.is_ascii_digit())
    }

    pub(super) fn value(&self) -> Option<(Range<usize>, Form)> {
        let flag = self.text[self.name.start..].starts_with(b"-");
        let closed = self.skip_quotes(self.name.end);
        let was_quoted = closed > self.name.end;
        let bracket = run(self.text, closed, 1, |b| b == b']');
        let after = self.skip_blanks(bracket);
        match self.byte(after) {
            // `"password" :show="…"`: an attribute follows.
            b':' if was_quoted && after > closed && is_word(self.byte(after + 1)) => None,
            b'=' | b':' => self.after_sign(after),
            b'?' if self.byte(after + 1) == b'=' || self.byte(after + 1) == b':' => {
                self.after_sign(after + 1)
            }
            // In an address, or in the body of a form.
            b'%' if closed == self.name.end && self.is_encoded_sign(after) => {
                let (value, _) = self.written(after + 3, Form::Setting)?;
                let next = find(&self.text[value.clone()], b"%26");
                let end = next.map_or(value.end, |n| value.start + n);
                Some((value.start..end, Form::Setting))
            }
            b'>' if self.name.start > 0 && self.byte(self.name.start - 1) == b'<' => {
                let end = run(self.text, after + 1, 1000, |b| b != b'<' && b != b'\n');
                Some((after + 1..end, Form::Quoted))
            }
            b',' if was_quoted && bracket == closed => {
                let (value, form) = self.quoted(self.skip_blanks(after + 1))?;
                // A list of names, or the next field.
                let colon = self.skip_blanks(self.skip_quotes(value.end));
                let is_name = self.byte(colon) == b':';
                if is_name && self.text[value.clone()].eq_ignore_ascii_case(b"value") {
                    return self.quoted(self.skip_blanks(colon + 1));
                }
                let is_more = self.byte(self.skip_quotes(value.end)) == b',';
                let said = &self.text[value.clone()];
                let is_dense = said.iter().any(u8::is_ascii_digit) && !names_itself(said);
                (!is_name && (is_dense || !is_more)).then_some((value, form))
            }
            // Unseal Key 1: …
            b'0'..=b'9' if after > self.name.end && self.byte(self.skip_number(after)) == b':' => {
                self.after_sign(self.skip_number(after))
            }
            b'v' if self.text[after..].starts_with(b"value=") && was_quoted => {
                self.quoted(after + 6)
            }
            b'\n' if after > self.name.end || was_quoted || self.byte(after) == b'\n' => {
                let next = run(self.text, after + 1, 40, |b| b == b' ');
                let value = self.text[next..].strip_prefix(b"value:")?;
                let at = self.text.len() - value.len();
                self.written(self.skip_blanks(at), Form::Setting)
            }
            // The password is: …
            b'i' if self.text[after..].starts_with(b"is") && after > self.name.end && !flag => {
                let at = self.skip_blanks(after + 2);
                let at = self.skip_blanks(run(self.text, at, 1, |b| b == b':'));
                (at > after + 2)
                    .then(|| self.written(at, Form::Bare))
                    .flatten()
            }
            _ if after > self.name.end && (flag || self.is_listed()) => {
                self.written(after, Form::Setting)
            }
            _ => None,
        }
    }

    /// Whether the name can only be that of a token: a variable of the environment, a
    /// flag, a header, a line of npm's settings.
    pub(super) fn is_plain(&self, form: Form, value: usize) -> bool {
        let name = &self.text[self.name.clone()];
        let is_variable = name
            .iter()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_');
        let is_header = name.len() > 2
            && name[..2].eq_ignore_ascii_case(b"x-")
            && self.byte(self.name.end) == b':'
            && value <= self.name.end + 2;
        is_header
            || (form == Form::Setting
                && (is_variable || name.starts_with(b"--") || name.ends_with(b"_authToken")))
    }

    fn is_encoded_sign(&self, at: usize) -> bool {
        has_word_at(self.text, at, "%3d") || has_word_at(self.text, at, "%3a")
    }

    /// `ENV NAME value` of a Dockerfile, `login me password value` of a netrc.
    fn is_listed(&self) -> bool {
        let line = line_before(self.text, self.name.start);
        let first = line.trim_ascii_start();
        matches!(first, b"ENV " | b"ARG " | b"#define ")
            || first.starts_with(b"set -")
            || is_set(first)
            || (first.is_empty() && self.is_in_login())
            || (first.starts_with(b"machine ") && first.ends_with(b" "))
            || (first.starts_with(b"login ") && first.ends_with(b" "))
            || first == b"--" // a flag whose dashes were not part of the name
    }

    /// On a line of its own below `machine` and `login`.
    fn is_in_login(&self) -> bool {
        let before = &self.text[self.name.start.saturating_sub(200)..self.name.start];
        contains(before, b"machine ") && contains(before, b"login ")
    }

    fn after_sign(&self, sign: usize) -> Option<(Range<usize>, Form)> {
        let mut at = sign;
        match (self.byte(at), self.byte(at + 1)) {
            // A comparison, or a path of names.
            (b'=', b'=') | (b':', b':') => return None,
            (b'=', b'>') | (b':', b'=') => at += 2,
            _ => at += 1,
        }
        let tight = sign == self.name.end && self.skip_blanks(at) == at && self.byte(sign) == b'=';
        let at = self.skip_blanks(at);
        // `"secret": {"value": "…"}`
        if self.byte(at) == b'{' {
            let open = self.skip_blanks(at + 1);
            let name = self.skip_quotes(open);
            let close = self.skip_quotes(name + "value".len());
            let colon = self.skip_blanks(close);
            return (name > open
                && has_word_at(self.text, name, "value")
                && close > name + "value".len()
                && self.byte(colon) == b':')
                .then(|| self.quoted(self.skip_blanks(colon + 1)))
                .flatten();
        }
        // `password: string = "…"`: a type stands between.
        if self.byte(sign) == b':' && !matches!(self.byte(at), b'"' | b'\'') {
            let typed = run(self.text, at, 40, |b| {
                is_word(b) || matches!(b, b'&' | b'<' | b'>' | b'[' | b']' | b' ' | b'\'')
            });
            if self.byte(typed) == b'=' && self.byte(typed + 1) != b'=' && typed > at {
                return self.quoted(self.skip_blanks(typed + 1));
            }
        }
        self.written(at, if tight { Form::Setting } else { Form::Bare })
    }

    pub(super) fn quoted(&self, at: usize) -> Option<(Range<usize>, Form)> {
        (self.skip_quotes(at) > at)
            .then(|| self.written(at, Form::Quoted))
            .flatten()
    }

    fn written(&self, at: usize, form: Form) -> Option<(Range<usize>, Form)> {
        // b"…", r"…" and f"…" of Python and Rust.
        let at = match (self.byte(at), self.byte(at + 1)) {
            (b'b' | b'r' | b'f' | b'u', b'"' | b'\'') => at + 1,
            _ => at,
        };
        let open = self.skip_quotes(at);
        let (mut start, end, form) = if open > at {
            let quote = self.byte(open - 1);
            let end = run(self.text, open, 4096, |b| b != quote && b != b'\n');
            let end = if self.byte(end.wrapping_sub(1)) == b'\\' {
                end - 1
            } else {
                end
            };
            (open, end.max(open), Form::Quoted)
        } else {
            let end = run(self.text, at, 4096, |b| {
                !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b'}')
            });
            let value = &self.text[at..end];
            let end = at
                + value
                    .iter()
                    .position(|b| *b == b'&')
                    .filter(|n| *n > 0)
                    .unwrap_or(value.len());
            let end = at + run(&self.text[at..end], 0, 4096, |b| b != b'\\');
            (
                at,
                unclosed(&self.text[at..end], at),
                self.prose(at, end, form)?,
            )
        };
        for scheme in ["Bearer ", "Basic ", "Token ", "token ", "bearer "] {
            if self.text[start..end].starts_with(scheme.as_bytes()) {
                start += scheme.len();
            }
        }
        (start < end).then_some((start..end, form))
    }

    /// A bare word with more words behind it is a sentence, not a value.
    fn prose(&self, at: usize, end: usize, form: Form) -> Option<Form> {
        let next = self.skip_blanks(end);
        let goes_on = next > end && self.byte(next).is_ascii_alphabetic();
        let wordlike = self.text[at..end].iter().all(|b| b.is_ascii_alphabetic());
        (!(goes_on && wordlike && form == Form::Bare)).then_some(form)
    }
}

/// `aws configure set NAME value`, `npm config set //host/:NAME value`.
fn is_set(line: &[u8]) -> bool {
    let end = line.iter().rposition(|b| *b == b' ').map_or(0, |n| n + 1);
    let command = &line[..end];
    contains(command, b"config")
        && (command.ends_with(b" set ") || command.ends_with(b" set --global "))
}

/// Without the bracket that was opened before the value.
fn unclosed(value: &[u8], at: usize) -> usize {
    let mut end = value.len();
    while end > 0 {
        let (open, close) = match value[end - 1] {
            b')' => (b'(', b')'),
            b']' => (b'[', b']'),
            b'>' => (b'<', b'>'),
            _ => break,
        };
        let count = |sign| value[..end].iter().filter(|b| **b == sign).count();
        if count(close) <= count(open) {
            break;
        }
        end -= 1;
    }
    at + end
}
