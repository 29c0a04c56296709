//! What git's own check finds wrong with a commit, by the names that
//! git-fsck(1) has for it, whatever git is installed.

use crate::git::ByteSlice;
use crate::replay::object::{RawCommit, cut_identity, object_id};

/// The first thing that `git fsck --strict` would report; `None` for a sound commit.
pub(super) fn complaint(commit: &RawCommit) -> Option<&'static str> {
    if commit.headers.contains(&0) {
        return Some("nulInHeader");
    }
    if !commit.headers.ends_with(b"\n") {
        return Some("unterminatedHeader");
    }
    let mut fields = commit.fields().peekable();
    match fields.next() {
        Some((name, value)) if name == "tree" => {
            if !is_id(value) {
                return Some("badTreeSha1");
            }
        }
        _ => return Some("missingTree"),
    }
    while let Some((_, value)) = fields.next_if(|(name, _)| *name == "parent") {
        if !is_id(value) {
            return Some("badParentSha1");
        }
    }
    let mut authors = 0;
    while let Some((_, value)) = fields.next_if(|(name, _)| *name == "author") {
        authors += 1;
        if let Some(wrong) = identity(value) {
            return Some(wrong);
        }
    }
    match authors {
        0 => return Some("missingAuthor"),
        1 => {}
        _ => return Some("multipleAuthors"),
    }
    match fields.next() {
        Some((name, value)) if name == "committer" => {
            if let Some(wrong) = identity(value) {
                return Some(wrong);
            }
        }
        _ => return Some("missingCommitter"),
    }
    let has_nul = commit.message.as_ref().is_some_and(|m| m.contains(&0));
    has_nul.then_some("nulInCommit")
}

fn is_id(value: &[u8]) -> bool {
    value.to_str().ok().and_then(object_id).is_some()
}

/// `fsck_ident` of git's fsck.c.
fn identity(value: &[u8]) -> Option<&'static str> {
    if value.starts_with(b"<") {
        return Some("missingNameBeforeEmail");
    }
    let Some(open) = value.find_byteset(b"<>") else {
        return Some("missingEmail");
    };
    if value[open] == b'>' {
        return Some("badName");
    }
    if !value[..open].ends_with(b" ") {
        return Some("missingSpaceBeforeEmail");
    }
    let rest = &value[open + 1..];
    let Some(close) = rest.find_byteset(b"<>").filter(|at| rest[*at] == b'>') else {
        return Some("badEmail");
    };
    if !rest[close + 1..].starts_with(b" ") {
        return Some("missingSpaceBeforeDate");
    }
    let (_, _, date) = cut_identity(value);
    let (seconds, zone) = match date.split_once_str(" ") {
        Some((seconds, zone)) => (seconds, zone),
        None => (date, &b""[..]),
    };
    if seconds.starts_with(b"0") && seconds != b"0" {
        return Some("zeroPaddedDate");
    }
    if seconds.is_empty() || !seconds.iter().all(u8::is_ascii_digit) {
        return Some("badDate");
    }
    let number = seconds
        .to_str()
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    if number.is_none_or(|number| number > i64::MAX as u64) {
        return Some("badDateOverflow");
    }
    let is_zone = zone.len() == 5
        && matches!(zone[0], b'+' | b'-')
        && zone[1..].iter().all(u8::is_ascii_digit);
    (!is_zone).then_some("badTimezone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(author: &str, wanted: Option<&str>) {
        let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let content = format!("tree {tree}\nauthor {author}\ncommitter A <a@b> 1 +0000\n\nm");
        assert_eq!(
            complaint(&RawCommit::cut(content.as_bytes())),
            wanted,
            "{author}"
        );
    }

    #[test]
    fn the_complaints_are_gits() {
        check("A <a@b> 1 +0000", None);
        check(" <> 0 -0000", None);
        check("A <a@b> 1 +051800", Some("badTimezone"));
        check("A <a@b> 1 -700", Some("badTimezone"));
        check("A<a@b> 1 +0000", Some("missingSpaceBeforeEmail"));
        check("A <a>b> 1 +0000", Some("missingSpaceBeforeDate"));
        check("A <a<b> 1 +0000", Some("badEmail"));
        check("A > <b> 1 +0000", Some("badName"));
        check("A", Some("missingEmail"));
        check("A <a@b> 01 +0000", Some("zeroPaddedDate"));
        check("A <a@b> -1 +0000", Some("badDate"));
        check(
            "A <a@b> 99999999999999999999 +0000",
            Some("badDateOverflow"),
        );
        let nul = format!(
            "tree {}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nm\0",
            "1".repeat(40)
        );
        assert_eq!(
            complaint(&RawCommit::cut(nul.as_bytes())),
            Some("nulInCommit")
        );
        assert_eq!(
            complaint(&RawCommit::cut(b"author x\n\nm")),
            Some("missingTree")
        );
    }
}
