//! A commit of which only the readable fields were recorded: how its bytes
//! were most likely, and why its id may differ.

use gix::ObjectId;

use crate::error::Result;
use crate::git::Kind;
use crate::replay::journal::Commit;
use crate::replay::object::{RawCommit, is_signature};
use crate::replay::store::Store;

/// The commit that the readable fields of `commit` give. Writers are known to
/// turn the zone `-0000` into `+0000`; the guess is taken only when the id proves it.
pub(super) fn best_of_plain(
    store: &Store,
    commit: &Commit,
    tree: ObjectId,
    parents: &[ObjectId],
) -> Result<RawCommit> {
    let (author, committer) = (commit.author.header(), commit.committer.header());
    let build = |author: &str, committer: &str| {
        let message = commit.message.as_bytes();
        RawCommit::plain(
            tree,
            parents,
            author.as_bytes(),
            committer.as_bytes(),
            message,
        )
    };
    let plain = build(&author, &committer);
    if tree != commit.tree || store.id_of(Kind::Commit, &plain.content())? == commit.oid {
        return Ok(plain);
    }
    let (west_author, west_committer) = (west(&author), west(&committer));
    for (author, committer) in [
        (west_author.as_deref(), Some(committer.as_str())),
        (Some(author.as_str()), west_committer.as_deref()),
        (west_author.as_deref(), west_committer.as_deref()),
    ] {
        if let (Some(author), Some(committer)) = (author, committer) {
            let guess = build(author, committer);
            if store.id_of(Kind::Commit, &guess.content())? == commit.oid {
                return Ok(guess);
            }
        }
    }
    Ok(plain)
}

fn west(header: &str) -> Option<String> {
    header
        .strip_suffix("+0000")
        .map(|rest| format!("{rest}-0000"))
}

/// Why `rebuilt` has not the id of `commit`: the first differing header when
/// the recorded commit is in this repository, else the likely cause.
pub(super) fn of(store: &Store, commit: &Commit, rebuilt: &RawCommit) -> Result<String> {
    if let Some(original) = store.commit(commit.oid)? {
        return Ok(first_difference(&original, rebuilt));
    }
    let fields = [
        &commit.author.name,
        &commit.author.email,
        &commit.committer.name,
        &commit.committer.email,
        &commit.message,
    ];
    Ok(if fields.iter().any(|text| text.contains('\u{fffd}')) {
        "the recorded text has replacement characters: its encoding was not recorded".into()
    } else {
        "most likely a signature, an encoding or another header was not recorded".into()
    })
}

/// The first header, or the message, in which two commits differ.
fn first_difference(original: &RawCommit, rebuilt: &RawCommit) -> String {
    let mut rebuilt_fields = rebuilt.fields();
    for (name, value) in original.fields() {
        match rebuilt_fields.next() {
            Some(found) if found == (name, value) => {}
            _ if is_signature(name) => return format!("'{name}': the signature was not recorded"),
            Some((found, _)) if found == name => {
                return format!("'{name}' differs: it was '{value}'");
            }
            _ => return format!("'{name}': this header was not recorded"),
        }
    }
    if let Some((name, _)) = rebuilt_fields.next() {
        return format!("'{name}': the recorded commit has no such header");
    }
    "the message differs in its bytes: its encoding was not recorded".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let check = |original: &str, cause: &str| {
            let rebuilt = RawCommit::cut(b"tree x\nauthor a\ncommitter c\n\nm");
            let original = RawCommit::cut(original.as_bytes());
            let found = first_difference(&original, &rebuilt);
            assert!(found.contains(cause), "{found}");
        };
        check(
            "tree x\nauthor b\ncommitter c\n\nm",
            "'author' differs: it was 'b'",
        );
        check("tree x\nauthor a\ncommitter c\ngpgsig s\n\nm", "signature");
        check(
            "tree x\nauthor a\ncommitter c\nencoding l\n\nm",
            "'encoding': this header",
        );
        check(
            "tree x\nauthor a\n\nm",
            "'committer': the recorded commit has no",
        );
        check("tree x\nauthor a\ncommitter c\n\nM", "the message differs");
    }
}
