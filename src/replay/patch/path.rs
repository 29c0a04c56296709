//! Which paths a patch may name: those that git would put into an index
//! (`verify_path` in read-cache.c), on every file system.

use crate::git::quote::unquoted;
use crate::git::{BString, ByteSlice};
use crate::replay::patch::{header, touched};

/// Why `path` must not be written; `None` when it may.
pub fn danger(path: &[u8]) -> Option<&'static str> {
    if path.starts_with(b"/") {
        return Some("an absolute path");
    }
    path.split(|b| *b == b'/').find_map(|part| match part {
        b"" => Some("an empty name"),
        b"." | b".." => Some("a path that leaves its folder"),
        part if part.contains(&0) => Some("a name with a NUL"),
        part if is_git_folder(part) => Some("a path inside a git folder"),
        _ => None,
    })
}

/// The first path that `patch` names and must not, and why: also of a patch that
/// only git reads, by all lines in which git looks for names (apply.c).
pub fn danger_in(patch: &str) -> Option<(BString, &'static str)> {
    let mut lines = patch.split('\n');
    while let Some(line) = lines.next() {
        if let Some((_, old, _, new)) = header::hunk(line) {
            // What a hunk adds may look like anything. One that is not whole is
            // read to its end, as git refuses it.
            touched::skip_hunk(&mut lines, old, new);
            continue;
        }
        for name in names(line) {
            if let Some(why) = danger(&name) {
                return Some((name, why));
            }
        }
    }
    None
}

/// The paths that `line` of a header may name, less the prefix that git takes off.
fn names(line: &str) -> Vec<BString> {
    for prefix in [
        "rename from ",
        "rename to ",
        "rename old ",
        "rename new ",
        "copy from ",
        "copy to ",
    ] {
        if let Some(name) = line.strip_prefix(prefix) {
            return unquoted(name.into()).into_iter().collect();
        }
    }
    let below = |name: BString| match name.find_byte(b'/') {
        Some(at) => BString::from(&name[at + 1..]),
        None => name,
    };
    for prefix in ["--- ", "+++ "] {
        if let Some(name) = line.strip_prefix(prefix) {
            // Other programs put a date behind a tab.
            let name = name.split('\t').next().unwrap_or_default();
            let name = unquoted(name.into()).filter(|name| name != "/dev/null");
            return name.map(below).into_iter().collect();
        }
    }
    let Some(names) = line.strip_prefix("diff --git ") else {
        return Vec::new();
    };
    header::sides(names).into_iter().map(below).collect()
}

/// Whether a file system could take `name` for `.git`.
fn is_git_folder(name: &[u8]) -> bool {
    // HFS+ ignores some code points, NTFS trailing dots, blanks and streams, and
    // calls the folder GIT~1 as well.
    let seen: String = String::from_utf8_lossy(name)
        .chars()
        .filter(|c| !is_ignored_by_hfs(*c))
        .collect::<String>()
        .to_ascii_lowercase();
    let seen = seen.split([':', '\\']).next().unwrap_or_default();
    let seen = seen.trim_end_matches([' ', '.']);
    matches!(seen, ".git" | "git~1")
}

/// The code points of `next_hfs_char` in git's utf8.c.
fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_patch_leaves_the_tree_or_enters_a_git_folder() {
        for path in [
            "../x",
            "a/../x",
            "/x",
            "a//b",
            "a/",
            "",
            ".",
            "./a",
            ".git",
            ".git/hooks/x",
            "a/.GIT/x",
            ".git./x",
            ".git /x",
            "git~1/x",
            ".g\u{200c}it/x",
            ".git::$INDEX_ALLOCATION/x",
            ".git\\x",
        ] {
            assert!(danger(path.as_bytes()).is_some(), "{path}");
        }
        for path in [
            "a",
            ".gitignore",
            ".gitattributes",
            "a/.github/x",
            "..a",
            "a..",
            "...",
            "x.git",
            "git",
            "a b",
        ] {
            assert_eq!(danger(path.as_bytes()), None, "{path}");
        }
        assert_eq!(danger(b"\xff\xfe"), None);
    }

    #[test]
    fn names_are_seen_in_every_form_that_git_reads() {
        for patch in [
            "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n",
            "--- a/x\n+++ b/.git/x\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git i/../x w/../x\nnew file mode 100644\n",
            "diff --git a/x b/y\nrename from x\nrename to .git/hooks/y\n",
            "diff --git a/x b/y\ncopy from x\ncopy to \"../\\303\\274\"\n",
            "diff --git \"a/.git/\\303\\274\" \"b/.git/\\303\\274\"\n",
            "diff --git a/.git/\u{fc} \"b/.git/\\303\\274\"\n",
            "words\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b//x\n",
        ] {
            assert!(danger_in(patch).is_some(), "{patch}");
        }
        for patch in [
            "",
            "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- a/../x\n-++ b/../x\n",
            "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+++ b/.git/x\n",
            "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n",
        ] {
            assert_eq!(danger_in(patch), None, "{patch}");
        }
    }
}
