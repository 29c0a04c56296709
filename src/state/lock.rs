//! Kernel file locks on a file that stays. The kernel frees them when the
//! holder dies, so no lock is ever stale; what the file says about its holder
//! is for the message only.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Context, Result, hinted};
use crate::state::file::{Sharing, explain, make_folder};

/// How long a person's command waits for a lock.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The length of the note in a lock file, in characters.
const NOTE: usize = 120;

/// How often a busy lock is tried again; the kernel has no wait with a limit.
const INTERVAL: Duration = Duration::from_millis(4);

/// A held lock; dropped, it is free.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Alone,
    Together,
}

/// Takes the lock at `path` for this process alone, waiting at most `patience`.
///
/// # Errors
/// When the file cannot be opened, or the time is over: the message names the holder.
pub fn alone(path: &Path, sharing: Sharing, patience: Duration) -> Result<Lock> {
    take(path, sharing, patience, Mode::Alone)
}

/// Takes the lock at `path` together with others that do the same; it keeps
/// [`alone`] out.
///
/// # Errors
/// As [`alone`].
pub fn together(path: &Path, sharing: Sharing, patience: Duration) -> Result<Lock> {
    take(path, sharing, patience, Mode::Together)
}

fn take(path: &Path, sharing: Sharing, patience: Duration, mode: Mode) -> Result<Lock> {
    if let Some(folder) = path.parent() {
        make_folder(folder, sharing)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(sharing.file_mode())
        .open(path)
        .map_err(|e| explain(e, path))
        .with_context(|| format!("cannot open the lock '{}'", path.display()))?;
    let deadline = Instant::now() + patience;
    loop {
        let tried = match mode {
            Mode::Alone => file.try_lock(),
            Mode::Together => file.try_lock_shared(),
        };
        match tried {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(INTERVAL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(hinted(
                    format!("'{}' is held{}", path.display(), holder(&mut file)),
                    "wait until it ends, then run this again",
                ));
            }
            Err(TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("cannot lock '{}'", path.display()));
            }
        }
    }
    if mode == Mode::Alone {
        sign(&mut file);
    }
    Ok(Lock { _file: file })
}

/// Takes the lock on an open file that holds something else than the holder's
/// name, for this process alone; it is free when the file is closed.
///
/// # Errors
/// When the time is over.
pub fn hold(file: &File, path: &Path, patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(INTERVAL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(hinted(
                    format!("'{}' is held by another process", path.display()),
                    "wait until it ends, then run this again",
                ));
            }
            Err(TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("cannot lock '{}'", path.display()));
            }
        }
    }
}

/// Writes who holds the lock; losing this costs only a name in a message.
fn sign(file: &mut File) {
    let host = rustix::system::uname();
    let command: Vec<String> = std::env::args().take(2).collect();
    let mut text = format!(
        "{} {} {}",
        std::process::id(),
        host.nodename().to_string_lossy(),
        command.join(" ")
    );
    // Always the same length, written over what was there: no block is given back
    // and taken anew at each save.
    let end = (0..=NOTE.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.write_all(format!("{text:<NOTE$}\n").as_bytes());
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.take(300).read_to_string(&mut text);
    let mut words = text.trim().splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some(pid), Some(host), Some(command)) if !pid.is_empty() => {
            format!(" by process {pid} on {host} ({command})")
        }
        _ => " by another process".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let held = alone(&path, Sharing::default(), Duration::ZERO).expect("free");
        let refused = together(&path, Sharing::default(), Duration::ZERO).expect_err("held");
        assert!(
            refused
                .to_string()
                .contains(&std::process::id().to_string())
        );
        drop(held);
        let first = together(&path, Sharing::default(), Duration::ZERO).expect("free");
        together(&path, Sharing::default(), Duration::ZERO).expect("shared");
        alone(&path, Sharing::default(), Duration::ZERO).expect_err("shared by the first");
        drop(first);
    }
}
