//! The hook's own trouble. It is written down, masked and bounded, and never
//! shown to the agent; `doctor` tells of it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::events::mask::Masked;
use crate::events::time;

/// The file is begun again when it is larger.
const LARGEST: u64 = 1 << 20;

/// Where the trouble of the repository with `common_dir` is; without one, where
/// that of this user is.
pub(crate) fn path(common_dir: Option<&Path>) -> Option<PathBuf> {
    match common_dir {
        Some(common) => Some(common.join("harness/hook-errors.log")),
        None => {
            let state = std::env::var_os("XDG_STATE_HOME")
                .filter(|v| !v.is_empty())
                .map(PathBuf::from);
            let base =
                state.or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))?;
            Some(base.join("git-harness/hook-errors.log"))
        }
    }
}

/// Writes `trouble` down. What cannot be written is lost: there is nobody to tell.
pub(crate) fn note(common_dir: Option<&Path>, agent: &str, trouble: &str) {
    let Some(path) = path(common_dir) else { return };
    if let Some(folder) = path.parent() {
        let _ = crate::state::file::make_folder(folder, Default::default());
    }
    let is_full = path.metadata().is_ok_and(|found| found.len() > LARGEST);
    let opened = OpenOptions::new()
        .append(!is_full)
        .write(true)
        .truncate(is_full)
        .create(true)
        .mode(0o600)
        .open(&path);
    if let Ok(mut file) = opened {
        let text = Masked::new(trouble).cut(4000);
        let line = format!(
            "{} {} {}\n",
            time::text(time::now()),
            Masked::new(agent),
            text.replace('\n', " ")
        );
        let _ = file.write_all(line.as_bytes());
    }
}
