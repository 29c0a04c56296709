//! What the user's own pushes would take along.

use gix::bstr::{BStr, BString, ByteSlice};

use crate::git::Repo;

impl Repo {
    /// The remotes to which a plain `git push` sends refs below `prefix` (which ends
    /// with a slash): mirrors, and those with a refspec that is wide enough.
    pub fn remotes_that_take(&self, prefix: &str) -> Vec<BString> {
        self.gix()
            .remote_names()
            .into_iter()
            .filter(|name| {
                let key = |variable: &str| format!("remote.{name}.{variable}");
                let is_mirror = self.config_bool(&key("mirror"), false).unwrap_or(false);
                is_mirror || takes(&self.config_all(&key("push")), prefix)
            })
            .map(|name| name.to_owned())
            .collect()
    }
}

/// Whether a push by `refspecs` (git-push(1)) takes refs below `prefix` along.
fn takes(refspecs: &[BString], prefix: &str) -> bool {
    let covers = |pattern: &BStr| {
        pattern
            .strip_suffix(b"*")
            .is_some_and(|start| prefix.as_bytes().starts_with(start))
    };
    let is_kept_back = refspecs.iter().any(|spec| {
        spec.strip_prefix(b"^")
            .is_some_and(|spec| covers(spec.as_bstr()))
    });
    !is_kept_back
        && refspecs.iter().any(|spec| {
            let spec = spec.strip_prefix(b"+").unwrap_or(spec);
            let source = spec.split(|b| *b == b':').next().unwrap_or_default();
            covers(source.as_bstr())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_takes_what_it_covers_unless_another_keeps_it_back() {
        let check = |specs: &[&str], expected: bool| {
            let specs: Vec<BString> = specs.iter().map(|s| BString::from(*s)).collect();
            assert_eq!(takes(&specs, "refs/harness/"), expected, "{specs:?}");
        };
        check(&[], false);
        check(&["refs/heads/*:refs/heads/*"], false);
        check(&["HEAD"], false);
        check(&["+refs/*:refs/*"], true);
        check(&["refs/*"], true);
        check(&["refs/harness/*:refs/backup/*"], true);
        check(&["+refs/*:refs/*", "^refs/harness/*"], false);
        check(&["+refs/*:refs/*", "^refs/heads/x"], true);
    }
}
