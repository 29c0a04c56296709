//! Keys as files and documents hold them: PEM, PuTTY, JSON web keys, and what of
//! these is in base64 once more.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::place::{contains, find, has_word_at, line_before, run, run_back};
use super::special::is_base64url;

/// How much of a key is looked at.
const LONGEST: usize = 16 << 10;

pub(super) fn private_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let word = at.checked_sub(3)?;
    if !text[word..].starts_with(b"PRIVATE KEY") {
        return None;
    }
    let line = line_before(text, word);
    let head = run(text, word, 40, |b| b.is_ascii_uppercase() || b == b' ');
    if !text[head..].starts_with(b"-----") {
        return None;
    }
    if contains(line, b"-----END ") {
        // A key whose beginning was cut away.
        let end = word - line.len() + find(line, b"-----END ")?;
        let start = run_back(text, end, LONGEST, is_armour);
        return (end - start >= 32 && !contains(&text[start..end], b"-----")).then_some(start..end);
    }
    if !contains(line, b"-----BEGIN ") {
        return None;
    }
    let body = head + 5;
    let rest = &text[body..text.len().min(body + (LONGEST))];
    let end = match find(rest, b"-----END ") {
        Some(n) => body + n,
        None => {
            let end = run(text, body, LONGEST, is_armour);
            // In pieces, as programs hold it; but what follows a mere mention is code.
            let pieces = run(text, body, LONGEST, |b| {
                is_armour(b) || matches!(b, b'"' | b'\'')
            });
            let is_key = text[body..pieces]
                .split(|b| !is_base64(*b))
                .any(|piece| piece.len() >= 40);
            if is_key { pieces } else { end }
        }
    };
    let kept = text[body..end]
        .iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .count();
    (kept >= 16).then(|| {
        // The line breaks stay, so that the text keeps its shape.
        let trimmed = text[body..end].trim_ascii_end().len();
        body + run(&text[body..end], 0, 4, |b| matches!(b, b'\n' | b'\r'))..body + trimmed
    })
}

fn is_armour(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_whitespace()
        || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b':' | b',' | b'.')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The private half of a PuTTY key.
pub(super) fn putty_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    const HEAD: &str = "private-lines:";
    let start = at.checked_sub(3)?;
    if !has_word_at(text, start, HEAD) {
        return None;
    }
    let line = run(text, start + HEAD.len(), 8, |b| b != b'\n') + 1;
    let end = run(text, line, LONGEST, |b| {
        is_base64(b) || matches!(b, b'\n' | b'\r')
    });
    // The run goes on into the name of the next line.
    let end = run_back(text, end, 80, |b| b != b'\n').saturating_sub(1);
    (end > line + 16).then_some(line..end)
}

/// A private key in base64 once more, as a kubeconfig has it.
pub(super) fn encoded_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !text[at..].starts_with(b"LS0tLS1CRUdJTiB") {
        return None;
    }
    let end = run(text, at, LONGEST, is_base64);
    let head = STANDARD.decode(&text[at..end.min(at + 64)]).ok()?;
    contains(&head, b"PRIVATE KEY").then_some(at..end)
}

/// A login file of a container registry in base64.
pub(super) fn encoded_logins(text: &[u8], at: usize) -> Option<Range<usize>> {
    let end = run(text, at, LONGEST, is_base64);
    (text[at..].starts_with(b"eyJhdXRocyI6") && end - at >= 32).then_some(at..end)
}

/// `"d"` of a JSON web key.
pub(super) fn web_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let colon = run(text, at + 3, 4, |b| matches!(b, b' ' | b':'));
    let value = run(text, colon, 1, |b| b == b'"');
    let end = run(text, value, 4096, is_base64url);
    let around = text.len().min(end + 400);
    let is_key = value > colon
        && end - value >= 40
        && text.get(end) == Some(&b'"')
        && contains(&text[at.saturating_sub(4096)..around], b"\"kty\"");
    is_key.then_some(value..end)
}
