//! `git shadow finish` and `merge`.

use crate::common::Repo;

fn scene() -> (Repo, Repo) {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    let shadow = repo.shadow("t");
    (repo, shadow)
}

fn log(repo: &Repo, branch: &str) -> Vec<String> {
    repo.git(&format!("log --format=%s {branch}")).ok().lines()
}

#[test]
fn finish_is_one_commit_by_the_user_and_the_folder_goes() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.write("new", "n\n");
    shadow.remove("b");
    let commit = repo.git("shadow finish t -m 'the work'").ok().out();
    assert_eq!(repo.oid("agent/t"), commit);
    assert_eq!(log(&repo, "agent/t"), ["the work", "base"]);
    let format = "--format='%an %ae'";
    repo.git(&format!("log -1 {format} agent/t"))
        .ok()
        .prints("A U Thor author@example.com");
    assert_eq!(
        repo.git("ls-tree --name-only agent/t").ok().lines(),
        ["a", "new"]
    );
    assert!(!shadow.root().exists());
    assert_eq!(repo.shown("t")["state"], "finished");
    repo.git("shadow merge t --remove").ok();
    assert_eq!(log(&repo, "main"), ["the work", "base"]);
    assert_eq!(repo.read("a"), "1\n");
    repo.git("status --porcelain").ok().prints("");
    repo.has_no_trace_of_shadows();
}

#[test]
fn a_failing_test_or_hook_commits_nothing() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.git("add a").ok();
    shadow.write("b", "1\n");
    let before = (shadow.disk(), shadow.git("status --porcelain").ok().out());
    repo.git("shadow finish t -m x --test 'grep -q 2 a'")
        .fails(1);
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    repo.chmod(".git/hooks/pre-commit", 0o755);
    repo.git("shadow finish t -m x").fails(1);
    assert_eq!(
        (shadow.disk(), shadow.git("status --porcelain").ok().out()),
        before
    );
    assert_eq!(log(&repo, "agent/t"), ["base"]);
    repo.git("shadow finish t -m x --no-verify --keep --test 'grep -q 1 a'")
        .ok();
    assert_eq!(log(&repo, "agent/t"), ["x", "base"]);
    shadow.git("status --porcelain").ok().prints("");
}

#[test]
fn nothing_done_is_no() {
    let (repo, _) = scene();
    repo.git("shadow finish t -m x")
        .fails(1)
        .says("changed nothing");
    assert_eq!(repo.shadows(), ["t"]);
}

#[test]
fn secrets_and_dependencies_are_never_committed() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (".gitignore", ".env\nnode_modules/\n"),
        (".worktreeinclude", ".env\n"),
    ]);
    repo.write(".env", "S=1\n");
    repo.write("node_modules/x/index.js", "x\n");
    let shadow = repo.shadow("t");
    // The agent drops the rule that ignored them.
    shadow.write(".gitignore", "");
    repo.git("shadow finish t -m x -y").ok();
    assert_eq!(
        repo.git("ls-tree -r --name-only agent/t").ok().lines(),
        [".gitignore", ".worktreeinclude", "a"]
    );
}

#[test]
fn fast_forward_merge_commit_squash_rebase() {
    for (options, subjects, parents) in [
        ("", vec!["two", "one", "base"], 1),
        ("--ff-only", vec!["two", "one", "base"], 1),
        ("--rebase", vec!["two", "one", "base"], 1),
        ("--squash", vec!["t: all changes of the shadow", "base"], 1),
        ("--no-ff", vec!["Merge shadow 't'", "two", "one", "base"], 2),
    ] {
        let (repo, shadow) = scene();
        shadow.write("a", "1\n");
        shadow.commit_all("one");
        shadow.write("new", "2\n");
        shadow.commit_all("two");
        repo.git(&format!("shadow merge t {options} --remove")).ok();
        assert_eq!(log(&repo, "--topo-order main"), subjects, "{options}");
        let line = repo.git("rev-list --parents -n 1 main").ok().out();
        assert_eq!(line.split(' ').count(), parents + 1, "{options}");
        assert_eq!(
            (repo.read("a"), repo.read("new")),
            ("1\n".into(), "2\n".into())
        );
        repo.git("status --porcelain").ok().prints("");
        repo.has_no_trace_of_shadows();
    }
}

#[test]
fn a_target_that_has_moved_on() {
    for (options, parents) in [("", 2), ("--squash", 1), ("--rebase", 1)] {
        let (repo, shadow) = scene();
        shadow.write("a", "1\n");
        shadow.commit_all("one");
        repo.write("b", "main\n");
        repo.commit_all("in main");
        repo.git("shadow merge t --ff-only").fails(1);
        repo.git(&format!("shadow merge t {options}")).ok();
        let line = repo.git("rev-list --parents -n 1 main").ok().out();
        assert_eq!(line.split(' ').count(), parents + 1, "{options}");
        assert_eq!(
            (repo.read("a"), repo.read("b")),
            ("1\n".into(), "main\n".into())
        );
        repo.git("status --porcelain").ok().prints("");
    }
}

#[test]
fn a_conflict_changes_nothing_and_lists_the_files() {
    for options in ["", "--squash", "--rebase", "--no-ff", "--remove -y"] {
        let (repo, shadow) = scene();
        shadow.write("a", "shadow\n");
        shadow.commit_all("one");
        repo.write("a", "main\n");
        repo.commit_all("in main");
        let before = (repo.fingerprint(), repo.disk(), shadow.disk());
        let told = repo
            .git(&format!("shadow merge t {options} --json"))
            .fails(1)
            .json();
        assert_eq!(told["conflicts"], serde_json::json!(["a"]), "{options}");
        assert_eq!(
            (repo.fingerprint(), repo.disk(), shadow.disk()),
            before,
            "{options}"
        );
        assert!(repo.shadows().contains(&"t".to_owned()));
    }
}

#[test]
fn local_changes_stay_and_are_refused_when_in_the_way() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("one");
    repo.write("b", "mine\n");
    repo.git("shadow merge t --no-ff").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("1\n".into(), "mine\n".into())
    );
    shadow.write("b", "2\n");
    shadow.commit_all("two");
    // git may refresh the index; nothing else may differ.
    let state = |repo: &Repo| (repo.oid("main"), repo.git("status --porcelain").ok().out());
    let before = (state(&repo), repo.disk());
    repo.git("shadow merge t --no-ff")
        .fails(1)
        .says("overwritten");
    repo.git("shadow merge t --squash").fails(1);
    assert_eq!((state(&repo), repo.disk()), before);
}

#[test]
fn a_target_that_nobody_holds_is_moved_by_ref() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("one");
    repo.git("checkout -q -b elsewhere").ok();
    repo.commit_all("elsewhere");
    let before = repo.disk();
    repo.git("shadow merge t --no-ff").ok();
    assert_eq!(
        log(&repo, "--topo-order main"),
        ["Merge shadow 't'", "one", "base"]
    );
    assert_eq!(repo.disk(), before);
    repo.git("branch other elsewhere").ok();
    repo.git("shadow merge t --into other").ok();
    assert_eq!(log(&repo, "other").len(), 4);
    repo.git("shadow merge t --into nowhere")
        .fails(128)
        .says("no branch");
}

#[test]
fn from_inside_the_shadow_and_from_elsewhere() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("one");
    shadow.git("shadow merge t").ok();
    assert_eq!(repo.read("a"), "1\n");
    let other = repo.worktree("third");
    shadow.write("a", "2\n");
    shadow.commit_all("two");
    other.git("shadow merge t --remove").ok();
    assert_eq!(repo.read("a"), "2\n");
    assert_eq!(repo.shadows(), [] as [&str; 0]);
    assert!(repo.root().exists());
}

#[test]
fn run_from_the_main_checkout_on_a_feature_branch() {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("checkout -q -b feature").ok();
    let shadow = repo.shadow("t");
    shadow.write("a", "1\n");
    repo.git("shadow finish t -m work").ok();
    repo.git("shadow merge t --remove").ok();
    assert_eq!(log(&repo, "feature"), ["work", "base"]);
    assert_eq!(log(&repo, "main"), ["base"]);
    assert_eq!(repo.branches(), ["feature", "main"]);
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_stale_target_is_said_and_a_diverged_one_refused() {
    let origin = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    origin.git("clone -q . ../clone").ok();
    let clone = origin.seen_at(origin.scene().join("clone"));
    let shadow = clone.shadow("t");
    shadow.write("a", "1\n");
    shadow.commit_all("one");
    origin.commit_all("newer");
    clone.git("fetch -q").ok();
    clone.git("shadow merge t").ok().says("stale");
    shadow.write("b", "1\n");
    shadow.commit_all("two");
    let before = clone.fingerprint();
    clone.git("shadow merge t").fails(1).says("diverged");
    assert_eq!(clone.fingerprint(), before);
}

#[test]
fn the_main_checkout_in_the_middle_of_a_rebase() {
    let (repo, shadow) = scene();
    shadow.write("b", "1\n");
    shadow.commit_all("one");
    repo.git("checkout -q -b side").ok();
    repo.write("a", "side\n");
    repo.commit_all("side");
    repo.git("checkout -q main").ok();
    repo.write("a", "main\n");
    repo.commit_all("in main");
    repo.git("rebase side").fails(1);
    repo.git("shadow merge t").fails(128).says("rebase");
    repo.git("shadow add other side").ok();
    repo.git("rebase --abort").ok();
    repo.git("shadow merge t").ok();
}

#[test]
fn a_dry_run_says_how() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("one");
    let before = repo.fingerprint();
    repo.git("shadow merge -n t")
        .ok()
        .prints("would merge t into main (fast-forward)");
    assert_eq!(repo.fingerprint(), before);
}
