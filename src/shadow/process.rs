//! Processes: who is at work, who has its working directory where.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A process that does not mix with a later one of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// When it was started, in the kernel's own count; 0 where that is not known.
    pub(super) start: u64,
    pub(super) host: String,
    /// Seconds since the epoch.
    pub(super) since: i64,
}

impl Process {
    /// This one.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Process {
            pid,
            start: start_of(pid),
            host: host(),
            since: now(),
        }
    }

    /// Whether it still lives. On another host that cannot be known: it counts as living.
    pub(super) fn lives(&self) -> bool {
        if self.host != host() {
            return true;
        }
        let exists = i32::try_from(self.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
            .is_some_and(|pid| {
                !matches!(
                    rustix::process::test_kill_process(pid),
                    Err(rustix::io::Errno::SRCH)
                )
            });
        exists && (self.start == 0 || self.start == start_of(self.pid))
    }
}

/// Seconds since the epoch.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// The 22nd field of `/proc/<pid>/stat` (proc(5)); 0 where there is none.
fn start_of(pid: u32) -> u64 {
    fields(pid)
        .and_then(|fields| fields.get(19)?.parse().ok())
        .unwrap_or(0)
}

fn parent_of(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// What follows the name, which may hold blanks and brackets itself.
fn fields(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = text.rsplit_once(')')?.1;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// A process whose working directory is inside a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) pid: u32,
    pub(super) name: String,
}

/// Those whose working directory is in `folder`, but for this process and those
/// that started it; and how many could not be looked at.
pub(super) fn inside(folder: &Path) -> (Vec<Inside>, usize) {
    let mut own = vec![std::process::id()];
    while let Some(parent) = own.last().copied().and_then(parent_of)
        && parent > 1
    {
        own.push(parent);
    }
    let Ok(entries) = fs::read_dir("/proc") else {
        return inside_by_lsof(folder, &own);
    };
    let (mut found, mut unknown) = (Vec::new(), 0);
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        match fs::read_link(entry.path().join("cwd")) {
            Ok(cwd) if is_within(&cwd, folder) && !own.contains(&pid) => {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                found.push(Inside {
                    pid,
                    name: name.trim().to_owned(),
                });
            }
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => unknown += 1,
            _ => {}
        }
    }
    found.sort_by_key(|p| p.pid);
    (found, unknown)
}

/// Without `/proc` (macOS): one line `p<pid>`, `c<name>`, `n<folder>` each.
fn inside_by_lsof(folder: &Path, own: &[u32]) -> (Vec<Inside>, usize) {
    let child =
        crate::git::command::Child::new("lsof").args(["-w", "-a", "-d", "cwd", "-F", "pcn"]);
    let Ok(output) = child.output() else {
        return (Vec::new(), 1);
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut found, mut pid, mut name) = (Vec::new(), 0, String::new());
    for line in text.lines() {
        let Some((kind, value)) = line.split_at_checked(1) else {
            continue;
        };
        match kind {
            "p" => pid = value.parse().unwrap_or(0),
            "c" => name = value.to_owned(),
            "n" if is_within(&PathBuf::from(value), folder) && !own.contains(&pid) => {
                found.push(Inside {
                    pid,
                    name: name.clone(),
                });
            }
            _ => {}
        }
    }
    (found, 0)
}

fn is_within(cwd: &Path, folder: &Path) -> bool {
    cwd.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let this = Process::this();
        assert!(this.lives());
        let earlier = Process {
            start: this.start + 1,
            ..this.clone()
        };
        assert!(this.start == 0 || !earlier.lives());
        let other_host = Process {
            host: "elsewhere".to_owned(),
            pid: 1 << 30,
            ..this
        };
        assert!(other_host.lives());
    }
}
