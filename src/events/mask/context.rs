//! Secrets that are known by the name beside them: `password = "…"`,
//! `api_key: …`, `--token …`, `Authorization: Bearer …`.

use std::ops::Range;

use super::keyword::{ENDINGS, Keyword, PUBLIC};
use super::named::Named;
use super::place::{
    begins_at, contains, has_word_at, is_word, line_before, run, run_back, three_of,
};
use super::value::{Form, Promise, is_chosen, is_machine_made, is_made_up, is_secret};
use super::{column, printed};

impl Keyword {
    /// Three bytes that every such name has.
    pub(super) const fn anchor(&self) -> [u8; 3] {
        three_of(self.word, self.anchor)
    }

    /// The values of the name whose anchor is at `at`.
    pub(super) fn check(&self, text: &[u8], at: usize, found: &mut Vec<Range<usize>>) {
        let Some(start) = at.checked_sub(self.anchor) else {
            return;
        };
        let Some(name) = self.name(text, start) else {
            return;
        };
        if let Some(value) = self.beside(text, &name) {
            found.push(value);
            return;
        }
        let below = printed::below(text, start);
        let is_one = below.is_some();
        found.extend(below);
        if !is_one {
            let is =
                |value: &Range<usize>| is_secret(&text[value.clone()], self.promise, Form::Loose);
            found.extend(column::below(text, &name).into_iter().filter(is));
        }
    }

    /// The name around the word at `start`.
    fn name(&self, text: &[u8], start: usize) -> Option<Range<usize>> {
        if !has_word_at(text, start, self.word) {
            return None;
        }
        let end = start + self.word.len();
        let name_start = run_back(text, start, 64, |b| is_word(b) || matches!(b, b'.' | b'-'));
        let name_end = run(text, end, 64, |b| is_word(b) || matches!(b, b'.' | b'-'));
        if !self.is_named(text, name_start, start) || !self.has_ending(&text[end..name_end]) {
            return None;
        }
        // The place of a secret in a store.
        let is_listed =
            text[..name_start].ends_with(b":") && contains(line_before(text, start), b"arn:");
        (!is_listed).then_some(name_start..name_end)
    }

    fn beside(&self, text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
        let place = Named {
            text,
            name: name.clone(),
        };
        let name_end = name.end;
        if place.byte(name_end) == b'(' {
            // Given to a call of that name: only what no text is.
            let (value, _) = place.quoted(name_end + 1)?;
            let said = &text[value.clone()];
            let is = is_machine_made(said)
                || (self.promise == Promise::Password
                    && is_secret(said, Promise::Password, Form::Loose));
            return is.then_some(value);
        }
        let is = |value: &Range<usize>, form: Form| {
            let said = &text[value.clone()];
            is_secret(said, self.promise, form)
                || (self.promise == Promise::Token
                    && place.is_plain(form, value.start)
                    && is_made_up(said))
        };
        match place.value() {
            Some((value, form)) => is(&value, form).then_some(value),
            None => place.loose().find(|value| is(value, Form::Loose)),
        }
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
            && !PUBLIC.iter().any(|word| lower.ends_with(word.as_bytes()));
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

/// `"pass": "…"`, which is a word of every program where it is not a name in quotes.
pub(super) fn pass_field(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(2)?;
    let is_quoted = matches!(start.checked_sub(1).map(|n| text[n]), Some(b'"' | b'\''));
    if !is_quoted || !has_word_at(text, start, "pass") {
        return None;
    }
    let place = Named {
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

/// `pass=…`, `let pass = …`.
pub(super) fn short_pass(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_end = |b: &u8| matches!(b, b' ' | b'=' | b':' | b'[');
    (has_word_at(text, at, "pass") && text.get(at + 4).is_some_and(is_end))
        .then(|| short_before(text, at + 4))
        .flatten()
}

/// `pw: …`, `rootpw …`; a sign or a blank is the third byte of the anchor.
pub(super) fn short(text: &[u8], at: usize) -> Option<Range<usize>> {
    short_before(text, at + 2)
}

/// Names that are parts of words, too: only as a whole, or behind a sign.
fn short_before(text: &[u8], end: usize) -> Option<Range<usize>> {
    let start = run_back(text, end, 16, |b| is_word(b) || matches!(b, b'-' | b'.'));
    let name = text[start..end].to_ascii_lowercase();
    let is_named = [
        "pass", "pw", "rootpw", "bindpw", "userpw", "adminpw", "dbpw",
    ]
    .iter()
    .any(|known| known.as_bytes() == name)
        || ["_pw", "-pw", ".pw", "-pass", ".pass"]
            .iter()
            .any(|known| name.ends_with(known.as_bytes()));
    if !is_named {
        return None;
    }
    let place = Named {
        text,
        name: start..end,
    };
    // To pass something is a verb, too.
    let is_verb = text.get(end) == Some(&b' ');
    let is = |value: &Range<usize>| {
        let said = &text[value.clone()];
        is_secret(said, Promise::Password, Form::Loose) && (!is_verb || is_chosen(said))
    };
    match place.value() {
        Some((value, _)) => is(&value).then_some(value),
        None => place.loose().find(is),
    }
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
