//! What a removal keeps besides the files, and how it comes back.

use crate::common::Repo;

/// A repository with one shadow, `t`.
fn scene() -> (Repo, Repo) {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("b", "0\n"),
        ("dir/c", "0\n"),
        (".gitignore", "*.db\nprivate/\ntarget/\n.env*\nout\nbuild\n"),
    ]);
    let shadow = repo.shadow("t");
    (repo, shadow)
}

/// A shadow whose branch and `main` have both changed `a`.
fn diverged() -> (Repo, Repo) {
    let (repo, shadow) = scene();
    shadow.write("a", "shadow\n");
    shadow.commit_all("in the shadow");
    repo.write("a", "main\n");
    repo.commit_all("in main");
    shadow.write("b", "not committed\n");
    (repo, shadow)
}

/// Removes it with all answers yes, lets git drop what nothing holds, brings it back.
#[track_caller]
fn away_and_back(repo: &Repo) {
    repo.git("shadow remove -y t").ok();
    repo.git("reflog expire --expire=now --all").ok();
    repo.git("gc -q --prune=now").ok();
    repo.git("shadow restore t").ok();
    repo.fsck();
}

#[test]
fn an_autostash_of_a_rebase() {
    let (repo, shadow) = diverged();
    shadow.git("rebase -q --autostash main").fails(1);
    away_and_back(&repo);
    shadow.git("rebase --abort").ok();
    assert_eq!(shadow.read("b"), "not committed\n");
    assert_eq!(shadow.read("a"), "shadow\n");
}

#[test]
fn an_autostash_of_a_merge() {
    let (repo, shadow) = diverged();
    shadow.git("merge -q --autostash main").fails(1);
    away_and_back(&repo);
    shadow.git("merge --abort").ok();
    assert_eq!(shadow.read("b"), "not committed\n");
    assert_eq!(shadow.read("a"), "shadow\n");
}

#[test]
fn what_a_reftable_worktree_has_alone() {
    let repo = Repo::outside();
    // Older gits have none.
    if repo.git("init -q --ref-format=reftable .").code() != Some(0) {
        return;
    }
    repo.write("a", "0\n");
    repo.write("b", "0\n");
    repo.commit_all("base");
    let shadow = repo.shadow("t");
    shadow.write("a", "shadow\n");
    shadow.commit_all("in the shadow");
    shadow.git("update-ref refs/worktree/keep HEAD").ok();
    repo.write("a", "main\n");
    repo.commit_all("in main");
    shadow.write("b", "not committed\n");
    shadow.git("merge -q --autostash main").fails(1);
    let kept = shadow.oid("refs/worktree/keep");
    away_and_back(&repo);
    assert_eq!(shadow.oid("refs/worktree/keep"), kept);
    shadow.git("merge --abort").ok();
    assert_eq!(shadow.read("b"), "not committed\n");
}

#[test]
fn an_unborn_branch() {
    let (repo, shadow) = scene();
    shadow.git("checkout -q --orphan fresh").ok();
    shadow.write("new", "n\n");
    let status = shadow.git("status --porcelain=v2 --branch").ok().out();
    away_and_back(&repo);
    assert_eq!(
        shadow.git("status --porcelain=v2 --branch").ok().out(),
        status
    );
    assert_eq!(shadow.read("new"), "n\n");
    repo.git("shadow remove -y t").ok();
    repo.git("branch fresh").ok();
    repo.git("shadow restore t").fails(1).says("-b <branch>");
    repo.git("shadow restore t -b other").ok();
    shadow
        .git("symbolic-ref HEAD")
        .ok()
        .prints("refs/heads/other");
}

#[test]
fn a_branch_that_was_deleted_under_it() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("work");
    let commit = shadow.oid("HEAD");
    repo.git("update-ref -d refs/heads/agent/t").ok();
    away_and_back(&repo);
    assert_eq!(shadow.read("a"), "1\n");
    repo.git(&format!("cat-file -e {commit}")).ok();
}

#[test]
fn an_older_removal() {
    let (repo, shadow) = scene();
    shadow.write("new", "first\n");
    repo.git("shadow remove -y t").ok();
    repo.shadow("t");
    repo.git("shadow remove -y t").ok();
    let listed = repo.git("shadow restore --list").ok().lines();
    let ids: Vec<&str> = listed
        .iter()
        // What a sweep has not emptied yet is listed below each.
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(ids, ["t@{1}", "t"]);
    repo.git("shadow restore 't@{2}'").fails(1);
    repo.git("shadow restore 't@{1}'").ok();
    assert_eq!(shadow.read("new"), "first\n");
}

#[test]
fn the_branch_of_a_finished_one() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    repo.git("shadow finish t -m work").ok();
    repo.git("worktree add -q ../x agent/t").ok();
    let other = repo.seen_at(repo.root().with_file_name("x"));
    other.write("b", "more\n");
    other.commit_all("more");
    let tip = other.oid("HEAD");
    repo.git("worktree remove ../x").ok();
    repo.git("shadow remove --delete-branch t").fails(1);
    repo.git("shadow remove --delete-branch -y t").ok();
    assert_eq!(repo.branches(), ["main"]);
    repo.git("shadow restore t").ok();
    assert_eq!(
        (shadow.oid("HEAD"), shadow.read("b")),
        (tip, "more\n".into())
    );
    shadow.git("status --porcelain").ok().prints("");
}

#[test]
fn a_file_with_the_name_of_a_build_folder() {
    let (repo, shadow) = scene();
    shadow.write("out", "result\n");
    assert_eq!(repo.refused("t"), ["ignored"]);
    away_and_back(&repo);
    assert_eq!(shadow.read("out"), "result\n");
}

#[test]
fn a_copy_as_it_was_then() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (".gitignore", ".env\n"),
        (".worktreeinclude", ".env\n"),
    ]);
    repo.write(".env", "OLD\n");
    repo.chmod(".env", 0o600);
    let shadow = repo.shadow("t");
    repo.git("shadow remove t").ok();
    repo.write(".env", "NEW\n");
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read(".env"), "OLD\n");
    assert_eq!(repo.shown("t")["copied"][0], ".env");
    let disk = shadow.git("status --porcelain --ignored").ok().out();
    assert_eq!(disk, "!! .env");
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read(".env"), "OLD\n");
}

#[test]
fn refs_of_the_worktree_alone() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("kept");
    let kept = shadow.oid("HEAD");
    shadow.git("update-ref refs/worktree/keep HEAD").ok();
    shadow.git("reset -q --hard HEAD~1").ok();
    std::fs::remove_file(shadow.git_dir().join("logs/HEAD")).unwrap();
    assert_eq!(repo.refused("t"), ["commits"]);
    away_and_back(&repo);
    assert_eq!(shadow.oid("refs/worktree/keep"), kept);
}

#[test]
fn modes_of_files_and_folders() {
    let (repo, shadow) = scene();
    shadow.chmod("a", 0o600);
    shadow.write("private/key", "k\n");
    shadow.chmod("private", 0o700);
    shadow.chmod("dir", 0o750);
    let before = shadow.disk();
    away_and_back(&repo);
    assert_eq!(shadow.disk(), before);
    use std::os::unix::fs::PermissionsExt;
    for (path, mode) in [("a", 0o600), ("private", 0o700), ("dir", 0o750)] {
        let found = std::fs::metadata(shadow.root().join(path)).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, mode, "{path}");
    }
}

#[test]
fn modes_that_the_umask_gives_are_not_written_down() {
    let repo = Repo::with(&[("a", "0\n"), ("x", "#!\n"), ("dir/c", "0\n")]);
    repo.chmod("x", 0o755);
    repo.commit_all("executable");
    repo.sh_ours("umask 002; git -c shadow.hooks=false shadow add t && git shadow remove t")
        .ok();
    let message = repo
        .git("for-each-ref --format='%(contents)' refs/harness/trash")
        .ok()
        .out();
    assert!(message.contains("\"modes\":[]"), "{message}");
}

#[test]
fn sparse_patterns() {
    let (repo, shadow) = scene();
    repo.write("far/f", "0\n");
    repo.commit_all("far");
    shadow.git("merge -q main").ok();
    shadow.git("sparse-checkout set dir").ok();
    shadow.write("dir/c", "1\n");
    let state = || {
        (
            shadow.git("sparse-checkout list").ok().out(),
            shadow.git("ls-files -t").ok().out(),
            shadow.git("status --porcelain=v2").ok().out(),
            shadow.disk(),
        )
    };
    let before = state();
    away_and_back(&repo);
    assert_eq!(state(), before);
}

#[test]
fn a_full_shadow_beside_a_sparse_checkout() {
    let (repo, shadow) = scene();
    let before = (shadow.disk(), shadow.git("ls-files -t").ok().out());
    repo.git("shadow remove t").ok();
    repo.git("sparse-checkout set dir").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(
        (shadow.disk(), shadow.git("ls-files -t").ok().out()),
        before
    );
    shadow.git("status --porcelain").ok().prints("");
}

#[test]
fn a_submodule_with_its_repository() {
    let inner = Repo::with(&[("x", "x\n")]);
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("config --global protocol.file.allow always").ok();
    repo.git(&format!("submodule add -q {} sub", inner.root().display()))
        .ok();
    repo.git("commit -q -m sub").ok();
    let shadow = repo.shadow("t");
    shadow.git("submodule update -q --init").ok();
    let sub = shadow.in_dir("sub");
    sub.git("checkout -q -b work").ok();
    sub.git("config user.name A").ok();
    sub.git("config user.email a@example.com").ok();
    sub.write("x", "work\n");
    sub.git("commit -q -a -m inner").ok();
    sub.write("x", "stash\n");
    sub.git("stash -q").ok();
    sub.write("y", "dirty\n");
    let answer = repo.git("shadow remove t").fails(1);
    for part in ["sub (changes)", "(on no remote: ", "(stashed: "] {
        answer.err().contains(part).then_some(()).expect(part);
    }
    let state = |sub: &Repo| {
        (
            sub.git("status --porcelain --branch").ok().out(),
            sub.git("log --format=%H --all").ok().out(),
        )
    };
    let before = state(&sub);
    away_and_back(&repo);
    assert_eq!(state(&sub), before);
    shadow.git("status --porcelain").ok().prints(" M sub");
    repo.git("shadow remove -y t").ok();
    let elsewhere = repo.root().with_file_name("elsewhere");
    repo.git("shadow restore t --path ../elsewhere").ok();
    assert_eq!(state(&repo.seen_at(elsewhere.join("sub"))), before);
}

#[test]
fn edits_that_a_flag_hides_in_a_submodule() {
    let inner = Repo::with(&[("x", "x\n")]);
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("config --global protocol.file.allow always").ok();
    repo.git(&format!("submodule add -q {} sub", inner.root().display()))
        .ok();
    repo.git("commit -q -m sub").ok();
    let shadow = repo.shadow("t");
    shadow.git("submodule update -q --init").ok();
    let sub = shadow.in_dir("sub");
    sub.git("update-index --assume-unchanged x").ok();
    sub.write("x", "hidden\n");
    assert_eq!(repo.refused("t"), ["submodules"]);
}

#[test]
fn a_locked_shadow_inside_another() {
    let (repo, shadow) = scene();
    let inside = shadow.root().join("target/u");
    repo.shadow(&format!("u --path {}", inside.display()));
    repo.git("shadow lock u --reason keep").ok();
    assert_eq!(repo.refused("-y t"), ["worktrees"]);
    repo.git("shadow remove -y t")
        .fails(1)
        .says("(the shadow 'u') (locked)");
    assert!(inside.join("a").exists());
}

#[test]
fn a_repository_in_the_temporary_folder() {
    let (repo, _) = scene();
    repo.git("shadow run -q t -- sh -c 'git init -q $TMPDIR/x && echo w >$TMPDIR/x/w'")
        .ok();
    assert_eq!(repo.refused("t"), ["temporary"]);
    repo.git("shadow remove -y t").ok();
    let listed = repo.git("shadow restore --list").ok().out();
    let folder = listed.split("its temporary folder: ").nth(1).unwrap();
    let kept = std::path::Path::new(folder.trim()).join("x/w");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "w\n");
    repo.git("shadow restore t").ok();
    repo.git("shadow run -q t -- sh -c 'git worktree add -q --detach $TMPDIR/wt'")
        .ok();
    assert_eq!(repo.refused("-y t"), ["worktrees"]);
}

#[test]
fn a_repository_in_a_tracked_folder() {
    let (repo, shadow) = scene();
    shadow.git("init -q dir").ok();
    let inner = shadow.in_dir("dir");
    inner.write("n", "n\n");
    inner.git("add n").ok();
    inner.git("commit -q -m nested").ok();
    let head = inner.git("rev-parse HEAD").ok().out();
    away_and_back(&repo);
    inner.git("rev-parse HEAD").ok().prints(&head);
    assert_eq!(
        (inner.read("n"), inner.read("c")),
        ("n\n".into(), "0\n".into())
    );
}

#[test]
fn a_newer_state_of_a_file_is_named() {
    let (repo, shadow) = scene();
    repo.git("config shadow.trashMax 1k").ok();
    shadow.write("large.db", vec![b'x'; 5000]);
    shadow.write("log", "then\n");
    repo.git("shadow remove -y t").ok();
    repo.git("shadow prune").ok();
    // As one writes who still has it open.
    let trash = shadow.root().with_file_name(".shadow-trash");
    let mut places = std::fs::read_dir(trash).unwrap().flatten();
    let late = places.next().unwrap().path().join("tree/log");
    std::fs::write(&late, "later\n").unwrap();
    repo.git("shadow restore t")
        .ok()
        .says("log was changed after the snapshot")
        .says(&late.display().to_string());
    assert_eq!(shadow.read("log"), "then\n");
    assert_eq!(shadow.bytes("large.db").len(), 5000);
    assert_eq!(std::fs::read_to_string(late).unwrap(), "later\n");
}

#[test]
fn a_broken_one_among_several() {
    let repo = Repo::with(&[("a", "0\n")]);
    for name in ["x", "y", "z"] {
        repo.shadow(name);
    }
    let broken = repo.home().join(".worktrees/repo/y/.git");
    std::fs::write(broken, "gitdir: /nowhere\n").unwrap();
    repo.git("shadow remove x y z").fails(1).says("'y'");
    assert_eq!(repo.shadows(), ["y"]);
}

/// No tree has them, and a bare repository is none without its own.
#[test]
fn empty_folders_and_a_bare_repository() {
    let (repo, shadow) = scene();
    for folder in ["empty", "dir/deep/down", "private", "node_modules/x"] {
        shadow.mkdir(folder);
    }
    shadow.chmod("private", 0o700);
    shadow.git("clone -q --bare . inner.git").ok();
    shadow.git("-C inner.git pack-refs --all").ok();
    let heads = shadow.git("-C inner.git log --all --format=%H").ok().out();
    let folders = || {
        let found = shadow.sh("find . -type d -printf '%m %p\\n' | sort");
        found.ok().out()
    };
    let before = (shadow.disk(), folders());
    away_and_back(&repo);
    assert_eq!((shadow.disk(), folders()), before);
    let there = shadow.root().join("inner.git");
    let inner = shadow.run([
        "--git-dir".as_ref(),
        there.as_os_str(),
        "log".as_ref(),
        "--all".as_ref(),
        "--format=%H".as_ref(),
    ]);
    assert_eq!(inner.ok().out(), heads);
}
