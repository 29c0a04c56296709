//! Secrets on command lines, by the programs of the table.

use std::ops::Range;

use super::place::{has_word_at, is_word, line_before, run};
use super::program::{Part, Program};
use super::value::{Form, Promise, is_chosen, is_machine_made, is_secret};

/// How many words of a command are looked at.
const WORDS: usize = 60;

impl Program {
    /// The secrets that the command has whose program's anchor is at `at`.
    pub(super) fn check(&self, text: &[u8], at: usize, found: &mut Vec<Range<usize>>) {
        let Some(start) = self.start(at) else { return };
        let name = self.name.trim_end_matches('*');
        let is_begun = start.checked_sub(1).is_none_or(|n| {
            !is_word(text[n]) && !matches!(text[n], b'-' | b'.' | b':' | b'=' | b'@')
        });
        if !is_begun || !has_word_at(text, start, name) {
            return;
        }
        let mut end = start + name.len();
        if name != self.name {
            end = run(text, end, 24, |b| is_word(b) || b == b'-');
            if text.get(end) != Some(&b' ') {
                return;
            }
        }
        let words: Vec<Range<usize>> = Words { text, at: end }.take(WORDS).collect();
        for (option, part) in self.options {
            self.option(text, option, *part, &words, found);
        }
    }

    fn option(
        &self,
        text: &[u8],
        option: &str,
        part: Part,
        words: &[Range<usize>],
        found: &mut Vec<Range<usize>>,
    ) {
        let mut give = |word: Range<usize>| {
            let is = |word: &Range<usize>| {
                let value = &text[word.clone()];
                // Some of what is set is none: a region, a level, a mode.
                is_given(text, word)
                    && (part != Part::Pairs || is_chosen(value) || is_machine_made(value))
            };
            if let Some(secret) = part_of(text, part, word).filter(is) {
                found.push(secret);
            }
        };
        if option.is_empty() {
            let plain = |word: &&Range<usize>| !text[(*word).clone()].starts_with(b"-");
            match part {
                Part::Last => words
                    .last()
                    .filter(plain)
                    .cloned()
                    .into_iter()
                    .for_each(give),
                Part::Second => words
                    .iter()
                    .filter(plain)
                    .nth(1)
                    .cloned()
                    .into_iter()
                    .for_each(give),
                _ => words.iter().cloned().for_each(give),
            }
            return;
        }
        for (n, word) in words.iter().enumerate() {
            let said = &text[word.clone()];
            let is_exact = said == option.as_bytes();
            let joined = said
                .strip_prefix(option.trim_end_matches('*').as_bytes())
                .filter(|rest| !rest.is_empty());
            match (part, joined) {
                (Part::Last, _) if is_exact => {
                    words[n + 1..]
                        .last()
                        .cloned()
                        .into_iter()
                        .for_each(&mut give);
                }
                (Part::Second, _) if is_exact => {
                    words.get(n + 2).cloned().into_iter().for_each(&mut give);
                }
                (Part::Joined, Some(rest)) => give(unquoted(text, word.end - rest.len()..word.end)),
                (_, Some(_)) if option.ends_with('*') => {
                    words.get(n + 1).cloned().into_iter().for_each(&mut give);
                }
                (_, Some(rest)) if option.ends_with([':', '=']) => {
                    give(unquoted(text, word.end - rest.len()..word.end));
                }
                (_, Some(rest)) if option.starts_with("--") && rest[0] == b'=' => {
                    give(unquoted(text, word.end - rest.len() + 1..word.end));
                }
                // `-usecret` of an option of one letter.
                (Part::Whole | Part::Behind(_), Some(rest))
                    if option.len() == 2 && !option.starts_with("--") =>
                {
                    give(unquoted(text, word.end - rest.len()..word.end));
                }
                (Part::Joined, _) => {}
                _ if is_exact => {
                    words.get(n + 1).cloned().into_iter().for_each(&mut give);
                }
                _ => {}
            }
        }
    }
}

/// What of `word` is the secret.
fn part_of(text: &[u8], part: Part, word: Range<usize>) -> Option<Range<usize>> {
    let said = &text[word.clone()];
    let behind = |sign: u8| {
        let at = said.iter().position(|b| *b == sign)?;
        Some(unquoted(text, word.start + at + 1..word.end))
    };
    match part {
        Part::Behind(sign) => behind(sign),
        Part::Pairs => {
            let name = run(text, word.start, 80, |b| {
                is_word(b) || matches!(b, b'-' | b'.')
            });
            (text.get(name) == Some(&b'=') && name > word.start)
                .then(|| behind(b'='))
                .flatten()
        }
        Part::Pass => said.starts_with(b"pass:").then(|| behind(b':')).flatten(),
        Part::Login(sign) => {
            let end = said.iter().rposition(|b| *b == b'@')?;
            let start = said[..end].iter().position(|b| *b == sign)?;
            Some(word.start + start + 1..word.start + end)
        }
        _ => Some(word),
    }
}

/// Without the quotes around it.
fn unquoted(text: &[u8], word: Range<usize>) -> Range<usize> {
    match text[word.clone()] {
        [first @ (b'"' | b'\''), .., last] if first == last => word.start + 1..word.end - 1,
        [b'"' | b'\'', ..] => word.start + 1..word.end,
        _ => word,
    }
}

/// The words of a command, without the quotes around them.
pub(super) struct Words<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let text = self.text;
        loop {
            self.at = run(text, self.at, 200, |b| b == b' ' || b == b'\t');
            match text.get(self.at..) {
                // The command goes on in the next line; `\n` so that JSON has it, too.
                Some([b'\\', b'\n', ..]) => self.at += 2,
                Some([b'\\', b'\r', b'\n', ..]) => self.at += 3,
                _ => break,
            }
        }
        let start = self.at;
        let mut quote = 0;
        while let Some(byte) = text.get(self.at).filter(|_| self.at - start < 2000) {
            match *byte {
                b'\n' => break,
                b if quote != 0 => quote = if b == quote { 0 } else { quote },
                b @ (b'"' | b'\'') => quote = b,
                b' ' | b'\t' | b';' | b'|' | b'&' | b')' | b'`' | b'>' | b'\r' => break,
                b'\\' if text.get(self.at + 1) == Some(&b'\\') => self.at += 1,
                b'\\' if matches!(text.get(self.at + 1), Some(b'n' | b'"' | b'\n') | None) => break,
                _ => {}
            }
            self.at += 1;
        }
        (self.at > start).then(|| unquoted(text, start..self.at))
    }
}

fn is_given(text: &[u8], word: &Range<usize>) -> bool {
    let value = &text[word.clone()];
    value.len() >= 4
        && !matches!(value[0], b'-' | b'@' | b'$' | b'<')
        && !value.starts_with(b"http")
        && is_secret(value, Promise::Password, Form::Setting)
}

fn shell_word(text: &[u8], at: usize) -> Range<usize> {
    Words { text, at }.next().unwrap_or(at..at)
}

/// `"-u", "user:…"` in a list of words.
pub(super) fn listed_user(text: &[u8], at: usize) -> Option<Range<usize>> {
    use super::place::contains;
    let line = line_before(text, at);
    if !contains(line, b"curl") && !contains(line, b"http") && !contains(line, b"wget") {
        return None;
    }
    let is_between = |b: u8| matches!(b, b'"' | b'\'' | b'\\' | b',' | b' ');
    let from = run(text, at + 3, 12, is_between);
    let word = from..run(text, from, 300, |b| {
        !matches!(b, b'"' | b'\'' | b'\\' | b'\n')
    });
    let colon = text[word.clone()].iter().position(|b| *b == b':')?;
    let secret = word.start + colon + 1..word.end;
    (from > at + 4 && is_given(text, &secret)).then_some(secret)
}

/// `-storepass …` and `-keypass …` of Java's tools.
pub(super) fn store_flag(text: &[u8], at: usize) -> Option<Range<usize>> {
    let name = super::place::run_back(text, at, 8, |b| b.is_ascii_alphabetic() || b == b'-');
    let flag = ["-storepass ", "-keypass "]
        .iter()
        .find(|flag| has_word_at(text, name, flag))?;
    let word = shell_word(text, name + flag.len());
    is_given(text, &word).then_some(word)
}

/// `-auth user:…`, `stats auth user:…`.
pub(super) fn auth_pair(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(2)?;
    if !has_word_at(text, start, "-auth ") && !has_word_at(text, start, " auth ") {
        return None;
    }
    let word = shell_word(text, at + 4);
    let colon = text[word.clone()].iter().position(|b| *b == b':')?;
    let secret = word.start + colon + 1..word.end;
    let form = if text[start] == b'-' {
        Form::Setting
    } else {
        Form::Loose
    };
    let is = is_secret(text.get(secret.clone())?, Promise::Password, form);
    (is && is_given(text, &secret)).then_some(secret)
}
