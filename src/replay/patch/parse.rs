//! A patch as `git diff-tree -p --binary --full-index --no-renames` writes it.

use std::iter::Peekable;
use std::str::Split;

use crate::replay::patch::change::{Body, Change, Refusal};
use crate::replay::patch::text::{Hunk, Line, Tag};
use crate::replay::patch::{base85, header, path};

/// Reads the whole `patch`.
///
/// # Errors
/// When it names a path that no patch may write, or holds what only git may understand.
pub fn parse(patch: &str) -> Result<Vec<Change<'_>>, Refusal> {
    let mut lines = Lines::of(patch);
    let mut changes = Vec::new();
    while let Some(line) = lines.next() {
        let Some(path) = header::path(line) else {
            return Err(lines.unknown("no 'diff --git' line of one path"));
        };
        if let Some(danger) = path::danger(&path) {
            let shown = crate::git::quote::quoted(path.as_ref());
            return Err(Refusal::Unsafe(format!("names '{shown}', {danger}")));
        }
        changes.push(lines.change(path)?);
    }
    Ok(changes)
}

/// Gives back what an editor or a JSON tool trims from the end of a patch: the
/// final newline, and the blank line that ends a binary hunk.
pub fn mend(patch: &mut String) {
    if patch.is_empty() {
        return;
    }
    if !patch.ends_with('\n') {
        patch.push('\n');
    }
    let last = patch
        .trim_end_matches('\n')
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let is_binary = base85::decode(&[last]).is_some()
        && patch
            .rfind("GIT binary patch")
            .is_some_and(|at| !patch[at..].contains("\ndiff --git "));
    if is_binary && !patch.ends_with("\n\n") {
        patch.push('\n');
    }
}

struct Lines<'a> {
    lines: Peekable<Split<'a, char>>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn of(patch: &'a str) -> Self {
        // The newline at the end ends the last line and begins none.
        let text = patch.strip_suffix('\n').unwrap_or(patch);
        let mut lines = text.split('\n').peekable();
        if patch.is_empty() {
            lines.next();
        }
        Lines { lines, number: 0 }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.lines.next()
    }

    fn peek(&mut self) -> &'a str {
        self.lines.peek().copied().unwrap_or_default()
    }

    fn take(&mut self, prefix: &str) -> Option<&'a str> {
        let rest = self.peek().strip_prefix(prefix)?;
        self.next();
        Some(rest)
    }

    fn unknown(&self, why: &str) -> Refusal {
        Refusal::unknown(self.number, why)
    }

    fn mode(&mut self, prefix: &str) -> Result<Option<u32>, Refusal> {
        match self.take(prefix) {
            None => Ok(None),
            Some(text) => match header::mode(text) {
                Some(mode) => Ok(Some(mode)),
                None => Err(self.unknown("an unusual mode")),
            },
        }
    }

    fn change(&mut self, path: crate::git::BString) -> Result<Change<'a>, Refusal> {
        let mut old_mode = self.mode("old mode ")?;
        let mut new_mode = self.mode("new mode ")?;
        let created = self.mode("new file mode ")?;
        let deleted = self.mode("deleted file mode ")?;
        let (is_new, is_deleted) = (created.is_some(), deleted.is_some());
        if (is_new && is_deleted)
            || ((is_new || is_deleted) && (old_mode.is_some() || new_mode.is_some()))
        {
            return Err(self.unknown("contradicting modes"));
        }
        old_mode = old_mode.or(deleted);
        new_mode = new_mode.or(created);
        let mut ids = None;
        if self.peek().starts_with("index ") {
            let Some((found, mode)) = self.next().and_then(header::index) else {
                return Err(self.unknown("an index line without full ids"));
            };
            ids = Some(found);
            if mode.is_some() {
                old_mode = mode;
                new_mode = mode;
            }
        }
        let body = if self.take("GIT binary patch").is_some() {
            self.binary()?
        } else if self.peek().starts_with("--- ") {
            self.sides(&path, is_new, is_deleted)?;
            self.hunks()?
        } else {
            Body::None
        };
        let next = self.peek();
        if !(next.starts_with("diff --git ") || self.lines.peek().is_none()) {
            return Err(self.unknown("an unknown line"));
        }
        Ok(Change {
            path,
            old_mode,
            new_mode,
            is_new,
            is_deleted,
            ids,
            body,
        })
    }

    fn sides(
        &mut self,
        path: &crate::git::BString,
        is_new: bool,
        is_deleted: bool,
    ) -> Result<(), Refusal> {
        let old = self
            .next()
            .and_then(|line| header::side(line, "--- ", b"a/"));
        let new = self
            .next()
            .and_then(|line| header::side(line, "+++ ", b"b/"));
        let wanted = |absent: bool| Some((!absent).then(|| path.clone()));
        if old != wanted(is_new) || new != wanted(is_deleted) {
            return Err(self.unknown("names that do not fit the 'diff --git' line"));
        }
        Ok(())
    }

    fn hunks(&mut self) -> Result<Body<'a>, Refusal> {
        let mut hunks = Vec::new();
        while self.peek().starts_with("@@ ") {
            let Some((start, covers, _, gives)) = self.next().and_then(header::hunk) else {
                return Err(self.unknown("a broken hunk header"));
            };
            let (mut old, mut new) = (covers, gives);
            let mut lines = Vec::new();
            while old > 0 || new > 0 {
                let Some(line) = self.next() else {
                    return Err(self.unknown("a hunk ends early"));
                };
                let tag = match line.as_bytes().first() {
                    Some(b' ') => Tag::Keep,
                    Some(b'-') => Tag::Remove,
                    Some(b'+') => Tag::Add,
                    _ => return Err(self.unknown("a broken hunk line")),
                };
                let (from_old, from_new) = (tag != Tag::Add, tag != Tag::Remove);
                if (from_old && old == 0) || (from_new && new == 0) {
                    return Err(self.unknown("a hunk with more lines than it says"));
                }
                old -= usize::from(from_old);
                new -= usize::from(from_new);
                let ends = self.take("\\ ").is_none();
                lines.push(Line {
                    tag,
                    text: &line[1..],
                    ends,
                });
            }
            hunks.push(Hunk {
                start,
                covers,
                lines,
            });
        }
        if hunks.is_empty() {
            return Err(self.unknown("no hunk"));
        }
        Ok(Body::Text(hunks))
    }

    fn binary(&mut self) -> Result<Body<'a>, Refusal> {
        let forward = self.binary_hunk()?;
        let Some(forward) = forward else {
            return Err(self.unknown("neither 'literal' nor 'delta'"));
        };
        // The way back is not ours to check; git does not apply it either.
        self.binary_hunk()?;
        Ok(forward)
    }

    fn binary_hunk(&mut self) -> Result<Option<Body<'a>>, Refusal> {
        let (is_delta, size) = match (self.take("literal "), self.take("delta ")) {
            (Some(size), None) => (false, size),
            (None, Some(size)) => (true, size),
            _ => return Ok(None),
        };
        let Ok(size) = size.parse() else {
            return Err(self.unknown("no size"));
        };
        let mut lines = Vec::new();
        loop {
            match self.next() {
                Some("") | None => break,
                Some(line) if base85::length(line.as_bytes()).is_some() => lines.push(line),
                Some(_) => return Err(self.unknown("no base85 line")),
            }
        }
        Ok(Some(if is_delta {
            Body::Delta(size, lines)
        } else {
            Body::Literal(size, lines)
        }))
    }
}
