//! Secrets whose name stands above them: a column of a table in a text, or of an
//! `INSERT`.

use std::ops::Range;

use super::place::{find, line_before, run};

/// How many lines below the name are looked at.
const LINES: usize = 40;

/// The values below the name at `name`, when its line is the head of a table.
pub(super) fn below(text: &[u8], name: &Range<usize>) -> Vec<Range<usize>> {
    let start = name.start - line_before(text, name.start).len();
    let end = run(text, name.end, 600, |b| b != b'\n');
    let head = &text[start..end];
    for sign in [b',', b';', b'\t', b'|'] {
        if !is_bounded(text, name, sign) {
            continue;
        }
        let all = head.iter().filter(|b| **b == sign).count();
        if all < 1 {
            continue;
        }
        let is_head = head.iter().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'_' | b' ' | b'-' | b'"' | b'\r')
                || *b == sign
        });
        let is_full = sign == b'|'
            || (!head[0].is_ascii_whitespace()
                && head
                    .split(|b| *b == sign)
                    .all(|cell| !cell.trim_ascii().is_empty()));
        if !is_head || !is_full {
            continue;
        }
        let column = text[start..name.start]
            .iter()
            .filter(|b| **b == sign)
            .count();
        return rows(text, end, sign, column, all);
    }
    inserted(text, name)
}

fn is_bounded(text: &[u8], name: &Range<usize>, sign: u8) -> bool {
    let is_end =
        |b: Option<&u8>| b.is_none_or(|b| *b == sign || matches!(b, b'\n' | b'\r' | b'"' | b' '));
    is_end(name.start.checked_sub(1).map(|n| &text[n])) && is_end(text.get(name.end))
}

fn rows(text: &[u8], head: usize, sign: u8, column: usize, all: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = head + 1;
    for _ in 0..LINES {
        if at >= text.len() {
            break;
        }
        let end = run(text, at, 2000, |b| b != b'\n');
        let line = &text[at..end];
        if line.iter().filter(|b| **b == sign).count() != all {
            break;
        }
        if let Some(cell) = cell(text, at..end, sign, column) {
            found.push(cell);
        }
        at = end + 1;
    }
    found
}

/// The part of `row` between the signs, without blanks and quotes.
fn cell(text: &[u8], row: Range<usize>, sign: u8, column: usize) -> Option<Range<usize>> {
    let mut start = row.start;
    for _ in 0..column {
        start += text[start..row.end].iter().position(|b| *b == sign)? + 1;
    }
    let end = text[start..row.end]
        .iter()
        .position(|b| *b == sign)
        .map_or(row.end, |n| start + n);
    let is_around = |b: &u8| matches!(b, b' ' | b'"' | b'\'' | b'\r' | b'`');
    let lead = text[start..end].iter().take_while(|b| is_around(b)).count();
    let tail = text[start + lead..end]
        .iter()
        .rev()
        .take_while(|b| is_around(b))
        .count();
    (start + lead < end - tail).then(|| start + lead..end - tail)
}

/// `INSERT INTO t (…, name, …) VALUES (…, '…', …)`.
fn inserted(text: &[u8], name: &Range<usize>) -> Vec<Range<usize>> {
    let line = line_before(text, name.start);
    let Some(open) = line.iter().rposition(|b| *b == b'(') else {
        return Vec::new();
    };
    let close = run(text, name.end, 400, |b| b != b')' && b != b'(');
    let rest = &text[close..text.len().min(close + 40)].to_ascii_lowercase();
    let Some(values) = find(rest, b"values").filter(|n| rest[1..*n].trim_ascii().is_empty()) else {
        return Vec::new();
    };
    let column = line[open..].iter().filter(|b| **b == b',').count();
    let mut found = Vec::new();
    let mut at = run(text, close + values + 6, 20, |b| b.is_ascii_whitespace());
    while text.get(at) == Some(&b'(') && found.len() < LINES {
        let (mut n, mut quote, mut start) = (0, 0, at + 1);
        let mut end = at + 1;
        while end < text.len().min(at + 4000) {
            match text[end] {
                b if quote != 0 => quote = if b == quote { 0 } else { quote },
                b @ (b'\'' | b'"') => quote = b,
                b',' | b')' => {
                    if n == column
                        && let Some(value) = cell(text, start..end, b'\n', 0)
                    {
                        found.push(value);
                    }
                    n += 1;
                    start = end + 1;
                    if text[end] == b')' {
                        break;
                    }
                }
                _ => {}
            }
            end += 1;
        }
        at = run(text, end + 1, 20, |b| b == b',' || b.is_ascii_whitespace());
    }
    found
}
