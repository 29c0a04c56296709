//! A file system that clones, where this machine lets us make one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A btrfs of 4 GiB in a file, mounted until it is dropped.
pub(crate) struct Disk {
    folder: TempDir,
}

impl Disk {
    /// `None` without `mkfs.btrfs`, the right to mount, or a kernel that knows it.
    pub(crate) fn btrfs() -> Option<Self> {
        let folder = TempDir::new().ok()?;
        let image = folder.path().join("image");
        File::create(&image).ok()?.set_len(4 << 30).ok()?;
        let disk = Disk { folder };
        std::fs::create_dir(disk.path()).ok()?;
        let is_made = is_done(Command::new("mkfs.btrfs").arg("-q").arg(&image));
        let is_mounted = is_made
            && is_done(
                Command::new("mount")
                    .args(["-o", "loop"])
                    .arg(&image)
                    .arg(disk.path()),
            );
        is_mounted.then_some(disk)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        is_done(Command::new("umount").arg(Path::new(&self.path())));
    }
}

fn is_done(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
