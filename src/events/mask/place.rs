//! Small questions about a place in a text.

/// A byte of a word: letter, digit or underscore.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Three bytes of `word` from `at` on.
pub(super) const fn three_of(word: &str, at: usize) -> [u8; 3] {
    let bytes = word.as_bytes();
    [bytes[at], bytes[at + 1], bytes[at + 2]]
}

/// Whether a token can begin at `at`: no word goes on there. What looks like a
/// letter may be the end of an escape (`\n`, `%3D`, `\u003d`).
pub(super) fn begins_at(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    match before {
        [.., last] if !is_word(*last) => true,
        [] => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|x| x.is_ascii_hexdigit()),
        _ => false,
    }
}

/// Whether `text` has `word` at `at`, letters without case.
pub(super) fn has_word_at(text: &[u8], at: usize, word: &str) -> bool {
    text.get(at..at + word.len())
        .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// The end of the run of bytes from `from` that `is_part` accepts, at most `limit` bytes on;
/// never behind the text.
pub(super) fn run(text: &[u8], from: usize, limit: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let end = text.len().min(from.saturating_add(limit));
    text[from.min(end)..end]
        .iter()
        .position(|b| !is_part(*b))
        .map_or(end, |n| from + n)
}

/// The start of the run of bytes that ends at `to`, at most `limit` bytes back.
pub(super) fn run_back(
    text: &[u8],
    to: usize,
    limit: usize,
    is_part: impl Fn(u8) -> bool,
) -> usize {
    let start = to.saturating_sub(limit);
    text[start..to]
        .iter()
        .rposition(|b| !is_part(*b))
        .map_or(start, |n| start + n + 1)
}

/// The part of the line of `at` that stands before it, at most 300 bytes.
pub(super) fn line_before(text: &[u8], at: usize) -> &[u8] {
    &text[run_back(text, at, 300, |b| b != b'\n')..at]
}

/// Whether `part` occurs in `text`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    find(text, part).is_some()
}

/// Where `part` begins in `text`.
pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
