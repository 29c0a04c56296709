//! Paths as a user names them, from the folder in which they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use gix::bstr::BString;

use crate::error::{Context, Result};
use crate::git::Repo;

impl Repo {
    /// `path`, absolute or from the current folder, as a path from the worktree's
    /// root; `None` when it lies outside. It need not exist, and its last
    /// component is not followed when it is a link.
    ///
    /// # Errors
    /// When there is no worktree or no current folder.
    pub fn path_in_worktree(&self, path: &Path) -> Result<Option<BString>> {
        let root = self.require_worktree()?;
        let absolute = if path.is_absolute() {
            path.to_owned()
        } else {
            std::env::current_dir()
                .context("cannot find the current folder")?
                .join(path)
        };
        let plain = without_dots(&absolute);
        let below = match plain.strip_prefix(root) {
            Ok(below) => Some(below.to_owned()),
            // The way to it may lead through a link that the root's own path does not show.
            Err(_) => resolved(&plain).and_then(|p| p.strip_prefix(root).ok().map(Path::to_owned)),
        };
        Ok(below
            .filter(|p| !p.as_os_str().is_empty())
            .map(|p| BString::from(p.into_os_string().into_vec())))
    }

    /// Pathspecs of the user, for a git that runs at the worktree's root: those that
    /// are relative to the current folder get its prefix, as git itself adds it.
    pub fn pathspecs(&self, specs: &[OsString]) -> Vec<OsString> {
        let prefix = self.prefix().as_os_str().as_bytes();
        specs
            .iter()
            .map(|spec| {
                if prefix.is_empty() {
                    return spec.clone();
                }
                let bytes = spec.as_bytes();
                // `:(top)…` and `:/…` are from the root already; other magic keeps its words.
                let (magic, rest) = split_magic(bytes);
                if magic.contains(&b'/') || magic.windows(3).any(|w| w == b"top") {
                    return spec.clone();
                }
                let path = Path::new(OsStr::from_bytes(prefix)).join(OsStr::from_bytes(rest));
                let path = without_dots(&path);
                OsString::from_vec([magic, path.as_os_str().as_bytes()].concat())
            })
            .collect()
    }
}

/// The magic of a pathspec (gitglossary(7)) and what follows it.
fn split_magic(spec: &[u8]) -> (&[u8], &[u8]) {
    if let Some(long) = spec.strip_prefix(b":(") {
        return match long.iter().position(|b| *b == b')') {
            Some(end) => spec.split_at(end + 3),
            None => (b"", spec),
        };
    }
    if spec.first() == Some(&b':') {
        let end = spec[1..]
            .iter()
            .position(|b| !matches!(b, b'/' | b'!' | b'^'))
            .map_or(spec.len(), |at| at + 1);
        return spec.split_at(end);
    }
    (b"", spec)
}

/// `path` without `.` and `..`, by its text alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// `path` with the links on the way to it resolved, but not itself.
fn resolved(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    match parent.canonicalize() {
        Ok(real) => Some(real.join(path.file_name()?)),
        Err(_) => Some(resolved(parent)?.join(path.file_name()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_is_told_from_path() {
        let split = |text: &'static str| {
            let (magic, rest) = split_magic(text.as_bytes());
            (
                String::from_utf8_lossy(magic).into_owned(),
                String::from_utf8_lossy(rest).into_owned(),
            )
        };
        assert_eq!(split("a/b"), (String::new(), "a/b".to_owned()));
        assert_eq!(split(":!a"), (":!".to_owned(), "a".to_owned()));
        assert_eq!(split(":(glob)a*"), (":(glob)".to_owned(), "a*".to_owned()));
        assert_eq!(split(":/"), (":/".to_owned(), String::new()));
    }

    #[test]
    fn dots_go_away() {
        assert_eq!(without_dots(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
