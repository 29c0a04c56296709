//! Names of tasks: what may be one, and the folder and file names made of them.

use gix::bstr::ByteSlice;
use gix::objs::Kind;

use crate::error::{Result, hinted};

/// The longest name, in bytes: it becomes a folder, a ref and a file.
const AT_MOST: usize = 100;

/// Requires that `task` can be a folder, a ref component and a file everywhere.
///
/// # Errors
/// Says which rule it breaks.
pub(super) fn require_valid(task: &str) -> Result<()> {
    let reason = if task.is_empty() {
        "it is empty"
    } else if task.len() > AT_MOST {
        "it is longer than 100 bytes"
    } else if task.starts_with(['-', '/']) {
        "it begins with '-' or '/'"
    } else if task.contains([
        ',', '"', '\'', '$', '`', ';', '&', '|', '<', '>', '(', ')', '!',
    ]) {
        "it has a character that a shell would read"
    } else if task
        .split('/')
        .any(|part| part.eq_ignore_ascii_case("head") || part.eq_ignore_ascii_case(".git"))
    {
        "'HEAD' and '.git' are git's own"
    } else if gix::validate::reference::name_partial(format!("agent/{task}").as_bytes().as_bstr())
        .is_err()
    {
        "it could not be the name of a branch (git-check-ref-format(1))"
    } else {
        return Ok(());
    };
    Err(hinted(
        format!("'{task}' cannot be the name of a task: {reason}"),
        "use letters, digits, '-', '_' and '.', as in 'task-42'",
    ))
}

/// A folder name for `task`. Another name than its own carries a hash, so that two
/// tasks never share one; `taken` says which are (compared without case).
pub(super) fn slug(task: &str, taken: &[String]) -> String {
    let plain: String = task
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c,
            _ => '-',
        })
        .collect();
    let is_taken = taken.iter().any(|t| t.eq_ignore_ascii_case(&plain));
    if plain == task && !is_taken {
        return plain;
    }
    format!("{plain}-{}", short_hash(task))
}

/// Six hexadecimal digits that stand for `text`.
pub(super) fn short_hash(text: &str) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, text.as_bytes()).map_or_else(
        |_| "000000".to_owned(),
        |id| id.to_hex_with_len(6).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_a_name() {
        for good in ["task-42", "a", "fix/login", "Grün", "v1.2_x"] {
            assert!(require_valid(good).is_ok(), "{good}");
        }
        for bad in [
            "", "-x", "/x", "a b", "a,b", "..", "a..b", ".hidden", "x.lock", "a/", "a//b", "a\n",
            "HEAD", "x/.git", "a~1", "a:b", "a*", "a\\b", "@{", "$(id)",
        ] {
            assert!(require_valid(bad).is_err(), "{bad}");
        }
        assert!(require_valid(&"x".repeat(101)).is_err());
    }

    #[test]
    fn names_that_fall_together_part_by_a_hash() {
        assert_eq!(slug("task-42", &[]), "task-42");
        let a = slug("fix/login", &[]);
        let b = slug("fix-login", &[]);
        assert!(a.starts_with("fix-login-") && b == "fix-login", "{a} {b}");
        let lower = slug("task", &["TASK".to_owned()]);
        assert!(lower.starts_with("task-"), "{lower}");
    }
}
