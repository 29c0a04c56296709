//! Ignored files that are copied because someone named them: `.worktreeinclude`
//! (gitignore(5) patterns, nothing else) and `shadow.include`.

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::deps;
use crate::shadow::ignored::Rules;

/// The files of the developer's checkout at `source` that are named and ignored.
///
/// # Errors
/// When the patterns cannot be read or git cannot list.
pub(super) fn files(repo: &Repo, source: &Path) -> Result<Vec<PathBuf>> {
    let mut patterns = fs::read(source.join(".worktreeinclude")).unwrap_or_default();
    for pattern in repo.config_all("shadow.include") {
        patterns.push(b'\n');
        patterns.extend_from_slice(&pattern);
    }
    if patterns.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let mut list = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    std::io::Write::write_all(&mut list, &patterns).context("cannot write the patterns")?;
    let from = [
        b"--exclude-from=",
        list.path().as_os_str().as_encoded_bytes(),
    ]
    .concat();
    let listed = repo
        .git(["ls-files", "-z", "--others", "--ignored"])
        .arg(
            from.to_os_str()
                .context("the temporary folder's name is no text")?,
        )
        .stdout()?;
    let mut rules = Rules::of(repo)?;
    let dependencies = deps::names(repo);
    let is_dependency = |path: &[u8]| {
        dependencies.iter().any(|name| {
            path.strip_prefix(name.as_bytes())
                .is_some_and(|r| r.starts_with(b"/"))
        })
    };
    Ok(listed
        .split(|b| *b == 0)
        // What ends with a slash is a repository of its own.
        .filter(|path| !path.is_empty() && !path.ends_with(b"/") && !is_dependency(path))
        .filter(|path| rules.is_ignored(path.as_bstr(), false))
        .map(|path| path.to_path_lossy().into_owned())
        .collect())
}
