//! Disks that take `Readme` and `README` for one file, as macOS's do. The tests
//! make one (exFAT through FUSE), where they may mount.

use std::path::{Path, PathBuf};

use crate::common::{Repo, missing, texts};

/// A mounted disk that is blind to case, with a repository on it.
pub(crate) struct Blind {
    pub(crate) repo: Repo,
    mount: PathBuf,
    device: String,
}

impl Blind {
    #[track_caller]
    pub(crate) fn new() -> Option<Self> {
        let blind = Self::mounted();
        if blind.is_none() {
            missing("exFAT through FUSE, and the right to mount it");
        }
        blind
    }

    fn mounted() -> Option<Self> {
        let repo = Repo::outside();
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let image = repo.scene().join("disk");
        let mount = repo.scene().join("blind");
        std::fs::create_dir(&mount).unwrap();
        let made = repo.sh(&format!(
            "command -v mount.exfat-fuse >/dev/null || exit 1
             truncate -s 16M '{0}' && mkfs.exfat '{0}' >/dev/null && losetup -f --show '{0}'",
            image.display()
        ));
        if made.code() != Some(0) {
            return None;
        }
        let device = made.out();
        let mounted = repo.sh(&format!(
            "mount.exfat-fuse {device} '{}' >/dev/null",
            mount.display()
        ));
        if mounted.code() != Some(0) {
            repo.sh(&format!("losetup -d {device}")).ok();
            return None;
        }
        let repo = repo.seen_at(&mount);
        repo.git("init -q .").ok();
        Some(Blind {
            repo,
            mount,
            device,
        })
    }

    /// Where it is mounted.
    pub(crate) fn mount(&self) -> &Path {
        &self.mount
    }

    /// The names in `folder`, sorted.
    pub(crate) fn listed(&self, folder: &str) -> Vec<String> {
        let listed = self.repo.sh(&format!("cd '{folder}' && ls")).ok();
        listed.lines()
    }

    pub(crate) fn respell(&self, from: &str, to: &str) {
        self.repo.sh(&format!("mv {from} x && mv x {to}")).ok();
    }
}

impl Drop for Blind {
    fn drop(&mut self) {
        self.repo.sh(&format!(
            "cd / && umount '{}'; losetup -d {}",
            self.mount.display(),
            self.device
        ));
    }
}

#[test]
fn another_spelling_of_a_new_file_is_no_second_file() {
    let Some(disk) = Blind::new() else { return };
    let repo = &disk.repo;
    repo.write("notes", "1\n");
    repo.write("sub/s", "s\n");
    repo.write("kept", "k\n");
    repo.save("");
    disk.respell("notes", "Notes");
    repo.append("Notes", "more\n");
    disk.respell("sub", "Sub");
    repo.save("");
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(told["deleted"], serde_json::json!([]));
    assert_eq!(texts(&told["written"]), ["Notes", "Sub/s"]);
    assert_eq!(disk.listed("."), ["kept", "notes", "sub"]);
    assert_eq!(
        (repo.read("notes"), repo.read("sub/s")),
        ("1\n".into(), "s\n".into())
    );
    repo.git("checkpoint redo --others=revert").ok();
    assert_eq!(disk.listed("."), ["Notes", "Sub", "kept"]);
    assert_eq!(repo.read("Notes"), "1\nmore\n");
    repo.git("fsck --strict").ok();
}

#[test]
fn a_tracked_file_is_captured_as_it_is_spelled_and_comes_back() {
    for ignore_case in ["true", "false"] {
        let Some(disk) = Blind::new() else { return };
        let repo = &disk.repo;
        repo.write("Readme", "one\n");
        repo.write("Dir/Inner/File", "x\n");
        repo.git("add -A").ok();
        repo.git("commit -q -m base").ok();
        repo.git(&format!("config core.ignoreCase {ignore_case}"))
            .ok();
        repo.save("");
        disk.respell("Readme", "README");
        disk.respell("Dir/Inner", "Dir/inner");
        disk.respell("Dir", "dir");
        repo.write("dir/inner/new", "n\n");
        repo.save("");
        let held = repo.git("ls-tree -r --name-only refs/harness/checkpoints/main/002");
        assert_eq!(
            held.ok().lines(),
            ["README", "dir/inner/File", "dir/inner/new"]
        );
        repo.git("checkpoint undo --to 1 --others=revert").ok();
        assert_eq!(disk.listed("."), ["Dir", "Readme"], "{ignore_case}");
        assert_eq!(disk.listed("Dir"), ["Inner"]);
        assert_eq!(disk.listed("Dir/Inner"), ["File"]);
        assert_eq!(
            (repo.read("Readme"), repo.read("Dir/Inner/File")),
            ("one\n".into(), "x\n".into())
        );
        repo.git("checkpoint redo --others=revert").ok();
        assert_eq!(disk.listed("."), ["README", "dir"]);
        assert_eq!(disk.listed("dir/inner"), ["File", "new"]);
    }
}

#[test]
fn an_ignored_file_in_another_spelling_is_kept_before_it_is_overwritten() {
    let Some(disk) = Blind::new() else { return };
    let repo = &disk.repo;
    repo.write("a", "1\n");
    repo.write("notes", "then\n");
    repo.save("");
    repo.write(".gitignore", "Notes\n");
    disk.respell("notes", "Notes");
    repo.write("Notes", "now\n");
    repo.git("checkpoint undo --to 1 --others=revert").ok();
    assert_eq!(repo.read("notes"), "then\n");
    assert_eq!(disk.listed("."), ["a", "notes"]);
    repo.git("checkpoint redo --others=revert").ok();
    assert_eq!(repo.read("Notes"), "now\n");
    assert_eq!(disk.listed("."), ["Notes", "a"]);
}

#[test]
fn a_disk_that_tells_them_apart_keeps_both_whatever_is_configured() {
    let repo = Repo::with(&[("Readme", "tracked\n"), ("Dir/a", "1\n")]);
    repo.git("config core.ignoreCase true").ok();
    repo.write("README", "new\n");
    repo.write("dir/b", "2\n");
    repo.remove("Dir");
    let saved = repo.save("");
    let held = repo.run([
        "ls-tree",
        "-r",
        "--name-only",
        saved["tree"].as_str().unwrap(),
    ]);
    assert_eq!(held.ok().lines(), ["README", "Readme", "dir/b"]);
    repo.remove("README");
    repo.write("Readme", "spoilt\n");
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(
        (repo.read("README"), repo.read("Readme")),
        ("new\n".into(), "tracked\n".into())
    );
}
