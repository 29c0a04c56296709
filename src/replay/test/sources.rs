//! Which journals are meant.

use std::path::{Path, PathBuf};

use crate::error::{Context, Result, ensure};

/// The files that `arguments` name, those in a folder by name.
pub(super) fn journals(arguments: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut journals = Vec::new();
    for path in arguments {
        if !path.is_dir() || path.join("objects/logs").is_dir() {
            journals.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        let entries = std::fs::read_dir(path);
        for entry in entries.with_context(|| format!("cannot list '{}'", path.display()))? {
            let file = entry?.path();
            if is_journal(&file) {
                inside.push(file);
            }
        }
        ensure!(
            !inside.is_empty(),
            "'{}' holds no journals (*.json, *.jsonl)",
            path.display()
        );
        inside.sort();
        journals.append(&mut inside);
    }
    Ok(journals)
}

fn is_journal(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "jsonl" | "ndjson")) && path.is_file()
}
