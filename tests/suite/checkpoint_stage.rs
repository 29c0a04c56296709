//! A git folder on another file system than the worktree: new contents wait beside
//! their targets, as `.git-harness-…~`, and nobody ever sees them in a checkpoint.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::common::{Disk, Mount, Repo};

/// A repository whose git folder is on another file system, and what keeps that.
struct Apart {
    repo: Repo,
    _memory: Option<tempfile::TempDir>,
    _mount: Option<Mount>,
}

impl Apart {
    #[track_caller]
    fn new() -> Option<Self> {
        let outside = Repo::outside();
        let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
        let memory = Path::new("/dev/shm");
        let is_other = device(memory).is_some() && device(memory) != device(outside.scene());
        let folder = is_other
            .then(|| {
                tempfile::Builder::new()
                    .prefix("harness-")
                    .tempdir_in(memory)
            })
            .and_then(Result::ok);
        let (git_dir, mount): (PathBuf, _) = match &folder {
            Some(folder) => (folder.path().join("git"), None),
            None => {
                let mount = outside.mount("32m")?;
                (mount.path.join("git"), Some(mount))
            }
        };
        outside
            .git(&format!(
                "init -q --separate-git-dir {} .",
                git_dir.display()
            ))
            .ok();
        Some(Apart {
            repo: outside,
            _memory: folder,
            _mount: mount,
        })
    }
}

/// A checkpoint of some files, and then every kind of change.
fn changed(repo: &Repo) -> (Disk, Disk) {
    repo.write("a", "0\n");
    repo.write("dir/b", "0\n");
    repo.write("run", "0\n");
    repo.write("gone/c", "0\n");
    repo.link("a", "link");
    repo.commit_all("base");
    repo.save("");
    let start = repo.disk();
    change(repo);
    (start, repo.disk())
}

fn change(repo: &Repo) {
    repo.write("a", "1\n");
    repo.write("dir/b", "1\n");
    repo.chmod("run", 0o755);
    repo.remove("gone");
    repo.remove("link");
    repo.link("dir", "link");
    repo.write("new/d", "1\n");
}

/// The names in the worktree that are ours.
fn waiting(repo: &Repo) -> Vec<String> {
    repo.sh("find . -name '.git-harness-*'").ok().lines()
}

#[test]
fn undo_and_redo_work_and_leave_no_litter() {
    let Some(Apart { repo, .. }) = &Apart::new() else {
        return;
    };
    let (start, later) = changed(repo);
    let user = repo.fingerprint();
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.disk(), start);
    assert!(waiting(repo).is_empty());
    repo.git("checkpoint redo --others=revert").ok();
    assert_eq!(repo.disk(), later);
    assert!(waiting(repo).is_empty());
    assert_eq!(repo.fingerprint(), user);
    repo.fsck();
}

#[test]
fn killed_at_any_step_it_is_finished_and_nothing_of_it_is_ever_captured() {
    let Some(Apart { repo, .. }) = &Apart::new() else {
        return;
    };
    let (start, _) = changed(repo);
    let mut littered = 0;
    for step in 1.. {
        assert!(step < 100, "it never ends");
        let outcome = repo
            .env("HARNESS_TEST_CRASH", step.to_string())
            .git("checkpoint undo 1 --others=revert");
        if outcome.code() == Some(0) {
            break;
        }
        assert_eq!(outcome.code(), Some(128 + 9), "step {step}: {outcome:?}");
        littered += usize::from(!waiting(repo).is_empty());
        let saved = repo.save("");
        let tree = saved["tree"].as_str().unwrap();
        let names = repo.git(&format!("ls-tree -r --name-only {tree}")).ok();
        assert!(!names.out().contains(".git-harness-"), "{names:?}");
        assert_eq!(saved["skipped"], serde_json::json!([]), "step {step}");
        repo.git("checkpoint undo 1 --others=revert").ok();
        assert_eq!(repo.disk(), start, "step {step}");
        assert!(waiting(repo).is_empty(), "step {step}");
        change(repo);
    }
    assert!(
        littered > 2,
        "the stage was beside the files {littered} times"
    );
    assert!(waiting(repo).is_empty());
    repo.fsck();
}

#[test]
fn such_a_name_is_never_captured_and_a_like_one_is() {
    let Some(Apart { repo, .. }) = &Apart::new() else {
        return;
    };
    changed(repo);
    let ours = [".git-harness-123-n0~", ".git-harness-123-o17~"];
    for name in ours.into_iter().chain([".git-harness-notes"]) {
        repo.write(name, "x\n");
    }
    let tree = repo.save("")["tree"].as_str().unwrap().to_owned();
    let names = repo
        .git(&format!("ls-tree --name-only {tree}"))
        .ok()
        .lines();
    let found: Vec<_> = names.iter().filter(|n| n.starts_with(".git-h")).collect();
    assert_eq!(found, [".git-harness-notes"]);
    // What an earlier restore left there is cleared by the next one.
    repo.git("checkpoint undo 1 --others=revert").ok();
    assert!(waiting(repo).is_empty());
    repo.git("checkpoint redo").ok();
    assert_eq!(waiting(repo), ["./.git-harness-notes"]);
}
