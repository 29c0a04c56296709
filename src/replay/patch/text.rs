//! Text hunks, applied at the very line they name and nowhere else: git may
//! search, we do not.

/// One `@@` hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The line before which it applies, from 1; the line after which, when it removes and keeps nothing.
    pub start: usize,
    /// How many lines of the old content it covers.
    pub covers: usize,
    /// Its lines.
    pub lines: Vec<Line<'a>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// What happens to it.
    pub tag: Tag,
    /// Its text, without the newline.
    pub text: &'a str,
    /// Whether a newline ends it; only the last line of a file may lack one.
    pub ends: bool,
}

/// What a line of a hunk says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It comes.
    Add,
}

/// `old` with the `hunks` applied; `None` when one does not fit exactly.
pub fn apply(old: &[u8], hunks: &[Hunk<'_>]) -> Option<Vec<u8>> {
    let mut new = Vec::with_capacity(old.len() + 256);
    let mut rest = old;
    let mut line = 1;
    for hunk in hunks {
        let first = if hunk.covers == 0 {
            hunk.start.checked_add(1)?
        } else {
            hunk.start
        };
        while line < first {
            new.extend_from_slice(next(&mut rest)?);
            line += 1;
        }
        if line != first {
            return None;
        }
        for Line { tag, text, ends } in &hunk.lines {
            if *tag != Tag::Add {
                let found = next(&mut rest)?;
                let found_text = found.strip_suffix(b"\n").unwrap_or(found);
                if found_text != text.as_bytes() || found.ends_with(b"\n") != *ends {
                    return None;
                }
                line += 1;
            }
            if *tag != Tag::Remove {
                // A line without newline can only be the last.
                if !new.is_empty() && !new.ends_with(b"\n") {
                    return None;
                }
                new.extend_from_slice(text.as_bytes());
                new.extend_from_slice(if *ends { b"\n" } else { b"" });
            }
        }
    }
    if !rest.is_empty() && !new.is_empty() && !new.ends_with(b"\n") {
        return None;
    }
    new.extend_from_slice(rest);
    Some(new)
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    if rest.is_empty() {
        return None;
    }
    let end = rest
        .iter()
        .position(|b| *b == b'\n')
        .map_or(rest.len(), |at| at + 1);
    let (line, after) = rest.split_at(end);
    *rest = after;
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk<'a>(start: usize, covers: usize, lines: &[(Tag, &'a str)]) -> Hunk<'a> {
        let lines = lines.iter().map(|(tag, text)| Line {
            tag: *tag,
            text: text.trim_end_matches('\n'),
            ends: text.ends_with('\n'),
        });
        Hunk {
            start,
            covers,
            lines: lines.collect(),
        }
    }

    #[test]
    fn hunks_apply_at_their_line() {
        let change = hunk(
            2,
            2,
            &[(Tag::Keep, "b\n"), (Tag::Remove, "c\n"), (Tag::Add, "C\n")],
        );
        assert_eq!(
            apply(b"a\nb\nc\nd\n", std::slice::from_ref(&change)),
            Some(b"a\nb\nC\nd\n".to_vec())
        );
        assert_eq!(apply(b"b\nc\nd\n", &[change]), None);
        let insert = hunk(1, 0, &[(Tag::Add, "x\n")]);
        assert_eq!(apply(b"a\nb", &[insert]), Some(b"a\nx\nb".to_vec()));
        let new = hunk(0, 0, &[(Tag::Add, "x")]);
        assert_eq!(apply(b"", &[new]), Some(b"x".to_vec()));
    }

    #[test]
    fn a_missing_newline_is_kept_and_never_in_the_middle() {
        let end = hunk(1, 1, &[(Tag::Remove, "a"), (Tag::Add, "a\n")]);
        assert_eq!(
            apply(b"a", std::slice::from_ref(&end)),
            Some(b"a\n".to_vec())
        );
        assert_eq!(apply(b"a\n", &[end]), None);
        let middle = hunk(1, 1, &[(Tag::Remove, "a\n"), (Tag::Add, "a")]);
        assert_eq!(apply(b"a\nb\n", &[middle]), None);
    }
}
