//! Secrets that nothing names: a run of characters that only a machine makes, of which
//! nothing around says that it is an id, a hash, an address or a piece of a file.

use std::ops::Range;

use super::place::{contains, run, run_back};
use super::public::{is_public_name, is_public_place, is_public_prefix};
use super::random::{has_all_kinds, is_random, is_token};
use super::special::airtable;

/// The shortest run that is judged, 128 bits in base64, and the longest.
const SHORTEST: usize = 22;
const LONGEST: usize = 160;

/// How many bytes in a row are looked at together.
const WINDOW: usize = 8;

/// Two windows lie so far apart that every run of the shortest length holds one.
const STRIDE: usize = SHORTEST - WINDOW + 1;

/// Puts each such run of `text` into `found`.
pub(super) fn runs(text: &[u8], found: &mut Vec<Range<usize>>) {
    let (chunks, _) = text.as_chunks::<STRIDE>();
    let mut end = 0;
    for (n, chunk) in chunks.iter().enumerate() {
        let at = n * STRIDE;
        if chunk.first_chunk().is_some_and(may_be_random) && at >= end {
            end = judge(text, at, found).max(end);
        }
    }
    // The last window may lie behind the last whole chunk.
    let at = chunks.len() * STRIDE;
    if let Some(last) = text[at..].first_chunk()
        && may_be_random(last)
        && at >= end
    {
        judge(text, at, found);
    }
}

/// Looks at the run that holds the window at `at`; where it ends.
#[inline(never)]
fn judge(text: &[u8], at: usize, found: &mut Vec<Range<usize>>) -> usize {
    if !text[at..at + WINDOW].iter().all(|b| is_token(*b)) {
        return 0;
    }
    let whole = around(text, at);
    let end = whole.end;
    if (SHORTEST..=LONGEST).contains(&whole.len()) {
        found.extend(airtable(text, &whole).or_else(|| check(text, whole)));
    }
    end
}

/// Whether eight bytes may lie inside of a random run: no space, quote or bracket among
/// them, but a digit or two capitals, which two in a hundred random ones lack (and 8 and
/// 9 count for none, which are like a colon). Without a branch, for most texts have
/// neither.
#[inline]
fn may_be_random(bytes: &[u8; WINDOW]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x80 * ONES;
    const LETTERS: u64 = 0x40 * ONES;
    let eight = u64::from_le_bytes(*bytes);
    let below = |limit: u64, bytes: u64| bytes.wrapping_sub(limit * ONES) & !bytes;
    let is_other = (below(0x2b, eight) | eight) & TOPS != 0;
    let digits = !eight & (eight << 2) & !(eight << 3) & LETTERS;
    let line = below(1, eight ^ (u64::from(b'_') * ONES));
    let capitals = eight & !(eight << 1) & !(line >> 1) & LETTERS;
    let second = capitals & capitals.wrapping_sub(1);
    !is_other & ((digits | second) != 0)
}

/// The run that holds `at`.
fn around(text: &[u8], at: usize) -> Range<usize> {
    let start = run_back(text, at, LONGEST + 1, is_token);
    start..run(text, at, LONGEST + 1, is_token)
}

/// Whether all of `text` is one such run, which may be the name of something.
pub(super) fn is_whole(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    (SHORTEST..=LONGEST).contains(&text.len())
        && text.iter().all(|b| is_token(*b))
        && is_random(text)
        && !is_public_prefix(text)
}

fn check(text: &[u8], mut whole: Range<usize>) -> Option<Range<usize>> {
    // `\n` and `\u003d` of an escape are no part of it.
    if whole.start > 0 && text[whole.start - 1] == b'\\' {
        whole.start += match text[whole.start] {
            b'u' => 5,
            _ => 1,
        };
    }
    // `NAME=value` in one run: the value is what is judged.
    let padding = run_back(text, whole.end, 3, |b| b == b'=');
    let sign = text[whole.start..padding.max(whole.start)]
        .iter()
        .rposition(|b| *b == b'=');
    if let Some(sign) = sign {
        if is_public_name(&text[whole.start..whole.start + sign]) {
            return None;
        }
        whole.start += sign;
    }
    // Signs around it belong to the text.
    whole.start += text[whole.clone()]
        .iter()
        .take_while(|b| matches!(b, b'-' | b'=' | b'+' | b'/'))
        .count();
    if whole.len() < SHORTEST || whole.len() == text.trim_ascii().len() {
        return None;
    }
    let value = &text[whole.clone()];
    // What is cheap to see first: most runs are names, or lines of a block.
    let is = has_all_kinds(value)
        && !is_of_a_block(text, &whole)
        && is_random(value)
        && !is_public_prefix(value)
        && !is_public_place(text, &whole);
    is.then_some(whole)
}

/// A line of many such lines: a certificate, a public key, an attachment.
fn is_of_a_block(text: &[u8], whole: &Range<usize>) -> bool {
    let is_break = |at: usize| {
        text.get(at)
            .is_none_or(|b| matches!(b, b'\n' | b'\r' | b'\\' | b'<' | b'>'))
    };
    let start = run_back(text, whole.start, 20, |b| {
        matches!(b, b' ' | b'\t' | b'+' | b'/' | b'-' | b'=')
    });
    if !(start == 0 || is_break(start - 1) || text[..start].ends_with(b"\\n"))
        || !is_break(whole.end)
    {
        return false;
    }
    let is_part = |line: &[u8]| {
        let line = line.trim_ascii();
        line.starts_with(b"-----")
            || (line.len() >= 40 && line.iter().all(|b| is_token(*b)))
            || contains(line, b"-----BEGIN")
    };
    let before = &text[run_back(text, start.saturating_sub(1), 200, |b| b != b'\n')..start];
    let next = run(text, whole.end, 2, |b| matches!(b, b'\n' | b'\r'));
    let after = &text[next..run(text, next, 200, |b| b != b'\n')];
    is_part(before) || is_part(after)
}

#[cfg(test)]
mod tests {
    fn found(text: &str) -> Vec<&str> {
        super::super::secrets(text.as_bytes())
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn a_run_is_found_wherever_it_begins() {
        let token = "8ULNHqzQgKujtR4tWHiIqeVs";
        for pad in 0..40 {
            let text = format!(
                "{} x(\"{token}\")",
                "a ".repeat(pad) + &" ".repeat(pad % 13)
            );
            assert_eq!(found(&text), [token], "{pad}");
        }
    }

    #[test]
    fn ids_hashes_and_names_are_left() {
        for text in [
            "id toolu_01SC4ASfUsaBu4JYvrLi3rMn done",
            "\"integrity\": \"sha512-eQp906iE5rNo3oM1q1T5G2N9cddTHqNV5p60mucy9Smd6gPYJyq\"",
            "AbstractSingletonProxyFactoryBean2Implementation3",
            "https://docs.google.com/document/d/1UJQZVOr7v5yOjszPQ0FTDzrTS3cOX7WSSycLvoYkr6G/edit",
            "8ULNHqzQgKujtR4tWHiIqeVs",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
