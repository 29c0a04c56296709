//! Which paths a patch touches, however it changes them: what can be said also
//! of a patch that only git can apply.

use std::collections::BTreeMap;

use crate::git::quote::unquoted;
use crate::git::{BString, ByteSlice};
use crate::replay::patch::header;

/// The paths that `patch` names, each with whether it is there afterwards;
/// `None` when not every section says its paths as git's own do.
pub fn touched(patch: &str) -> Option<BTreeMap<BString, bool>> {
    let mut paths = BTreeMap::new();
    let mut section = Section::default();
    let mut lines = patch.split('\n');
    while let Some(line) = lines.next() {
        if line.starts_with("diff --git ") {
            section.close(&mut paths)?;
            section = Section {
                path: header::path(line),
                is_open: true,
                ..Section::default()
            };
        } else if line.starts_with("--- ") {
            // A section of its own, by another program, names its paths here only.
            if !section.is_open || section.has_sides {
                return None;
            }
            section.has_sides = true;
        } else if line.starts_with("@@ -") {
            if !section.has_sides {
                return None;
            }
            let (_, old, _, new) = header::hunk(line)?;
            skip_hunk(&mut lines, old, new)?;
        } else if section.is_open && !section.has_sides {
            section.read(line)?;
        }
    }
    section.close(&mut paths)?;
    Some(paths)
}

#[derive(Default)]
struct Section {
    is_open: bool,
    /// Whether its `---` line was seen: no line of its header follows.
    has_sides: bool,
    path: Option<BString>,
    is_deleted: bool,
    /// What `rename` and `copy` lines name.
    moved: Vec<(BString, bool)>,
}

impl Section {
    fn read(&mut self, line: &str) -> Option<()> {
        self.is_deleted |= line.starts_with("deleted file mode ");
        for (prefix, stays) in [
            ("rename from ", false),
            ("rename to ", true),
            ("copy from ", true),
            ("copy to ", true),
        ] {
            if let Some(name) = line.strip_prefix(prefix) {
                self.moved
                    .push((unquoted(name.as_bytes().as_bstr())?, stays));
            }
        }
        Some(())
    }

    fn close(&mut self, paths: &mut BTreeMap<BString, bool>) -> Option<()> {
        if !self.is_open {
            return Some(());
        }
        let mut found = std::mem::take(&mut self.moved);
        match self.path.take() {
            Some(path) => found.push((path, !self.is_deleted)),
            None if found.len() == 2 => {}
            None => return None,
        }
        for (path, stays) in found {
            // A path that one section takes away and another one makes is there.
            *paths.entry(path).or_insert(false) |= stays;
        }
        Some(())
    }
}

/// Passes over the lines of a hunk, which may look like anything.
pub(super) fn skip_hunk<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
    mut old: usize,
    mut new: usize,
) -> Option<()> {
    while old > 0 || new > 0 {
        match lines.next()?.as_bytes().first() {
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'\\') => {}
            Some(b' ') | None => {
                old = old.checked_sub(1)?;
                new = new.checked_sub(1)?;
            }
            Some(_) => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patch: &str, wanted: Option<&[(&str, bool)]>) {
        let wanted = wanted.map(|list| list.iter().map(|(p, s)| ((*p).into(), *s)).collect());
        assert_eq!(touched(patch), wanted, "{patch}");
    }

    #[test]
    fn every_section_says_its_paths() {
        check("", Some(&[]));
        check(
            "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-- a/y\n+++ b/z\n+@@ -1 +1 @@\n\
             diff --git a/y b/y\ndeleted file mode 100644\n",
            Some(&[("x", true), ("y", false)]),
        );
        check(
            "diff --git a/x b/\"y\"\nsimilarity index 100%\nrename from x\nrename to \"\\\"y\\\"\"\n\
             diff --git a/x b/x\nnew file mode 100644\n",
            Some(&[("\"y\"", true), ("x", true)]),
        );
        check(
            "diff --git a/b b/b\nGIT binary patch\nliteral 1\nIcmZPo\n\nliteral 0\nHcmV?d00001\n\n",
            Some(&[("b", true)]),
        );
    }

    #[test]
    fn what_does_not_is_not_guessed() {
        check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", None);
        check("diff --git i/x w/x\n--- i/x\n+++ w/x\n", None);
        check("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", None);
        check(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n",
            None,
        );
        check(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n",
            None,
        );
    }
}
