//! Secrets that are known by the name beside them: `password = "…"`,
//! `api_key: …`, `--token …`, `Authorization: Bearer …`.

use std::ops::Range;

use super::place::{
    begins_at, contains, find, has_word_at, is_word, line_before, run, run_back, three_of,
};
use super::value::{Form, Promise, is_machine_made, is_made_up, is_secret};

/// A word that names secrets.
#[derive(Debug)]
pub(super) struct Keyword {
    word: &'static str,
    anchor: usize,
    promise: Promise,
    /// Words of which one must stand before it (`api` before `key`).
    before: &'static [&'static str],
}

const fn word(word: &'static str, anchor: usize, promise: Promise) -> Keyword {
    Keyword {
        word,
        anchor,
        promise,
        before: &[],
    }
}

/// What makes a key a secret one.
const KEYS: &[&str] = &[
    "access",
    "account",
    "admin",
    "aes",
    "api",
    "app",
    "application",
    "auth",
    "bot",
    "cipher",
    "client",
    "consumer",
    "deploy",
    "encrypt",
    "encryption",
    "fernet",
    "hmac",
    "ingest",
    "integration",
    "jwt",
    "licence",
    "license",
    "mailchimp",
    "management",
    "master",
    "private",
    "secret",
    "server",
    "service",
    "session",
    "shared",
    "sharedaccess",
    "signing",
    "storage",
    "subscription",
    "user",
    "webhook",
    "write",
    "storageaccount",
    "decryption",
    "crypto",
    "algolia",
    "stripe",
    "openai",
    "fastly",
    "unseal",
    "recovery",
    "preshared",
];

/// The names, each with where its three rarest letters begin.
pub(super) const KEYWORDS: &[Keyword] = &[
    word("password", 2, Promise::Password),
    word("passwd", 2, Promise::Password),
    word("passphrase", 2, Promise::Password),
    word("passcode", 3, Promise::Password),
    word("pwd", 0, Promise::Password),
    word("_pass", 0, Promise::Password),
    word("psk", 0, Promise::Password),
    word("secret", 1, Promise::Secret),
    word("credential", 2, Promise::Secret),
    word("token", 1, Promise::Token),
    word("_auth", 0, Promise::Token),
    Keyword {
        word: "key",
        anchor: 0,
        promise: Promise::Token,
        before: KEYS,
    },
    Keyword {
        word: "_pat",
        anchor: 0,
        promise: Promise::Token,
        before: &[],
    },
];

/// What may follow the word inside of the name and leave its meaning.
const ENDINGS: &[&str] = &[
    "",
    "s",
    "value",
    "val",
    "raw",
    "prod",
    "production",
    "staging",
    "stage",
    "dev",
    "test",
    "live",
    "plain",
    "text",
    "string",
    "str",
    "base",
    "key",
    "b64",
    "base64",
    "hex",
    "id_token",
    "default",
    "current",
    "old",
    "new",
    "main",
    "primary",
    "secondary",
    "hash_key",
    "env",
    "override",
    "internal",
];

impl Keyword {
    /// Three bytes that every such name has.
    pub(super) const fn anchor(&self) -> [u8; 3] {
        three_of(self.word, self.anchor)
    }

    /// The value of the name whose anchor is at `at`.
    pub(super) fn check(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let start = at.checked_sub(self.anchor)?;
        if !has_word_at(text, start, self.word) {
            return None;
        }
        let end = start + self.word.len();
        let name_start = run_back(text, start, 64, |b| is_word(b) || matches!(b, b'.' | b'-'));
        let name_end = run(text, end, 64, |b| is_word(b) || matches!(b, b'.' | b'-'));
        if !self.is_named(text, name_start, start) || !self.has_ending(&text[end..name_end]) {
            return None;
        }
        let place = Place {
            text,
            name: name_start..name_end,
        };
        if place.byte(name_end) == b'(' {
            // Given to a call of that name: only what no text is.
            let (value, _) = place.quoted(name_end + 1)?;
            return is_machine_made(&text[value.clone()]).then_some(value);
        }
        let (value, form) = place.value()?;
        let said = &text[value.clone()];
        let is = is_secret(said, self.promise, form)
            || (self.promise == Promise::Token
                && place.is_plain(form, value.start)
                && is_made_up(said));
        is.then_some(value)
    }

    /// Whether `value` is the secret of the field `name`, where the anchor stands at
    /// `at` of the name.
    pub(super) fn has_field(&self, name: &[u8], at: usize, value: &str) -> bool {
        let end = |start: usize| start + self.word.len();
        at.checked_sub(self.anchor).is_some_and(|start| {
            has_word_at(name, start, self.word)
                && self.is_named(name, 0, start)
                && self.has_ending(&name[end(start)..])
                && is_secret(value.as_bytes(), self.promise, Form::Quoted)
        })
    }

    fn has_ending(&self, rest: &[u8]) -> bool {
        // What a program logs in with beside the id of its role.
        has_ending(rest) || (self.word == "secret" && rest.eq_ignore_ascii_case(b"_id"))
    }

    fn is_named(&self, text: &[u8], name_start: usize, start: usize) -> bool {
        if self.before.is_empty() {
            return true;
        }
        let joined = text[name_start..start].iter().copied().rev();
        // `API key: …` has a space where a name has a sign.
        let spaced = run_back(text, start, 24, |b| {
            is_word(b) || matches!(b, b'.' | b'-' | b' ')
        });
        let joined: Vec<u8> = if name_start == start {
            text[spaced..start].iter().copied().rev().collect()
        } else {
            joined.collect()
        };
        let before: Vec<u8> = joined
            .into_iter()
            .skip_while(|b| matches!(b, b'_' | b'-' | b'.' | b' '))
            .take_while(u8::is_ascii_alphanumeric)
            .collect();
        let before: Vec<u8> = before.into_iter().rev().collect();
        let lower = before.to_ascii_lowercase();
        let listed = self
            .before
            .iter()
            .any(|word| lower.ends_with(word.as_bytes()));
        // MAILER_KEY=…: settings call secrets so, and public things by other names.
        let setting = text[name_start..start].ends_with(b"_")
            && text[name_start..start]
                .iter()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
            && ![
                "public",
                "primary",
                "foreign",
                "cache",
                "sort",
                "partition",
                "row",
                "host",
                "hash",
                "index",
                "object",
                "s3",
                "lookup",
                "kms",
                "idempotency",
                "dedupe",
            ]
            .iter()
            .any(|word| lower.ends_with(word.as_bytes()));
        listed || setting
    }
}

fn has_ending(rest: &[u8]) -> bool {
    let bare = rest
        .iter()
        .position(|b| !matches!(b, b'_' | b'-' | b'.'))
        .map_or(&rest[rest.len()..], |n| &rest[n..]);
    if bare.iter().all(u8::is_ascii_digit) {
        return true;
    }
    // `secretValue` as `secret_value`; but not `tokenizer`.
    let joined = bare.len() == rest.len() && bare[0].is_ascii_lowercase() && bare != b"s";
    !joined
        && std::str::from_utf8(bare).is_ok_and(|text| {
            ENDINGS
                .iter()
                .any(|ending| ending.eq_ignore_ascii_case(text))
        })
}

/// A name in a text, and how its value follows.
struct Place<'a> {
    text: &'a [u8],
    name: Range<usize>,
}

impl Place<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn skip_blanks(&self, at: usize) -> usize {
        run(self.text, at, 40, |b| b == b' ' || b == b'\t')
    }

    /// Past quotes, and the backslashes that JSON in JSON puts before them.
    fn skip_quotes(&self, at: usize) -> usize {
        run(self.text, at, 8, |b| {
            matches!(b, b'"' | b'\'' | b'`' | b'\\')
        })
    }

    fn skip_number(&self, at: usize) -> usize {
        run(self.text, at, 2, |b| b.is_ascii_digit())
    }

    fn value(&self) -> Option<(Range<usize>, Form)> {
        let flag = self.text[self.name.start..].starts_with(b"-");
        let closed = self.skip_quotes(self.name.end);
        let was_quoted = closed > self.name.end;
        let bracket = run(self.text, closed, 1, |b| b == b']');
        let after = self.skip_blanks(bracket);
        match self.byte(after) {
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
                (!is_name).then_some((value, form))
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
    fn is_plain(&self, form: Form, value: usize) -> bool {
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

    fn quoted(&self, at: usize) -> Option<(Range<usize>, Form)> {
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

/// `"pass": "…"`, which is a word of every program where it is not a name in quotes.
pub(super) fn pass_field(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(2)?;
    let is_quoted = matches!(start.checked_sub(1).map(|n| text[n]), Some(b'"' | b'\''));
    if !is_quoted || !has_word_at(text, start, "pass") {
        return None;
    }
    let place = Place {
        text,
        name: start..start + 4,
    };
    let colon = place.skip_blanks(place.skip_quotes(start + 4));
    if place.byte(colon) != b':' {
        return None;
    }
    let (value, form) = place.quoted(place.skip_blanks(colon + 1))?;
    is_secret(&text[value.clone()], Promise::Password, form).then_some(value)
}

/// `Bearer …` wherever it stands.
pub(super) fn bearer(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(3)?;
    if !has_word_at(text, start, "bearer ") || !begins_at(text, start) {
        return None;
    }
    let from = start + "bearer ".len();
    let end = run(text, from, 4096, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
    });
    let value = &text[from..end];
    (is_machine_made(value) && is_secret(value, Promise::Token, Form::Bare)).then_some(from..end)
}
