//! What a test needs and a machine may lack: programs, the right to mount, another
//! kind of user, a newer git. A test that says nothing for want of them says so.

use std::env;
use std::io::Write;
use std::path::PathBuf;

use super::Repo;

/// Says that the calling test proves nothing here, since `what` is missing. Where
/// everything is meant to be there (`HARNESS_TEST_TOOLS=all`), that is a failure.
#[track_caller]
pub(crate) fn missing(what: &str) {
    missing_but_for(what, &["all"]);
}

/// The same; a failure where `HARNESS_TEST_TOOLS` is one of `promises`.
#[track_caller]
fn missing_but_for(what: &str, promises: &[&str]) {
    let promised = env::var("HARNESS_TEST_TOOLS").unwrap_or_default();
    assert!(
        !promises.contains(&promised.as_str()),
        "{what} is missing, and HARNESS_TEST_TOOLS={promised} says that it is not"
    );
    not_here(what);
}

/// The same for what cannot be installed: a line, and no failure.
pub(crate) fn not_here(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Past the test runner, which keeps to itself what a passing test prints.
    let _ = writeln!(
        std::io::stderr(),
        "{test}: not tested here, {what} is missing"
    );
}

/// A small file system of its own, in memory; gone with this.
pub(crate) struct Mount {
    repo: Repo,
    /// Its root.
    pub(crate) path: PathBuf,
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.repo.sh(&format!("umount '{}'", self.path.display()));
    }
}

impl Repo {
    /// Whether all these programs are installed; if not, [`missing`], also where only
    /// programs are promised (`HARNESS_TEST_TOOLS=programs`).
    #[track_caller]
    pub(crate) fn has_programs(&self, names: &[&str]) -> bool {
        for name in names {
            if self.sh(&format!("command -v {name}")).code() != Some(0) {
                missing_but_for(name, &["all", "programs"]);
                return false;
            }
        }
        true
    }

    /// A file system of `size` (as `mount` reads it) beside the repository.
    #[track_caller]
    pub(crate) fn mount(&self, size: &str) -> Option<Mount> {
        let path = self.scene().join("mount");
        std::fs::create_dir(&path).unwrap();
        let mounted = self.sh(&format!(
            "mount -t tmpfs -o size={size} none '{}'",
            path.display()
        ));
        if mounted.code() != Some(0) {
            missing("the right to mount");
            return None;
        }
        let repo = self.clone();
        Some(Mount { repo, path })
    }

    /// An empty repository whose refs are in tables.
    #[track_caller]
    pub(crate) fn reftable() -> Option<Self> {
        let repo = Self::outside();
        if repo.git("init -q --ref-format=reftable .").code() == Some(0) {
            return Some(repo);
        }
        // Git has them since 2.45.
        let version = repo.git("version").ok().out();
        let mut numbers = version
            .trim_start_matches("git version ")
            .split('.')
            .map(|n| n.parse::<u32>().unwrap_or(0));
        match (numbers.next(), numbers.next()) {
            (Some(2), Some(minor)) if minor < 45 => not_here("a git with reftables"),
            _ => missing("reftable"),
        }
        None
    }
}
