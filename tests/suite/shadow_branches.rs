//! No branch is moved or deleted under a worktree that has it, and what is merged or
//! committed is the shadow's own branch.

use crate::common::Repo;

/// A repository with one shadow, `t`, that has one commit.
fn worked(repo: &Repo) -> Repo {
    let shadow = repo.shadow("t");
    shadow.write("a", "1\n");
    shadow.commit_all("work");
    shadow
}

fn scene() -> (Repo, Repo) {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    let shadow = worked(&repo);
    (repo, shadow)
}

/// `None` where git is too old for it.
fn reftable() -> Option<Repo> {
    let repo = Repo::outside();
    if repo.git("init -q --ref-format=reftable .").code() != Some(0) {
        return None;
    }
    repo.write("a", "0\n");
    repo.commit_all("base");
    Some(repo)
}

fn beside(repo: &Repo, name: &str) -> Repo {
    repo.seen_at(repo.root().with_file_name(name))
}

#[test]
fn a_reftable_checkout_is_merged_into_by_git() {
    let Some(repo) = reftable() else { return };
    worked(&repo);
    repo.git("shadow merge t").ok();
    repo.git("status --porcelain").ok().prints("");
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_reftable_branch_in_another_worktree_is_not_deleted() {
    let Some(repo) = reftable() else { return };
    let shadow = repo.shadow("t");
    let other = beside(&repo, "x");
    shadow.git("checkout -q --detach").ok();
    repo.git("worktree add -q ../x agent/t").ok();
    shadow
        .git("checkout -q --ignore-other-worktrees agent/t")
        .ok();
    repo.git("shadow remove t").ok();
    other.git("status --porcelain").ok().prints("");
    assert_eq!(repo.branches(), ["agent/t", "main"]);
}

#[test]
fn a_target_on_an_absent_disk_is_refused() {
    let (repo, _) = scene();
    repo.git("worktree add -q -b rel ../disk").ok();
    let (here, away) = (
        repo.root().with_file_name("disk"),
        repo.root().with_file_name("away"),
    );
    std::fs::rename(&here, &away).unwrap();
    repo.git("shadow merge t --into rel")
        .fails(128)
        .says("which is not there");
    std::fs::rename(&away, &here).unwrap();
    let other = repo.seen_at(&here);
    other.git("status --porcelain").ok().prints("");
    repo.git("shadow merge t --into rel").ok();
    other.git("status --porcelain").ok().prints("");
    assert_eq!(other.read("a"), "1\n");
}

#[test]
fn a_main_worktree_whose_repository_lies_elsewhere() {
    let repo = Repo::outside();
    repo.git("init -q --separate-git-dir=../meta .").ok();
    repo.write("a", "0\n");
    repo.commit_all("base");
    let shadow = worked(&repo);
    shadow.git("shadow merge t").ok();
    repo.git("status --porcelain").ok().prints("");
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_symbolic_target_is_the_branch_it_names() {
    let (repo, _) = scene();
    repo.git("symbolic-ref refs/heads/alias refs/heads/main")
        .ok();
    repo.git("shadow merge t --into alias").ok();
    repo.git("status --porcelain").ok().prints("");
    assert_eq!(repo.read("a"), "1\n");
    repo.git("symbolic-ref refs/heads/alias")
        .ok()
        .prints("refs/heads/main");
}

#[test]
fn another_branch_or_none_is_not_merged() {
    let (repo, shadow) = scene();
    let before = repo.oid("main");
    shadow.git("checkout -q --detach").ok();
    shadow.write("b", "1\n");
    shadow.commit_all("beside");
    for options in ["", "--rebase", "--squash"] {
        repo.git(&format!("shadow merge t {options}"))
            .fails(128)
            .says("HEAD is detached");
    }
    shadow.git("checkout -q -b mine").ok();
    repo.git("shadow merge t").fails(128).says("'mine'");
    assert_eq!(repo.oid("main"), before);
}

#[test]
fn nothing_is_merged_in_the_middle_of_an_operation() {
    let (repo, shadow) = scene();
    let before = repo.oid("main");
    shadow.write("b", "1\n");
    shadow.commit_all("two");
    shadow
        .env("GIT_SEQUENCE_EDITOR", "sed -i 's/^pick/edit/'")
        .git("rebase -q -i HEAD~1")
        .ok();
    repo.git("shadow merge t")
        .fails(128)
        .says("a rebase is in progress");
    assert_eq!(repo.oid("main"), before);
}

#[test]
fn finish_commits_on_no_other_branch() {
    let (repo, shadow) = scene();
    shadow.git("checkout -q -b mine").ok();
    shadow.write("b", "mine\n");
    let before = repo.oid("mine");
    repo.git("shadow finish t -m x").fails(128).says("'mine'");
    assert_eq!(repo.oid("mine"), before);
    assert_eq!(shadow.read("b"), "mine\n");
}

#[test]
fn a_refused_rebase_rewrites_nothing() {
    let (repo, shadow) = scene();
    repo.write("b", "main\n");
    repo.commit_all("in main");
    let state = |repo: &Repo| (repo.oid("agent/t"), repo.oid("main"));
    let before = (state(&repo), shadow.disk());
    repo.write("a", "local\n");
    repo.git("shadow merge --rebase t").fails(1);
    assert_eq!((state(&repo), shadow.disk()), before);
    assert_eq!(repo.read("a"), "local\n");
    repo.git("checkout -q a").ok();
    // Found only when the target is moved.
    repo.write(".git/MERGE_HEAD", format!("{}\n", repo.oid("main")));
    repo.git("shadow merge --rebase t").fails(1);
    repo.remove(".git/MERGE_HEAD");
    assert_eq!((state(&repo), shadow.disk()), before);
    repo.write(".git/hooks/pre-rebase", "#!/bin/sh\nexit 1\n");
    repo.chmod(".git/hooks/pre-rebase", 0o755);
    repo.git("shadow merge --rebase t").fails(1);
    assert_eq!((state(&repo), shadow.disk()), before);
    shadow.git("status --porcelain").ok().prints("");
    repo.remove(".git/hooks/pre-rebase");
    repo.git("shadow merge --rebase t").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("1\n".into(), "main\n".into())
    );
}

#[test]
fn doctor_deletes_no_branch_in_a_rebase() {
    let (repo, shadow) = scene();
    repo.git("shadow remove t").ok();
    repo.git("checkout -q -b keep agent/t").ok();
    repo.git("checkout -q main").ok();
    repo.write("a", "main\n");
    repo.commit_all("in main");
    repo.git("worktree add -q ../x agent/t").ok();
    beside(&repo, "x").git("rebase -q main").fails(1);
    repo.git("shadow doctor --fix -y").ok();
    assert_eq!(repo.branches(), ["agent/t", "keep", "main"]);
    repo.git("worktree remove --force ../x").ok();
    repo.git("shadow doctor --fix -y").ok();
    assert_eq!(repo.branches(), ["keep", "main"]);
    drop(shadow);
}

#[test]
fn finish_keeps_what_the_branch_has_itself() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (".gitignore", "local.cfg\n"),
        (".worktreeinclude", "local.cfg\n"),
    ]);
    repo.write("local.cfg", "mine\n");
    let shadow = repo.shadow("t");
    repo.write(".gitignore", "");
    repo.commit_all("track local.cfg");
    shadow.git("merge -q main").ok();
    shadow.write("a", "1\n");
    repo.git("shadow finish t -m work -y").ok();
    repo.git("diff --name-only main agent/t").ok().prints("a");
}

#[test]
fn finish_takes_edits_behind_flags_and_leaves_the_flags() {
    for flag in ["skip-worktree", "assume-unchanged"] {
        let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
        let shadow = repo.shadow("t");
        shadow.git(&format!("update-index --{flag} a")).ok();
        shadow.write("a", "1\n");
        let flags = shadow.git("ls-files -v").ok().out();
        repo.git("shadow finish t -m work --keep").ok();
        repo.git("diff --name-only main agent/t").ok().prints("a");
        assert_eq!(shadow.git("ls-files -v").ok().out(), flags);
    }
}

#[test]
fn finish_waits_for_no_command_and_commits_nothing_under_one() {
    let (repo, shadow) = scene();
    shadow.write("a", "half\n");
    let before = repo.oid("agent/t");
    shadow.write("go", "git shadow finish t -m x; test $? = 1\n");
    repo.git("shadow run t -- sh ./go").ok();
    assert_eq!(repo.oid("agent/t"), before);
    repo.git("shadow finish t -m x").ok();
}

#[test]
fn finish_sees_an_edit_in_the_second_of_the_checkout() {
    let (repo, shadow) = scene();
    // git compares whole seconds: only the time of its index tells that it must look.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let backdate = |path: std::path::PathBuf| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    };
    repo.git("config core.trustctime false").ok();
    backdate(shadow.path("b"));
    shadow.git("update-index --refresh").ok();
    backdate(shadow.git_dir().join("index"));
    shadow.write("b", "1\n");
    backdate(shadow.path("b"));
    repo.git("shadow finish t -m x").ok();
    repo.git("show agent/t:b").ok().prints("1");
}
