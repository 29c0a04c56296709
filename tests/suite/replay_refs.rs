//! The branch that a replay makes: what is in its way leaves the repository as
//! it was, byte for byte.

use crate::common::Repo;
use crate::replay::Replay;
use crate::replay_journal::bytes_below;

/// A repository without the run, its tip, and the journal `../j.json` of it.
fn scene(commits: usize) -> (Repo, String) {
    let repo = Repo::with(&[("a", "a\n"), ("b", "b\n")]);
    repo.git("checkout -q -b run").ok();
    for number in 0..commits {
        repo.write("a", format!("{number}\n"));
        repo.write(format!("new{number}"), format!("new {number}\n"));
        repo.commit_all("change");
    }
    let fresh = repo.fresh("main");
    let journal = fresh.scene().join("j.json");
    repo.replay(&format!(
        "record main..run --no-prompt -o {}",
        journal.display()
    ))
    .ok();
    (fresh, repo.oid("run"))
}

#[track_caller]
fn refused(repo: &Repo, arguments: &str, said: &[&str]) {
    let before = bytes_below(&repo.git_dir());
    let outcome = repo.replay(&format!("../j.json {arguments}")).fails(128);
    for said in said {
        assert!(outcome.err().contains(said), "'{said}' in {outcome:?}");
    }
    assert_eq!(bytes_below(&repo.git_dir()), before, "{arguments}");
}

#[test]
fn a_branch_that_cannot_be_made_leaves_no_object_behind() {
    // Few objects are stored loose, many as a pack.
    for commits in [2, 40] {
        let (repo, tip) = scene(commits);
        repo.git("branch replay").ok();
        repo.git("branch there/below").ok();
        let hint = "hint: name another one by --branch";
        refused(
            &repo,
            "",
            &["cannot make the branch 'replay/j-", "'refs/heads/replay' exists", hint],
        );
        refused(&repo, "--branch replay/x", &["'refs/heads/replay' exists", hint]);
        refused(&repo, "--branch there", &["'refs/heads/there/below' exists", hint]);
        repo.write(repo.git_dir().join("refs/heads/held.lock"), "");
        refused(&repo, "--branch held", &["refs/heads/held.lock", hint]);
        repo.git("pack-refs --all").ok();
        refused(&repo, "--branch there", &["'refs/heads/there/below' exists", hint]);
        repo.replay("../j.json --branch free").ok();
        assert_eq!(repo.oid("free"), tip);
        repo.git("fsck --strict").ok();
    }
}
