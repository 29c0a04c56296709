//! `git trajectory scan`: secrets in files that were written without a mask.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::events::{Lines, mask};
use crate::git::Repo;
use crate::ui::{Ui, counted};

#[derive(Args)]
pub(super) struct Arguments {
    /// Files or folders; without one all that we have written in this repository
    paths: Vec<PathBuf>,
}

/// The longest line that is looked at.
const LONGEST: usize = 64 << 20;

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let paths = if arguments.paths.is_empty() {
        vec![repo.shared_state()]
    } else {
        arguments.paths
    };
    let mut found = 0;
    for path in &paths {
        path.symlink_metadata()
            .with_context(|| format!("cannot read '{}'", path.display()))?;
        found += below(path, ui)?;
    }
    ui.note(counted(found, "secret"));
    Ok(if found == 0 { Exit::Done } else { Exit::No })
}

fn below(path: &Path, ui: &mut Ui) -> Result<usize> {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .with_context(|| format!("cannot read '{}'", path.display()))?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        let mut found = 0;
        for entry in entries {
            found += below(&entry, ui)?;
        }
        return Ok(found);
    }
    if !path.is_file() {
        return Ok(0);
    }
    let mut lines = Lines::open(path, 0, LONGEST)?;
    let (mut number, mut found) = (0, 0);
    loop {
        let (secrets, is_end) = match lines.next_line()? {
            Some((_, text)) => (mask::secrets(text).len(), false),
            None => (mask::secrets(lines.rest()).len(), true),
        };
        number += 1;
        if secrets > 0 {
            // Where, never what.
            writeln!(ui.out, "{}:{number}: {secrets}", path.display())?;
            found += secrets;
        }
        if is_end {
            return Ok(found);
        }
    }
}
