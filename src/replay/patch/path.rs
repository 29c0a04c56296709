//! Which paths a patch may name: those that git would put into an index
//! (`verify_path` in read-cache.c), on every file system.

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
}
