//! Secrets that a command printed: the line below one that asks for a secret, phrases
//! of words for wallets, keys as lists of numbers.

use std::ops::Range;

use super::place::{contains, find, has_word_at, line_before, run, three_of};
use super::random::is_random;
use super::value::{Form, Promise, is_machine_made, is_secret};

/// What a line begins with in which a command was entered.
const PROMPTS: &[&[u8]] = &[
    b"$ ",
    b"# ",
    b"> ",
    b"% ",
    b"+ ",
    "❯ ".as_bytes(),
    "➜ ".as_bytes(),
    b">>> ",
];

/// A command that prints a secret and has no word for it in its name.
#[derive(Debug)]
pub(super) struct Printer {
    name: &'static str,
    anchor: usize,
}

const fn p(name: &'static str, anchor: usize) -> Printer {
    Printer { name, anchor }
}

/// The number is where the three rarest letters begin.
pub(super) const PRINTERS: &[Printer] = &[
    p("base64 -d", 3),
    p("base64 --decode", 3),
    p("dumpprivkey", 6),
    p("exportprivkey", 8),
    p("openssl rand", 3),
    p("pwgen", 0),
    p("pass show", 0),
    p("op read", 1),
    p("vault_pass", 4),
    p("vault-pass", 4),
    p(".pgpass", 0),
    p("wg genkey", 0),
    p("/dev/urandom", 4),
    p("snyk config get api", 1),
    p("whoami -t", 2),
    p("kv get -field", 7),
    p("apg -", 0),
    p("mkpasswd", 1),
    p("phx.gen.secret", 8),
    p("uuidgen", 3),
];

impl Printer {
    /// Three bytes that the command has.
    pub(super) const fn anchor(&self) -> [u8; 3] {
        three_of(self.name, self.anchor)
    }

    /// What it printed, when its anchor is at `at`.
    pub(super) fn check(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let start = at.checked_sub(self.anchor)?;
        has_word_at(text, start, self.name)
            .then(|| below(text, at))
            .flatten()
    }
}

/// What stands before a value that was just made.
const ANNOUNCED: &[&str] = &["new value:", "generated:", "your new key:", "value:"];

/// Commands of which the output is told by hashes.
const HASHES: &[&[u8]] = &[
    b"git ", b"sum ", b"md5", b"sha1", b"sha256", b"ls ", b"wc ", b"grep -c", b"stat ",
];

/// The line below the command in the line of `at`.
pub(super) fn below(text: &[u8], at: usize) -> Option<Range<usize>> {
    let end = run(text, at, 400, |b| b != b'\n');
    let command = &text[at - line_before(text, at).len()..end];
    let bare = command.trim_ascii_start();
    let is_entered = PROMPTS.iter().any(|prompt| bare.starts_with(prompt))
        || (contains(&bare[..bare.len().min(60)], b"$ ")
            || contains(&bare[..bare.len().min(60)], b"# "))
            && contains(bare, b"@");
    if !is_entered || HASHES.iter().any(|word| contains(command, word)) {
        return None;
    }
    let start = run(text, end, 2, |b| matches!(b, b'\n' | b'\r'));
    let stop = run(text, start, 600, |b| b != b'\n' && b != b'\r');
    is_printed(&text[start..stop]).then_some(start..stop)
}

/// Whether a line is a secret alone.
fn is_printed(line: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| line.iter().any(kind);
    let is_path = line.starts_with(b"/") || line.starts_with(b"./") || contains(line, b"://");
    (8..=512).contains(&line.len())
        && line.iter().all(u8::is_ascii_graphic)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_path
        && !line.ends_with(b":")
        && is_secret(line, Promise::Password, Form::Setting)
        && (is_machine_made(line) || is_random(line) || line.len() <= 40)
}

/// `New value: …`.
pub(super) fn announced(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = text.len() - text[at - line_before(text, at).len()..].len();
    let name = ANNOUNCED
        .iter()
        .find(|name| has_word_at(text, line, name))?;
    let start = run(text, line + name.len(), 4, |b| b == b' ');
    let stop = run(text, start, 600, |b| !b.is_ascii_whitespace());
    is_printed(&text[start..stop]).then_some(start..stop)
}

/// The words of a wallet behind `mnemonic`, `seed`, `recovery phrase`.
pub(super) fn phrase(text: &[u8], at: usize) -> Option<Range<usize>> {
    let known = ["mnemonic", "phrase", "seed"];
    if !known.iter().any(|word| has_word_at(text, at, word)) {
        return None;
    }
    let mut from = at;
    let stop = text.len().min(at + 300);
    while from < stop {
        from = run(text, from, 300, |b| {
            !matches!(b, b':' | b'=' | b'"' | b'\'' | b'\n' | b'(')
        });
        if from >= stop {
            return None;
        }
        let start = run(text, from + 1, 12, |b| {
            matches!(b, b' ' | b'"' | b'\'' | b'\n')
        });
        let mut end = start;
        let mut count = 0;
        loop {
            let word = run(text, end, 9, |b| b.is_ascii_lowercase());
            if !(3..=8).contains(&(word - end)) {
                break;
            }
            count += 1;
            let next = run(text, word, 1, |b| b == b' ');
            if next == word || count == 24 {
                end = word;
                break;
            }
            end = next;
        }
        let is_ended = text
            .get(end)
            .is_none_or(|b| matches!(b, b'"' | b'\'' | b'\n' | b'\r' | b'\\' | b'`'));
        if is_ended && matches!(count, 12 | 15 | 18 | 21 | 24) {
            return Some(start..end);
        }
        from += 1;
    }
    None
}

/// `[12,203,…]`: the 64 numbers of a key of Solana.
pub(super) fn numbers(text: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at.saturating_sub(12);
    let around = text[from..text.len().min(at + 12)].to_ascii_lowercase();
    let known = [
        &b"id.json"[..],
        b"keypair",
        b"solana",
        b"secretkey",
        b"uint8array",
    ];
    if !known.iter().any(|word| contains(&around, word)) {
        return None;
    }
    let end = text.len().min(at + 160);
    let open = at + find(&text[at..end], b"[")?;
    let close = run(text, open + 1, 600, |b| {
        b.is_ascii_digit() || matches!(b, b',' | b' ' | b'\n')
    });
    let count = text[open..close].iter().filter(|b| **b == b',').count();
    (text.get(close) == Some(&b']') && (60..=64).contains(&count)).then_some(open..close + 1)
}
