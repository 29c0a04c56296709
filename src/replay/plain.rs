//! What a reader of the plain fields gets from a commit: one that, like
//! Outpost, knows no `x` and makes commits by `git commit-tree`.

use crate::git::ByteSlice;
use crate::replay::journal::Identity;
use crate::replay::journal::workspace::is_raw_date;
use crate::replay::object::{RawCommit, is_signature};

/// The outcome of the plain fields of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plain {
    /// The same id.
    Same,
    /// The same id in newer versions of git only, for this reason.
    OtherInOldGits(&'static str),
    /// Another id, for this reason.
    Other(String),
    /// An error of `git commit-tree`, for this reason.
    Refused(&'static str),
    /// Nothing: it must be recorded as unavailable, for this reason.
    Unavailable(&'static str),
}

/// What the plain fields of `raw` give.
pub(super) fn outcome(raw: &RawCommit) -> Plain {
    if raw.field("encoding").is_some() {
        return Plain::Unavailable("a commit has an encoding header");
    }
    let (Some(author), Some(committer)) = (raw.field("author"), raw.field("committer")) else {
        return Plain::Unavailable("a commit is malformed");
    };
    for value in [author, committer] {
        if !is_regular(value) {
            return Plain::Unavailable("a commit is malformed");
        }
    }
    for value in [author, committer] {
        let identity = Identity::shown(value);
        if identity.name.trim_matches(is_crud).is_empty() {
            return Plain::Refused("an empty name");
        }
        let seconds = identity.date.split(' ').next().unwrap_or_default();
        let number: u64 = seconds.parse().unwrap_or(u64::MAX);
        if number < 100_000_000 || seconds.len() > 10 {
            return Plain::Refused("a date that git reads as something else");
        }
    }
    let message = raw.message.as_deref().unwrap_or_default();
    if message.contains(&0) {
        return Plain::Refused("a NUL in the message");
    }
    match difference(raw, author, committer) {
        Some(why) => Plain::Other(why),
        None if [author, committer].into_iter().any(ends_with_dot) => {
            Plain::OtherInOldGits("it trims a dot at the end of a name")
        }
        None => Plain::Same,
    }
}

fn difference(raw: &RawCommit, author: &[u8], committer: &[u8]) -> Option<String> {
    for (name, _) in raw.fields() {
        match name.as_bytes() {
            b"tree" | b"parent" | b"author" | b"committer" => {}
            name if is_signature(name) => return Some("the signature is lost".into()),
            name => return Some(format!("the header '{}' is lost", name.as_bstr())),
        }
    }
    for value in [author, committer] {
        let identity = Identity::shown(value);
        if value.to_str().is_err() {
            return Some("a name is not UTF-8".into());
        }
        for text in [&identity.name, &identity.email] {
            if text.trim_matches(is_crud) != text {
                return Some("git trims a name or an address".into());
            }
        }
        let zone = identity.date.rsplit(' ').next().unwrap_or_default();
        if zone == "-0000" {
            return Some("the zone -0000 becomes +0000".into());
        }
        if zone
            .get(1..)
            .and_then(|text| text.parse::<u32>().ok())
            .is_none_or(|n| n > 1400)
        {
            return Some("git does not take the zone".into());
        }
    }
    let message = raw.message.as_deref().unwrap_or_default();
    if message.to_str().is_err() {
        return Some("the message is not UTF-8".into());
    }
    let parents = raw.parents();
    let plain = raw
        .tree()
        .map(|tree| RawCommit::plain(tree, &parents, author, committer, message));
    (plain.as_ref() != Some(raw)).then(|| "its headers are not in the usual form".into())
}

/// Name, blank, address in brackets, blank, raw date: what Outpost reads.
fn is_regular(value: &[u8]) -> bool {
    let identity = Identity::shown(value);
    let rebuilt = identity.header();
    rebuilt == String::from_utf8_lossy(value)
        && is_raw_date(&identity.date)
        && !identity.email.contains(['<', '>'])
}

fn ends_with_dot(value: &crate::git::BStr) -> bool {
    let identity = Identity::shown(value);
    [identity.name, identity.email]
        .iter()
        .any(|text| text.starts_with('.') || text.ends_with('.'))
}

/// What git cuts from both ends of a name (`strbuf_addstr_without_crud` in ident.c).
fn is_crud(c: char) -> bool {
    c <= ' ' || ",:;<>\"\\'".contains(c)
}
