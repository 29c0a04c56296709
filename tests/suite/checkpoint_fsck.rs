//! `git checkpoint fsck`: every object there, the difference from the disk, and
//! remotes that would take the refs with them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::common::{Outcome, Repo};

fn three() -> Repo {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "1\n"), ("c", "1\n")]);
    repo.save("");
    repo.write("a", "2\n");
    repo.save("");
    repo.write("new", "new\n");
    repo.remove("c");
    repo.save("");
    repo
}

/// Removes the loose object `id`.
fn lose(repo: &Repo, id: &str) {
    let path = repo.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(path).unwrap();
}

fn fsck(repo: &Repo, arguments: &str) -> Outcome {
    repo.git(&format!("checkpoint fsck {arguments}"))
}

#[test]
fn what_is_complete_is_compared_with_the_disk() {
    let repo = three();
    fsck(&repo, "").ok().silent().prints(
        "main/001  complete; on disk since: 1 new, 1 modified, 1 deleted\n\
         main/002  complete; on disk since: 1 new, 0 modified, 1 deleted\n\
         main/003  complete; the disk is the same",
    );
    fsck(&repo, "@{0} main/001").ok().prints(
        "main/003  complete; the disk is the same\n\
         main/001  complete; on disk since: 1 new, 1 modified, 1 deleted",
    );
    let found = fsck(&repo, "2 --json").ok().json();
    let one = &found["checkpoints"][0];
    assert_eq!(one["complete"], true);
    assert_eq!(
        one["on_disk"],
        json!({"new": 1, "modified": 0, "deleted": 1})
    );
    fsck(&repo, "9")
        .fails(128)
        .says("there is no checkpoint '9'");
}

#[test]
fn nothing_is_written_by_it() {
    let repo = three();
    let before = repo.git("count-objects -v").ok().out();
    fsck(&repo, "").ok();
    repo.git("count-objects -v").ok().prints(&before);
}

#[test]
fn a_missing_blob_is_named_wherever_it_is_needed() {
    let repo = three();
    let blob = repo.oid("refs/harness/checkpoints/main/002:a");
    lose(&repo, &blob);
    let told = fsck(&repo, "").fails(1).lines();
    assert_eq!(
        told[1..],
        [
            format!("main/002  missing blob {blob} (a)"),
            format!("main/003  missing blob {blob} (a)"),
        ]
    );
    let found = fsck(&repo, "3 --json").fails(1).json();
    let problem = &found["checkpoints"][0]["problems"][0];
    assert_eq!(problem["object"], blob);
    assert_eq!(problem["path"], "a");
    assert_eq!(problem["damaged"], false);
    assert_eq!(found["checkpoints"][0]["on_disk"], json!(null));
}

#[test]
fn missing_trees_commits_and_index_states_are_named() {
    let repo = three();
    let tree = repo.oid("refs/harness/checkpoints/main/003^{tree}");
    let commit = repo.oid("refs/harness/checkpoints/main/002");
    let index = repo.oid("refs/harness/indexes/main/001");
    for id in [&tree, &commit, &index] {
        lose(&repo, id);
    }
    let told = fsck(&repo, "").fails(1).lines();
    assert_eq!(
        told,
        [
            format!("main/001  missing commit {index}"),
            format!("main/002  missing commit {commit}"),
            format!("main/003  missing tree {tree}"),
        ]
    );
    fsck(&repo, "2").fails(1).prints(&told[1]);
}

#[test]
fn a_damaged_object_is_found_by_its_hash() {
    let repo = three();
    let (id, other) = (
        repo.oid("refs/harness/checkpoints/main/002:a"),
        repo.oid("refs/harness/checkpoints/main/003:new"),
    );
    let objects = repo.common_dir().join("objects");
    let path = |id: &str| objects.join(&id[..2]).join(&id[2..]);
    fs::set_permissions(path(&id), fs::Permissions::from_mode(0o644)).unwrap();
    fs::copy(path(&other), path(&id)).unwrap();
    fsck(&repo, "2")
        .fails(1)
        .prints(&format!("main/002  damaged blob {id} (a)"));
}

#[test]
fn an_index_state_without_a_checkpoint_is_told() {
    let repo = three();
    repo.git("update-ref -d refs/harness/checkpoints/main/001")
        .ok();
    fsck(&repo, "")
        .ok()
        .says("refs/harness/indexes/main/001 belongs to no checkpoint");
}

/// The warnings, and that following the hints makes them go away, for git and for us.
#[track_caller]
fn exposed(configure: &[&str], warning: &str) {
    let repo = Repo::with(&[("a", "1\n")]);
    let there = repo.scene().join("there.git");
    repo.run(["init", "-q", "--bare", there.to_str().unwrap()])
        .ok();
    repo.run(["remote", "add", "there", there.to_str().unwrap()])
        .ok();
    for line in configure {
        repo.git(line).ok();
    }
    let first = repo.git("checkpoint save").ok().says(warning);
    let hints: Vec<String> = first
        .err()
        .lines()
        .filter_map(|line| line.strip_prefix("hint: "))
        .map(str::to_owned)
        .collect();
    assert!(!hints.is_empty());
    repo.git("checkpoint save").ok().silent();
    fsck(&repo, "").ok().says(warning);
    for hint in &hints {
        repo.sh(hint).ok();
    }
    fsck(&repo, "").ok().silent();
    repo.git("push -q there").ok();
    let pushed = repo
        .run([
            "-C",
            there.to_str().unwrap(),
            "for-each-ref",
            "--format=%(refname)",
        ])
        .ok()
        .lines();
    assert_eq!(pushed, ["refs/heads/main"]);
    repo.git("fetch -q --prune --update-head-ok there").ok();
    assert_eq!(repo.checkpoints().len(), 2);
}

#[test]
fn a_mirror_is_warned_of() {
    exposed(
        &["config remote.there.mirror true"],
        "warning: 'git push there' mirrors everything, checkpoints too",
    );
}

#[test]
fn a_refspec_that_pushes_everything_is_warned_of() {
    exposed(
        &["config remote.there.push '+refs/*:refs/*'"],
        "warning: 'git push there' pushes checkpoints",
    );
}

#[test]
fn a_fetch_that_would_delete_is_warned_of() {
    exposed(
        &[
            "config remote.there.push refs/heads/main",
            "config remote.there.fetch '+refs/*:refs/*'",
        ],
        "warning: 'git fetch --prune there' deletes checkpoints",
    );
}

#[test]
fn an_ordinary_remote_is_not_warned_of() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("remote add there ../there").ok();
    repo.git("config remote.there.push HEAD").ok();
    repo.git("checkpoint save").ok().silent();
}

#[test]
fn what_a_partial_clone_never_had_is_not_missing() {
    let origin = Repo::with(&[("a", "1\n"), ("big", "large\n")]);
    origin.git("config uploadpack.allowFilter true").ok();
    let here = origin.scene().join("partial");
    let url = format!("file://{}", origin.root().display());
    origin
        .run([
            "clone",
            "-q",
            "--no-checkout",
            "--filter=blob:none",
            &url,
            here.to_str().unwrap(),
        ])
        .ok();
    let partial = origin.in_dir(&here);
    partial.git("sparse-checkout set --no-cone a").ok();
    partial.git("checkout -q main").ok();
    partial.git("checkpoint save").ok();
    partial.git("config remote.origin.url /nonexistent").ok();
    fsck(&partial, "")
        .ok()
        .prints("main/001  complete, but for 1 objects that only the remote has");
    // What nobody promised is missing all the same.
    partial.write("a", "mine\n");
    partial.git("checkpoint save").ok();
    let blob = partial.oid("refs/harness/checkpoints/main/002:a");
    lose(&partial, &blob);
    let told = fsck(&partial, "2").fails(1).out();
    assert!(
        told.contains(&format!("main/002  missing blob {blob} (a)")),
        "{told}"
    );
}
