//! What time it is where times of files come from.

use std::os::unix::fs::OpenOptionsExt;
use std::time::SystemTime;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::snapshot::stat::Stat;
use crate::state::file;

/// The file system's "now", by a file that is touched just now: a change that
/// comes later cannot have an older time.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn touch(repo: &Repo) -> Result<(i64, u32)> {
    let path = repo.own_state().join("clock");
    file::make_folder(&repo.own_state(), repo.sharing())?;
    let touched = || -> std::io::Result<(i64, u32)> {
        let clock = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)?;
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW as _,
        };
        rustix::fs::futimens(
            &clock,
            &rustix::fs::Timestamps {
                last_access: now,
                last_modification: now,
            },
        )?;
        let touched = Stat::of(&rustix::fs::fstat(&clock)?).mtime;
        Ok(no_server_s(touched, since_epoch()))
    };
    touched()
        .map_err(|e| file::explain(e, &path))
        .with_context(|| format!("cannot write '{}'", path.display()))
}

/// The time `touched`, unless it is ahead of `ours`: then a server gave it, and what has
/// just changed on a disk of this machine would look old beside it.
fn no_server_s(touched: (i64, u32), ours: (i64, u32)) -> (i64, u32) {
    match touched > ours {
        // Longer than any tick of a clock.
        true => (ours.0 - 1, ours.1),
        false => touched,
    }
}

fn since_epoch() -> (i64, u32) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or((0, 0), |now| {
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        (seconds, now.subsec_nanos())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_is_not_ours() {
        assert_eq!(no_server_s((5, 7), (5, 7)), (5, 7));
        assert_eq!(no_server_s((5, 7), (9, 0)), (5, 7));
        assert_eq!(no_server_s((9, 8), (9, 7)), (8, 7));
    }
}
