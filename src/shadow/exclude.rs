//! Lines of ours in the common `info/exclude`, between two marks: linked
//! dependencies, so that `git add -A` cannot commit them. They go with the last
//! shadow that needs them.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

use gix::bstr::{BStr, ByteSlice};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::shadow::task::Task;

const BEGIN: &str = "# >>> git shadow: linked dependencies";
const END: &str = "# <<< git shadow";

/// The anchored line for `path`, without a trailing slash: a link is no folder.
pub(super) fn line(path: &BStr) -> Option<String> {
    let mut line = String::from("/");
    for c in path.to_str().ok()?.chars() {
        if matches!(c, '*' | '?' | '[' | '\\' | '#' | '!' | ' ') {
            line.push('\\');
        }
        line.push(c);
    }
    (!line.contains('\n')).then_some(line)
}

/// Makes the lines between the marks those that the shadows in the folder need,
/// but for `leaving`. The caller holds [`Task::lock`].
///
/// # Errors
/// When the file cannot be read or written.
pub(super) fn sync(repo: &Repo, leaving: Option<&str>) -> Result<()> {
    let needed: BTreeSet<String> = Task::all(repo)?
        .into_iter()
        .filter(|task| Some(task.slug.as_str()) != leaving)
        .flat_map(|task| task.excluded)
        .collect();
    let path = repo.common_dir().join("info/exclude");
    // A link stays one: what it leads to is written.
    let path = path.canonicalize().unwrap_or(path);
    let context = || format!("cannot update '{}'", path.display());
    let text = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e).with_context(context),
    };
    let changed = with_lines(&text, &needed);
    if changed == text {
        return Ok(());
    }
    crate::state::crash::point();
    // The user's own file: it keeps its mode, and is never half written.
    let folder = path.parent().unwrap_or(repo.common_dir()).to_owned();
    fs::create_dir_all(&folder).with_context(context)?;
    let mode = fs::metadata(&path).map_or(0o644, |found| found.permissions().mode() & 0o7777);
    let mut beside = tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(&folder)
        .with_context(context)?;
    std::io::Write::write_all(beside.as_file_mut(), &changed).with_context(context)?;
    beside
        .persist(&path)
        .map_err(|e| e.error)
        .with_context(context)?;
    Ok(())
}

/// `text` with the block of ours replaced by `lines`, or without it.
fn with_lines(text: &[u8], lines: &BTreeSet<String>) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut inside = false;
    for line in text.split_inclusive(|b| *b == b'\n') {
        match line.trim_ascii_end() {
            bare if bare == BEGIN.as_bytes() => inside = true,
            bare if bare == END.as_bytes() && inside => inside = false,
            _ if inside => {}
            _ => kept.extend_from_slice(line),
        }
    }
    if lines.is_empty() {
        return kept;
    }
    if kept.last().is_some_and(|b| *b != b'\n') {
        kept.push(b'\n');
    }
    for line in [BEGIN]
        .into_iter()
        .chain(lines.iter().map(String::as_str))
        .chain([END])
    {
        kept.extend_from_slice(line.as_bytes());
        kept.push(b'\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_lines_stay_as_they_are() {
        let own = b"# mine\n*.log\n";
        let lines = BTreeSet::from(["/node_modules".to_owned()]);
        let with = with_lines(own, &lines);
        assert_eq!(
            with.as_bstr(),
            format!("# mine\n*.log\n{BEGIN}\n/node_modules\n{END}\n").as_str()
        );
        assert_eq!(with_lines(&with, &lines), with);
        assert_eq!(with_lines(&with, &BTreeSet::new()), own);
    }

    #[test]
    fn a_path_is_no_pattern() {
        assert_eq!(line("a b/[x]*".into()).as_deref(), Some("/a\\ b/\\[x]\\*"));
        assert_eq!(line("a\nb".into()), None);
    }
}
