//! The lines between `diff --git` and the content.

use gix::ObjectId;

use crate::git::quote::unquoted;
use crate::git::{BString, ByteSlice};
use crate::replay::object::object_id;

/// The path of a `diff --git` line, without its two prefixes; `None` when the
/// two sides differ or it is not a line as `diff-tree` writes it.
pub fn path(line: &str) -> Option<BString> {
    let rest = line.strip_prefix("diff --git ")?;
    let (old, new) = if rest.starts_with('"') {
        let end = closing_quote(rest)?;
        let (old, new) = rest.split_at(end + 1);
        (
            unquoted(old.into())?,
            unquoted(new.strip_prefix(' ')?.into())?,
        )
    } else {
        // `a/P b/P`: only the length tells where the first ends.
        let middle = rest.len().checked_sub(1)? / 2;
        let (old, new) = (rest.get(..middle)?, rest.get(middle + 1..)?);
        if rest.as_bytes().get(middle) != Some(&b' ') {
            return None;
        }
        (old.into(), new.into())
    };
    let old = old.strip_prefix(b"a/")?;
    let new = new.strip_prefix(b"b/")?;
    (old == new).then(|| old.into())
}

/// The two names behind `diff --git `, prefixes and all, as far as both end in the
/// same path; without them git takes the names from other lines.
pub fn sides(names: &str) -> Vec<BString> {
    let whole = |text: &str| unquoted(text.into());
    let below = |name: &BString| name.find_byte(b'/').map(|at| name[at..].to_vec());
    let pair = |at: usize| {
        let (old, new) = (whole(names.get(..at)?)?, whole(names.get(at + 1..)?)?);
        (below(&old).is_some() && below(&old) == below(&new)).then(|| vec![old, new])
    };
    let blanks = names.match_indices(' ').map(|(at, _)| at);
    blanks.into_iter().find_map(pair).unwrap_or_default()
}

/// Where the quote that `text` begins with is closed.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes.then_some(at)
    })
}

/// An octal mode that a tree can hold for a file, a link or a submodule.
pub fn mode(text: &str) -> Option<u32> {
    match text {
        "100644" => Some(0o100_644),
        "100755" => Some(0o100_755),
        "120000" => Some(0o120_000),
        "160000" => Some(0o160_000),
        _ => None,
    }
}

/// The two full ids of an `index` line, and the mode when it stands there.
pub fn index(line: &str) -> Option<((ObjectId, ObjectId), Option<u32>)> {
    let rest = line.strip_prefix("index ")?;
    let (ids, found) = match rest.split_once(' ') {
        Some((ids, text)) => (ids, Some(mode(text)?)),
        None => (rest, None),
    };
    let (old, new) = ids.split_once("..")?;
    let (old, new) = (object_id(old)?, object_id(new)?);
    (old.kind() == new.kind()).then_some(((old, new), found))
}

/// The path of a `---` or `+++` line with its prefix, `None` for `/dev/null`;
/// the outer `None` when it is no such line.
pub fn side(line: &str, sign: &str, prefix: &[u8]) -> Option<Option<BString>> {
    let rest = line.strip_prefix(sign)?;
    // A name with a blank is followed by a tab, for other tools' sake.
    let rest = rest.strip_suffix('\t').unwrap_or(rest);
    if rest == "/dev/null" {
        return Some(None);
    }
    let name = unquoted(rest.into())?;
    Some(Some(name.strip_prefix(prefix)?.into()))
}

/// `@@ -l,c +l,c @@`: old start and count, new start and count.
pub fn hunk(line: &str) -> Option<(usize, usize, usize, usize)> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((old_start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
    Some((old_start, old_count, new_start, new_count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_with_and_without_quotes() {
        let check = |line: &str, wanted: Option<&[u8]>| {
            assert_eq!(path(line), wanted.map(BString::from), "{line}");
        };
        check("diff --git a/x b/x", Some(b"x"));
        check("diff --git a/x b/y b/x b/y", Some(b"x b/y"));
        check(
            "diff --git \"a/\\377\\\"\" \"b/\\377\\\"\"",
            Some(b"\xff\""),
        );
        check("diff --git a/x b/y", None);
        check("diff --git x x", None);
        check("diff --git ", None);
        check("diff --git \"a/x", None);
        check("diff --git a/\u{e9} b/\u{e9}", Some("\u{e9}".as_bytes()));
    }

    #[test]
    fn hunk_headers_are_read() {
        assert_eq!(hunk("@@ -1,2 +3 @@ fn x"), Some((1, 2, 3, 1)));
        assert_eq!(hunk("@@ -1,99999999999999999999 +3 @@"), None);
        assert_eq!(hunk("@@ 1 +3 @@"), None);
    }
}
