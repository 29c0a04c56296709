//! A journal file that the user named: written beside and renamed, with the
//! permissions of any file of theirs, and never over another without a word. A
//! link is followed, and what bytes pass through is written through.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Context, Result, ensure};
use crate::replay::journal::container::Form;
use crate::ui::{self, Ui};

/// The form that the name of a journal asks for: JSON lines for `.jsonl` and `.ndjson`.
pub(super) fn form(path: &Path) -> Form {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl" | "ndjson") => Form::Lines,
        _ => Form::Array,
    }
}

/// Whether `path` may be written: nothing is lost by it, or the user agrees.
pub(super) fn may_write(path: &Path, yes: bool, ui: &mut Ui) -> Result<bool> {
    if yes || is_stdout(path) || !path.is_file() {
        return Ok(true);
    }
    if ui::can_ask() {
        return ui::confirm(&format!("Replace '{}'?", path.display()));
    }
    ui.say(format_args!("fatal: '{}' exists already", path.display()));
    ui.say("hint: give another name, or --yes to replace it");
    Ok(false)
}

/// Requires that [`write`] will be able to write to `path`, as far as that can be
/// known before.
///
/// # Errors
/// When its folder is missing or takes no new file.
pub(super) fn check(path: &Path) -> Result<()> {
    ensure!(!path.is_dir(), "'{}' is a folder", path.display());
    match is_stdout(path) {
        true => Ok(()),
        false => Place::of(path)?.beside().map(drop),
    }
}

/// Writes `text` to `path`; `-` is standard output.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(path: &Path, text: &str, ui: &mut Ui) -> Result<()> {
    if is_stdout(path) {
        return ui
            .out
            .write_all(text.as_bytes())
            .context("cannot write to standard output");
    }
    let cannot = || format!("cannot write '{}'", path.display());
    let place = Place::of(path)?;
    let Some(mut beside) = place.beside()? else {
        let mut file = File::options()
            .write(true)
            .open(path)
            .with_context(cannot)?;
        return file.write_all(text.as_bytes()).with_context(cannot);
    };
    beside
        .write_all(text.as_bytes())
        .and_then(|()| beside.as_file().sync_all())
        .with_context(cannot)?;
    beside
        .persist(&place.path)
        .map_err(|e| e.error)
        .with_context(cannot)?;
    Ok(())
}

/// Where a journal goes.
struct Place {
    /// What is replaced or made: a link is followed and stays.
    path: PathBuf,
    /// Whether bytes pass through it (a FIFO, a device): it is never replaced.
    is_passage: bool,
}

impl Place {
    fn of(path: &Path) -> Result<Self> {
        let mut target = path.to_owned();
        // As many links as the kernel follows.
        let mut links = 40;
        while let Ok(link) = fs::read_link(&target) {
            ensure!(links > 0, "'{}' is a link to itself", path.display());
            links -= 1;
            target = folder(&target).join(link);
        }
        let found = fs::metadata(path);
        Ok(Place {
            path: target,
            is_passage: found.is_ok_and(|found| !found.is_file() && !found.is_dir()),
        })
    }

    /// A new file that will take its place; `None` for a passage.
    fn beside(&self) -> Result<Option<NamedTempFile>> {
        if self.is_passage {
            return Ok(None);
        }
        let folder = folder(&self.path);
        let file = tempfile::Builder::new()
            .prefix(".tmp-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&folder)
            .with_context(|| format!("cannot write in '{}'", folder.display()))?;
        if let Ok(replaced) = fs::metadata(&self.path) {
            file.as_file().set_permissions(replaced.permissions())?;
        }
        Ok(Some(file))
    }
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}
