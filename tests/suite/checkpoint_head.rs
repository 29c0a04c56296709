//! `undo --index` and `--head`: the staged state, and the branch, go back too.

use crate::common::Repo;

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
