//! `undo --index` and `--head`: the staged state, and the branch, go back too.

use crate::common::{Outcome, Repo};

/// Something staged, something not; a checkpoint; then all of it committed and more.
fn committed_since() -> (Repo, String) {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.write("a", "on disk\n");
    repo.write("new", "untracked\n");
    let head = repo.oid("HEAD");
    repo.agent_writes("b", "agent\n");
    repo.commit_all("the work of the agent");
    (repo, head)
}

fn staged(repo: &Repo) -> String {
    repo.git("diff --cached").ok().out()
}

#[test]
fn the_index_goes_back_with_it() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    let before = staged(&repo);
    repo.save("");
    repo.git("reset -q").ok();
    repo.write("b", "2\n");
    repo.git("add b").ok();
    repo.git("checkpoint undo 1 -y --index").ok();
    assert_eq!(staged(&repo), before);
    assert_eq!(repo.read("b"), "1\n");
    repo.fsck();
}

#[test]
fn a_locked_index_is_said_before_anything() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.agent_writes("a", "2\n");
    repo.write(".git/index.lock", "");
    repo.git("checkpoint undo 1 --index").fails(128);
    assert_eq!(repo.read("a"), "2\n");
}

#[test]
fn the_branch_goes_back_with_it() {
    let (repo, head) = committed_since();
    let moved = repo.oid("HEAD");
    repo.git("checkpoint undo 1 -y --head").ok();
    assert_eq!(repo.oid("HEAD"), head);
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/main");
    assert_eq!(repo.git("cat-file blob :a").ok().out(), "staged");
    assert_eq!(repo.read("a"), "on disk\n");
    assert_eq!(repo.read("b"), "1\n");
    assert_eq!(repo.git("status --porcelain").ok().out(), "MM a\n?? new");
    // The reflog leads back, and the safety checkpoint keeps the commit.
    assert_eq!(repo.oid("HEAD@{1}"), moved);
    repo.git("reflog expire --expire=all --all").ok();
    repo.git("prune --expire=now").ok();
    repo.run(["cat-file", "-e", &moved]).ok();
    repo.fsck();
}

#[test]
fn a_branch_checked_out_elsewhere_is_not_moved() {
    let (repo, _) = committed_since();
    let moved = repo.oid("HEAD");
    let root = repo.scene().join("twin");
    repo.git(&format!("worktree add -q --force {} main", root.display()))
        .ok();
    let disk = repo.disk();
    let refused = repo.git("checkpoint undo 1 -y --head");
    assert!(matches!(refused.code(), Some(1 | 128)), "{refused:?}");
    assert_eq!((repo.disk(), repo.oid("HEAD")), (disk, moved));
}

#[test]
fn only_one_sessions_work_goes_back() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    for (session, path) in [("one", "a"), ("two", "b")] {
        repo.git(&format!(
            "checkpoint save -q --tool t --path {path} --session {session}"
        ))
        .ok();
        repo.write(path, "agent\n");
    }
    repo.git("checkpoint undo 1 --session one").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("1\n".into(), "agent\n".into())
    );
}

#[test]
fn without_head_the_files_come_back_on_another_branch() {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    repo.agent_writes("a", "1\n");
    repo.agent_writes("new", "1\n");
    repo.git("checkout -q -b other").ok();
    repo.write("b", "of the branch\n");
    repo.git("commit -q -m other b").ok();
    repo.git("add a").ok();
    let user = repo.fingerprint();
    repo.git("checkpoint undo 1").fails(1).says("--no-head");
    let told = repo.undo("1 --no-head --others=revert").ok().json();
    assert_eq!(told["verified"], true);
    assert_eq!(
        (repo.read("a"), repo.read("b"), repo.exists("new")),
        ("0\n".into(), "0\n".into(), false)
    );
    // Branch, index and HEAD are where they were.
    assert_eq!(repo.fingerprint(), user);
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/other");
    // The way back begins where we are.
    repo.git("checkpoint redo").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b"), repo.exists("new")),
        ("1\n".into(), "of the branch\n".into(), true)
    );
    assert_eq!(repo.fingerprint(), user);
}

/// A checkpoint on `main`, between two branches that have other lines in `a`.
fn torn() -> Repo {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    repo.git("checkout -q -b other").ok();
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    repo.git("checkout -q main").ok();
    repo.write("a", "ours\n");
    repo.commit_all("ours");
    repo.write("a", "newer\n");
    repo.commit_all("newer");
    repo.save("");
    repo
}

/// Begins `operation` after the checkpoint: a plain undo is refused before anything;
/// back from there is as `forget` says.
#[track_caller]
fn begun_since(operation: &str, begin: &str, forget: fn(&Repo, Outcome)) {
    let repo = torn();
    let begun = repo.git(begin);
    assert!(matches!(begun.code(), Some(0 | 1)), "{begun:?}");
    let before = (repo.disk(), repo.fingerprint(), repo.checkpoints());
    for options in ["", "-y", "--others=revert", "--index -y"] {
        let refused = repo.git(&format!("checkpoint undo 1 {options}")).fails(1);
        refused
            .says("error: cannot restore 001: ")
            .says("--head")
            .says("--no-head");
        assert_eq!(
            (repo.disk(), repo.fingerprint(), repo.checkpoints()),
            before,
            "{operation} {options}"
        );
    }
    repo.git("checkpoint undo").fails(1);
    // The files alone may come back in the middle of it.
    let middle = repo.duplicate();
    middle.git("checkpoint undo 1 --no-head -y").ok();
    assert_eq!(middle.read("a"), "newer\n");
    let status = middle.git("status").ok().out();
    assert!(
        status.contains(operation) || operation == "merge",
        "{status}"
    );
    let outcome = repo.git("checkpoint undo 1 --head -y");
    forget(&repo, outcome);
}

/// `--head` ends the operation and is where the checkpoint was.
fn is_forgotten(repo: &Repo, outcome: Outcome) {
    outcome.ok();
    assert_eq!(repo.read("a"), "newer\n");
    repo.git("status --porcelain=v2 --branch").ok();
    repo.git("status --porcelain").ok().prints("");
    for sign in ["CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD"] {
        assert!(!repo.exists(format!(".git/{sign}")), "{sign}");
    }
    repo.fsck();
}

/// `--head` cannot end it, and says who can.
fn must_be_ended(_: &Repo, outcome: Outcome) {
    outcome.fails(128).says("is under way").says("hint: end it");
}

#[test]
fn a_cherry_pick_begun_since() {
    begun_since("cherry-pick", "cherry-pick other", is_forgotten);
}

#[test]
fn a_revert_begun_since() {
    begun_since("revert", "revert --no-edit HEAD~1", is_forgotten);
}

#[test]
fn a_merge_begun_since() {
    begun_since("merge", "merge other", is_forgotten);
}

#[test]
fn a_rebase_begun_since() {
    begun_since("rebase", "rebase other", must_be_ended);
}

#[test]
fn a_bisect_begun_since() {
    begun_since("bisect", "bisect start", must_be_ended);
}

#[test]
fn an_operation_that_has_ended_since_is_refused_too() {
    let repo = torn();
    repo.git("cherry-pick other").fails(1);
    repo.save("");
    repo.git("cherry-pick --abort").ok();
    let disk = repo.disk();
    repo.git("checkpoint undo 2")
        .fails(1)
        .says("the cherry-pick of then has ended");
    assert_eq!(repo.disk(), disk);
    repo.git("checkpoint undo 2 --no-head -y").ok();
    assert!(repo.read("a").contains("<<<<<<<"));
}

#[test]
fn back_to_where_there_was_no_commit_yet() {
    let repo = Repo::new();
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.write("b", "untracked\n");
    let status = repo.git("status --porcelain").ok().out();
    repo.save("");
    repo.write("a", "2\n");
    repo.commit_all("first");
    let first = repo.oid("HEAD");
    repo.git("checkpoint undo 1 --head -y").ok();
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/main");
    repo.git("rev-parse -q --verify HEAD").fails(1);
    assert_eq!(repo.git("status --porcelain").ok().out(), status);
    assert_eq!(repo.git("cat-file blob :a").ok().out(), "staged");
    // The one commit there was is kept, and comes back.
    repo.git("gc -q --prune=now").ok();
    repo.git("checkpoint redo -y").ok();
    assert_eq!(repo.oid("main"), first);
    repo.git("status --porcelain").ok().prints("");
    repo.fsck();
}

#[test]
fn back_to_a_detached_head() {
    let repo = Repo::with(&[("a", "0\n")]);
    let base = repo.oid("HEAD");
    repo.git("checkout -q --detach").ok();
    repo.write("a", "1\n");
    repo.save("");
    repo.git("checkout -q -b other").ok();
    repo.commit_all("on a branch");
    let branch = repo.oid("other");
    repo.git("checkpoint undo 1 --head -y").ok();
    repo.git("symbolic-ref -q HEAD").fails(1);
    assert_eq!(repo.oid("HEAD"), base);
    assert_eq!(repo.read("a"), "1\n");
    repo.git("status --porcelain").ok().prints(" M a");
    // The branch is no longer HEAD's, so it is not moved.
    assert_eq!(repo.oid("other"), branch);
    repo.git("checkpoint redo -y").ok();
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/other");
    assert_eq!(repo.oid("HEAD"), branch);
    repo.git("status --porcelain").ok().prints("");
    repo.fsck();
}
