//! Secrets that programs are given on their input: `echo … | sudo -S`, `<<< …`, what a
//! script for `expect` sends; and what databases and PowerShell are told in words.

use std::ops::Range;

use super::command::Words;
use super::place::{contains, find, has_word_at, line_before, run, run_back};
use super::value::{Form, Promise, is_machine_made, is_secret};

/// Commands that read a secret.
const READERS: &[&[u8]] = &[
    b"sudo -s",
    b"sudo -k -s",
    b"sudo -ks",
    b"chpasswd",
    b"passwd",
    b"-stdin",
    b"--with-token",
    b"--passphrase-fd",
    b"--pinentry",
    b"kinit",
    b"cryptsetup",
    b"luks",
    b"pass insert",
    b"secret set",
    b"secrets set",
    b"secret put",
    b"secret create",
    b"secret-tool",
    b"secrets create",
    b"secrets versions add",
    b"env add",
    b" login",
    b"-pass stdin",
    b"su -",
    b"kwallet",
    b"keyring set",
    b"token add",
];

fn is_given(text: &[u8], word: &Range<usize>) -> bool {
    let value = &text[word.clone()];
    value.len() >= 4 && is_secret(value, Promise::Password, Form::Setting)
}

/// `echo … |`, `printf … |` before a command that reads a secret.
pub(super) fn piped(text: &[u8], at: usize) -> Option<Range<usize>> {
    let name = ["echo ", "printf "]
        .iter()
        .find(|name| has_word_at(text, at, name))?;
    let mut words = Words {
        text,
        at: at + name.len(),
    };
    let format = |word: &Range<usize>| {
        let said = &text[word.clone()];
        said.starts_with(b"-") || said.starts_with(b"%s")
    };
    let mut word = words.next()?;
    while format(&word) {
        word = words.next()?;
    }
    let bar = run(text, words.at, 4, |b| matches!(b, b' ' | b'\n' | b'+'));
    let is_traced = text[words.at..bar].contains(&b'\n') && line_before(text, at).starts_with(b"+");
    if text.get(bar) != Some(&b'|') && !is_traced {
        return None;
    }
    secret_for(text, word, bar)
}

/// The same of `printf`, whose anchor is its end.
pub(super) fn formatted(text: &[u8], at: usize) -> Option<Range<usize>> {
    piped(text, at.checked_sub(3)?)
}

/// `command <<< …`.
pub(super) fn here_string(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = Words { text, at: at + 3 }.next()?;
    secret_for(text, word, at - line_before(text, at).len())
}

/// `word` when the command at `reader` reads a secret.
fn secret_for(text: &[u8], word: Range<usize>, reader: usize) -> Option<Range<usize>> {
    let line = text[reader..run(text, reader, 300, |b| b != b'\n')].to_ascii_lowercase();
    if !READERS.iter().any(|known| contains(&line, known)) {
        return None;
    }
    let mut secret = word;
    if contains(&line, b"passwd")
        && let Some(colon) = find(&text[secret.clone()], b":")
    {
        secret.start += colon + 1;
    }
    // `\n` at the end of a format.
    if text[secret.clone()].ends_with(b"\\n") {
        secret.end -= 2;
    }
    is_given(text, &secret).then_some(secret)
}

/// `send "…\r"` where a password is expected.
pub(super) fn sent(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = run_back(text, at, 200, |b| !matches!(b, b'"' | b'\n'));
    let line = line_before(text, start.checked_sub(1)?).trim_ascii();
    let before = text[start.saturating_sub(200)..start].to_ascii_lowercase();
    let is_asked = [
        &b"assword"[..],
        b"passphrase",
        b"passcode",
        b"secret",
        b"pin:",
    ]
    .iter()
    .any(|word| contains(&before, word));
    let secret = start..at;
    (line.starts_with(b"send") && is_asked && is_given(text, &secret)).then_some(secret)
}

/// The text before `-AsPlainText` of PowerShell.
pub(super) fn plain_text(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !has_word_at(text, at, "-asplaintext") {
        return None;
    }
    let line = line_before(text, at).trim_ascii_end();
    let quote = *line.last().filter(|b| matches!(b, b'\'' | b'"'))?;
    let end = at - line_before(text, at).len() + line.len() - 1;
    let start = run_back(text, end, 200, |b| b != quote && b != b'\n');
    let secret = start..end;
    is_given(text, &secret).then_some(secret)
}

/// `IDENTIFIED BY '…'` and `PASSWORD '…'` of databases.
pub(super) fn of_role(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = line_before(text, at + 1).to_ascii_lowercase();
    if !line.ends_with(b"identified by") && !line.ends_with(b"password") {
        return None;
    }
    let statement = [&b"create"[..], b"alter", b"grant", b"set "];
    if !statement.iter().any(|word| contains(&line, word)) {
        return None;
    }
    let word = Words { text, at: at + 2 }.next()?;
    let value = &text[word.clone()];
    (is_machine_made(value) || is_given(text, &word)).then_some(word)
}
