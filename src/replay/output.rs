//! A journal file that the user named: written beside and renamed, with the
//! permissions of any file of theirs, and never over another without a word.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::replay::journal::container::Form;
use crate::ui::{self, Ui};

/// The form that the name of a journal asks for: JSON lines for `.jsonl` and `.ndjson`.
pub(super) fn form(path: &Path) -> Form {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl" | "ndjson") => Form::Lines,
        _ => Form::Array,
    }
}

/// Whether `path` may be written: it is free, or the user agrees to lose it.
pub(super) fn may_write(path: &Path, yes: bool, ui: &mut Ui) -> Result<bool> {
    if yes || is_stdout(path) || path.symlink_metadata().is_err() {
        return Ok(true);
    }
    if ui::can_ask() {
        return ui::confirm(&format!("Replace '{}'?", path.display()));
    }
    ui.say(format_args!("fatal: '{}' exists already", path.display()));
    ui.say("hint: give another name, or --yes to replace it");
    Ok(false)
}

/// Writes `text` to `path`; `-` is standard output.
pub(super) fn write(path: &Path, text: &str, ui: &mut Ui) -> Result<()> {
    if is_stdout(path) {
        return ui
            .out
            .write_all(text.as_bytes())
            .context("cannot write to standard output");
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut beside = tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&folder)
        .with_context(|| format!("cannot write in '{}'", folder.display()))?;
    beside
        .write_all(text.as_bytes())
        .and_then(|()| beside.as_file().sync_all())
        .with_context(|| format!("cannot write '{}'", path.display()))?;
    beside
        .persist(path)
        .map_err(|e| e.error)
        .with_context(|| format!("cannot write '{}'", path.display()))?;
    Ok(())
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}
