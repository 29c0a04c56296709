//! Remotes whose configuration would take our refs with it.

use gix::bstr::{BStr, BString, ByteSlice};

use crate::git::Repo;

/// What would happen to refs of ours, and the line of configuration that prevents it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// What would happen, naming the remote.
    pub what: String,
    /// The commands that prevent it.
    pub remedy: Vec<String>,
}

/// A ref that stands for all of ours.
const SAMPLE: &str = "refs/harness/checkpoints/main/001";
/// What keeps all of ours out (gitrevisions and git-push(1), negative refspecs).
const NEGATIVE: &str = "^refs/harness/*";

impl Repo {
    /// The remotes to which a push would copy `refs/harness/`, or whose fetch would
    /// write there (and with `--prune` delete).
    pub fn exposures(&self) -> Vec<Exposure> {
        self.remotes()
            .iter()
            .flat_map(|name| self.exposures_of(name.as_bstr()))
            .collect()
    }

    /// The names of all remotes that are configured.
    pub(super) fn remotes(&self) -> Vec<BString> {
        let config = self.gix().config_snapshot();
        let mut names: Vec<BString> = config
            .plumbing()
            .sections_by_name("remote")
            .into_iter()
            .flatten()
            .filter_map(|section| section.header().subsection_name().map(ToOwned::to_owned))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn exposures_of(&self, name: &BStr) -> Vec<Exposure> {
        let mut found = Vec::new();
        let key = |variable: &str| format!("remote.{name}.{variable}");
        if self.config_bool(&key("mirror"), false).unwrap_or(false) {
            found.push(Exposure {
                what: format!("'git push {name}' mirrors everything, checkpoints too"),
                remedy: vec![
                    format!("git config --unset remote.{name}.mirror"),
                    format!("git config --add remote.{name}.push '+refs/*:refs/*'"),
                    format!("git config --add remote.{name}.push '{NEGATIVE}'"),
                ],
            });
        }
        if covers(&self.config_all(&key("push"))) {
            found.push(Exposure {
                what: format!("'git push {name}' pushes checkpoints"),
                remedy: vec![format!("git config --add remote.{name}.push '{NEGATIVE}'")],
            });
        }
        if covers_destination(&self.config_all(&key("fetch"))) {
            found.push(Exposure {
                what: format!("'git fetch --prune {name}' deletes checkpoints"),
                remedy: vec![format!("git config --add remote.{name}.fetch '{NEGATIVE}'")],
            });
        }
        found
    }
}

/// Whether pushing by these refspecs takes a ref of ours.
fn covers(refspecs: &[BString]) -> bool {
    let takes = |side: &BStr| matches(side, SAMPLE.into());
    let negative = refspecs
        .iter()
        .filter_map(|spec| spec.strip_prefix(b"^"))
        .any(|pattern| takes(pattern.as_bstr()));
    !negative && refspecs.iter().any(|spec| takes(source(spec.as_bstr())))
}

/// Whether fetching by these refspecs writes where ours are.
fn covers_destination(refspecs: &[BString]) -> bool {
    let takes = |side: &BStr| matches(side, SAMPLE.into());
    let negative = refspecs
        .iter()
        .filter_map(|spec| spec.strip_prefix(b"^"))
        .any(|pattern| takes(pattern.as_bstr()));
    !negative
        && refspecs
            .iter()
            .filter_map(|spec| spec.split_once_str(":"))
            .any(|(_, destination)| takes(destination.as_bstr()))
}

fn source(refspec: &BStr) -> &BStr {
    let plain = refspec.strip_prefix(b"+").unwrap_or(refspec);
    match plain.split_once_str(":") {
        Some((source, _)) => source.as_bstr(),
        None => plain.as_bstr(),
    }
}

/// A refspec's pattern has at most one `*`, which also matches slashes.
fn matches(pattern: &BStr, name: &BStr) -> bool {
    match pattern.split_once_str("*") {
        Some((before, after)) => {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_that_takes_ours_is_seen() {
        let specs = |list: &[&str]| list.iter().map(|s| BString::from(*s)).collect::<Vec<_>>();
        assert!(covers(&specs(&["+refs/*:refs/*"])));
        assert!(covers(&specs(&["refs/harness/*:refs/backup/*"])));
        assert!(covers(&specs(&["refs/*"])));
        assert!(!covers(&specs(&["+refs/*:refs/*", "^refs/harness/*"])));
        assert!(!covers(&specs(&["refs/heads/*:refs/heads/*", "HEAD", ":"])));
        assert!(covers_destination(&specs(&["+refs/*:refs/*"])));
        assert!(!covers_destination(&specs(&["+refs/*:refs/remotes/x/*"])));
    }
}
