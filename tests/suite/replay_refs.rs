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
            &[
                "cannot make the branch 'replay/j-",
                "'refs/heads/replay' exists",
                hint,
            ],
        );
        refused(
            &repo,
            "--branch replay/x",
            &["'refs/heads/replay' exists", hint],
        );
        refused(
            &repo,
            "--branch there",
            &["'refs/heads/there/below' exists", hint],
        );
        repo.write(repo.git_dir().join("refs/heads/held.lock"), "");
        refused(&repo, "--branch held", &["refs/heads/held.lock", hint]);
        repo.git("pack-refs --all").ok();
        refused(
            &repo,
            "--branch there",
            &["'refs/heads/there/below' exists", hint],
        );
        repo.replay("../j.json --branch free").ok();
        assert_eq!(repo.oid("free"), tip);
        repo.git("fsck --strict").ok();
    }
}

#[test]
fn a_store_that_takes_only_a_part_gets_nothing() {
    let (repo, tip) = scene(2);
    let Some(user) = repo.for_whom_modes_count() else {
        return;
    };
    let folder = repo.git_dir().join("objects").join(&tip[..2]);
    repo.mkdir(&folder);
    repo.chmod(&folder, 0o555);
    refused(
        &user,
        "--branch new",
        &["cannot store the rebuilt objects", "Permission denied"],
    );
    repo.chmod(&folder, 0o755);
    user.replay("../j.json --branch new").ok();
    assert_eq!(repo.oid("new"), tip);
}

#[test]
fn a_symbolic_ref_is_not_written_through() {
    let (repo, tip) = scene(2);
    repo.git("symbolic-ref refs/heads/alias refs/heads/main")
        .ok();
    repo.git("symbolic-ref refs/heads/loose refs/heads/nowhere")
        .ok();
    refused(
        &repo,
        "--branch alias",
        &["'alias' is a symbolic ref", "--branch"],
    );
    refused(&repo, "--branch loose", &["'loose' is a symbolic ref"]);
    // Nor where it leads to the result already.
    repo.replay("../j.json --branch done").ok();
    repo.git("symbolic-ref refs/heads/alias refs/heads/done")
        .ok();
    refused(&repo, "--branch alias", &["'alias' is a symbolic ref"]);
    assert_eq!(repo.oid("done"), tip);
}

#[test]
fn a_branch_that_a_rebase_or_a_bisect_comes_back_to_is_refused() {
    let (repo, tip) = scene(2);
    let base = repo.oid("main");
    let said = &["is in the middle of a rebase or bisect"];
    for name in ["rebased", "applied", "bisected", "stacked", "elsewhere"] {
        repo.git(&format!("branch {name} {base}")).ok();
    }
    let rebase = |at: &Repo, how: &str, branch: &str| {
        at.git(&format!("checkout -q {branch}")).ok();
        at.env("GIT_SEQUENCE_EDITOR", "echo break >")
            .git(&format!("rebase -q {how} --force-rebase {base}"));
    };
    rebase(&repo, "-i", "rebased");
    refused(&repo, "--branch rebased", said);
    // The oracle: git itself does not move it.
    repo.git(&format!("branch -f rebased {tip}")).fails(128);
    repo.git("rebase --abort").ok();
    repo.git("checkout -q main").ok();
    // In another worktree.
    let other = repo.worktree("other");
    rebase(&other, "-i", "elsewhere");
    refused(&repo, "--branch elsewhere", said);
    repo.git("checkout -q bisected").ok();
    repo.git("bisect start").ok();
    repo.git("checkout -q --detach main").ok();
    refused(&repo, "--branch bisected", said);
    repo.git("branch -f bisected main").fails(128);
    repo.git("bisect reset").ok();
    repo.git("checkout -q main").ok();
    for name in ["rebased", "bisected"] {
        repo.replay(&format!("../j.json --branch {name}")).ok();
        assert_eq!(repo.oid(name), tip);
    }
    repo.write(
        repo.git_dir().join("rebase-merge/update-refs"),
        format!("refs/heads/stacked\n{base}\n{base}\n"),
    );
    refused(&repo, "--branch stacked", said);
    repo.remove(repo.git_dir().join("rebase-merge"));
    repo.write(
        repo.git_dir().join("rebase-apply/head-name"),
        "refs/heads/applied\n",
    );
    refused(&repo, "--branch applied", said);
}

#[test]
fn a_branch_is_called_what_git_calls_it() {
    let (repo, tip) = scene(1);
    for name in ["HEAD", "@", "a..b", "a b", "x.lock", "", "@{-9}", "a@{b"] {
        // The oracle: what git makes of it.
        let made = repo.git(&format!("branch '{name}'"));
        if made.code() == Some(0) {
            let refs = repo.refs();
            repo.git(&format!("branch -D '{name}'")).ok();
            repo.replay(&format!("../j.json --branch '{name}'")).ok();
            let tip_for_base = |refs: String| refs.replace(&tip, &repo.oid("main"));
            assert_eq!(tip_for_base(repo.refs()), refs, "{name}");
        } else {
            refused(
                &repo,
                &format!("--branch '{name}'"),
                &["is no name for a branch"],
            );
        }
    }
    repo.replay("../j.json --branch=-x").fails(128);
    repo.git("checkout -q -b before").ok();
    repo.git("checkout -q main").ok();
    // `git branch -f @{-1}` means that one, too.
    repo.replay("../j.json --branch @{-1}")
        .ok()
        .prints("before");
    assert_eq!(repo.oid("before"), tip);
    repo.replay("../j.json --branch refs/heads/x")
        .ok()
        .prints("refs/heads/x");
    repo.git("branch -f refs/heads/y").ok();
    let names = repo
        .git("for-each-ref --format=%(refname) refs/heads/refs")
        .ok()
        .out();
    assert_eq!(names, "refs/heads/refs/heads/x\nrefs/heads/refs/heads/y");
}
