//! `git shadow remove` and `restore`: what git and every other tool deletes without
//! a word is listed, asked about, and comes back.

use std::process::{Command, Stdio};

use crate::common::{Disk, Outcome, Repo};

/// A repository with one shadow, `t`.
#[track_caller]
fn scene() -> (Repo, Repo) {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("b", "0\n"),
        ("dir/c", "0\n"),
        (".gitignore", "*.db\nprivate/\ntarget/\n.env*\n"),
    ]);
    let shadow = repo.shadow("t");
    (repo, shadow)
}

/// Asserts that `kind` stands against the removal, also with `--force` when
/// `beyond_force`; that nothing was done; and that a removal with `-y` followed by a
/// restore gives the same files, status and index.
#[track_caller]
fn asked_and_restorable(repo: &Repo, shadow: &Repo, kind: &str, beyond_force: bool) {
    let before = state(shadow);
    assert_eq!(repo.refused("t"), [kind]);
    if beyond_force {
        assert_eq!(repo.refused("--force t"), [kind]);
    }
    assert_eq!(state(shadow), before, "a refusal changes nothing");
    repo.git("shadow remove -y t").ok();
    assert!(!shadow.root().exists());
    repo.fsck();
    repo.git("shadow restore t").ok();
    assert_eq!(state(shadow), before);
    repo.fsck();
}

type State = (Disk, String, String, String);

#[track_caller]
fn state(shadow: &Repo) -> State {
    (
        shadow.disk(),
        shadow
            .git("status --porcelain=v2 --branch --ignored --untracked-files=all")
            .ok()
            .out(),
        shadow.git("ls-files -s -t -v").ok().out(),
        shadow.git("rev-parse HEAD").ok().out(),
    )
}

#[test]
fn fact_1_ignored_files() {
    let (repo, shadow) = scene();
    shadow.write("local.db", "rows\n");
    shadow.write("private/notes/one", "mine\n");
    shadow.chmod("local.db", 0o600);
    asked_and_restorable(&repo, &shadow, "ignored", false);
    assert_eq!(shadow.mode("local.db"), 0o600);
}

#[test]
fn fact_2_untracked_work_whatever_the_user_shows() {
    let (repo, shadow) = scene();
    repo.git("config status.showUntrackedFiles no").ok();
    shadow.write("new/file", "work\n");
    asked_and_restorable(&repo, &shadow, "untracked", false);
}

#[test]
fn fact_3_edits_behind_flags() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let (repo, shadow) = scene();
        shadow.git(&format!("update-index --{flag} a")).ok();
        shadow.write("a", "hidden edit\n");
        shadow.git("status --porcelain").ok().prints("");
        asked_and_restorable(&repo, &shadow, "changes", false);
    }
}

#[test]
fn fact_4_commits_on_a_detached_head() {
    let (repo, shadow) = scene();
    shadow.git("checkout -q --detach").ok();
    shadow.write("a", "1\n");
    shadow.commit_all("only here");
    asked_and_restorable(&repo, &shadow, "commits", true);
}

#[test]
fn fact_5_a_rebase_whose_status_is_clean() {
    let (repo, shadow) = scene();
    shadow.write("a", "shadow\n");
    shadow.commit_all("in the shadow");
    repo.write("a", "main\n");
    repo.commit_all("in main");
    shadow.git("rebase main").fails(1);
    shadow.git("checkout --ours a").ok();
    shadow.git("add a").ok();
    shadow.git("status --porcelain").ok().prints("");
    asked_and_restorable(&repo, &shadow, "operation", true);
    assert!(shadow.git_dir().join("rebase-merge").exists(), "it goes on");
    shadow.env("GIT_EDITOR", "true").git("rebase --skip").ok();
}

#[test]
fn fact_6_a_repository_inside() {
    let (repo, shadow) = scene();
    shadow.git("init -q target/clone").ok();
    let inner = shadow.in_dir("target/clone");
    inner.write("x", "x\n");
    inner.git("add x").ok();
    inner.git("commit -q -m inner").ok();
    let head = inner.git("rev-parse HEAD").ok().out();
    asked_and_restorable(&repo, &shadow, "repositories", true);
    assert_eq!(inner.git("rev-parse HEAD").ok().out(), head);
}

#[test]
fn fact_7_a_worktree_inside() {
    let (repo, shadow) = scene();
    shadow.git("worktree add -q target/other -b other").ok();
    shadow.write("target/other/a", "dirty\n");
    // Moved to the trash, git would take it for gone.
    for options in ["", "--force ", "-y "] {
        assert_eq!(repo.refused(&format!("{options}t")), ["worktrees"]);
    }
    let other = shadow.in_dir("target/other");
    other.git("status --porcelain").ok().prints(" M a");
    repo.git("shadow move t ../moved")
        .fails(1)
        .says("worktrees are inside it");
    let path = other.git("rev-parse --show-toplevel").ok().out();
    repo.git(&format!("worktree move {path} ../other")).ok();
    repo.git("shadow remove t").ok();
}

#[test]
fn the_live_process() {
    let (repo, shadow) = scene();
    let mut process = Command::new("sleep")
        .arg("1000")
        .current_dir(shadow.root())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let refused = repo.git("shadow remove t").fails(1);
    assert_eq!(repo.refused("--force t"), ["processes"]);
    process.kill().unwrap();
    process.wait().unwrap();
    refused
        .says(&format!("{} sleep", process.id()))
        .says("was not removed");
    assert!(shadow.root().exists());
    repo.git("shadow remove t").ok();
    assert!(!shadow.root().exists());
}

#[test]
fn what_is_clean_goes_silently_and_leaves_no_trace() {
    let (repo, shadow) = scene();
    shadow.write("target/debug/artefact", "built\n");
    repo.git("shadow remove t").ok();
    repo.has_no_trace_of_shadows();
    assert!(!shadow.root().exists());
}

#[test]
fn everything_comes_back_byte_for_byte() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("b", "0\n"),
        ("dir/c", "0\n"),
        (".gitignore", "*.db\n.env*\n"),
        (".worktreeinclude", ".env.test\n"),
    ]);
    repo.write(".env.test", "SECRET=1\n");
    repo.chmod(".env.test", 0o600);
    let shadow = repo.shadow("t");
    assert_eq!(shadow.mode(".env.test"), 0o600);
    shadow.write("a", "staged\n");
    shadow.git("add a").ok();
    shadow.write("a", "and more\n");
    shadow.git("rm -q --cached b").ok();
    shadow.remove("dir");
    shadow.write("intended", "to add\n");
    shadow.git("add -N intended").ok();
    shadow.write("untracked", "u\n");
    shadow.chmod("untracked", 0o640);
    shadow.write("script", "#!/bin/sh\n");
    shadow.chmod("script", 0o755);
    shadow.link("nowhere", "dangling");
    shadow.write("data.db", b"\x00\xff binary");
    let before = state(&shadow);
    repo.git("shadow remove -y t").ok();
    assert_eq!(repo.branches(), ["main"], "nothing was committed on it");
    repo.git("shadow restore t").ok();
    assert_eq!(state(&shadow), before);
    assert_eq!(shadow.mode("untracked"), 0o640);
    assert_eq!(shadow.mode(".env.test"), 0o600);
    assert_eq!(shadow.git("branch --show-current").ok().out(), "agent/t");
    repo.fsck();
}

#[test]
fn a_conflicted_index_comes_back() {
    let (repo, shadow) = scene();
    shadow.write("a", "ours\n");
    shadow.commit_all("ours");
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    shadow.git("merge -q main").fails(1);
    let before = state(&shadow);
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(state(&shadow), before);
    assert!(shadow.git_dir().join("MERGE_HEAD").exists());
}

#[test]
fn a_detached_commit_is_reachable_from_the_trash() {
    let (repo, shadow) = scene();
    shadow.git("checkout -q --detach").ok();
    shadow.commit_all("only here");
    let commit = shadow.oid("HEAD");
    repo.git("shadow remove -y t").ok();
    repo.git("gc -q --prune=now").ok();
    repo.git(&format!("cat-file -e {commit}")).ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.oid("HEAD"), commit);
}

#[test]
fn a_lock_and_a_lease_are_never_waived() {
    let (repo, shadow) = scene();
    repo.git("shadow lock t --reason 'on a journey'").ok();
    assert_eq!(repo.refused("--force -y t"), ["locked"]);
    repo.git("shadow unlock t").ok();
    let script = "git shadow remove --force -y t && exit 9; exit 7";
    repo.run([
        "shadow",
        "run",
        "-q",
        "t",
        "--",
        "sh",
        "-c",
        &format!("cd / && GIT_DIR='{}' {script}", repo.git_dir().display()),
    ])
    .fails(7)
    .says("a command runs in it");
    assert!(shadow.root().exists());
}

#[test]
fn the_default_branch_and_the_main_worktree_are_never_removed() {
    let (repo, shadow) = scene();
    repo.git("checkout -q -b elsewhere").ok();
    shadow.git("checkout -q main").ok();
    repo.git("shadow remove --force -y t")
        .fails(128)
        .says("default branch");
    assert!(shadow.root().exists());
    // A record that claims the main worktree is a shadow.
    let file = repo.common_dir().join("harness/shadows/t.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let lie = text.replace(
        shadow.root().to_str().unwrap(),
        repo.root().to_str().unwrap(),
    );
    std::fs::write(&file, lie).unwrap();
    repo.git("shadow remove --force -y t")
        .fails(128)
        .says("main worktree");
    assert_eq!(repo.read("a"), "0\n");
}

#[test]
fn a_folder_that_does_not_point_back_is_not_removed() {
    let (repo, shadow) = scene();
    shadow.write(".git", "gitdir: /nowhere\n");
    repo.git("shadow remove --force -y t")
        .fails(128)
        .says("name each other");
    assert!(shadow.exists("a"));
}

#[test]
fn an_unmerged_branch_stays_and_is_deleted_on_demand() {
    let (repo, shadow) = scene();
    shadow.write("a", "work\n");
    shadow.commit_all("work");
    repo.git("shadow remove t")
        .ok()
        .says("kept the branch agent/t");
    assert_eq!(repo.branches(), ["agent/t", "main"]);
    repo.git("shadow restore t").ok();
    assert_eq!(repo.refused("--delete-branch t"), ["commits"]);
    repo.git("shadow remove --delete-branch -y t").ok();
    assert_eq!(repo.branches(), ["main"]);
    repo.git("shadow restore t").ok();
    assert_eq!(repo.branches(), ["agent/t", "main"], "made again");
    assert_eq!(shadow.read("a"), "work\n");
}

#[test]
fn a_branch_goes_when_its_work_is_there_however_it_came() {
    for how in [
        "merge -q --no-ff --no-edit agent/t",
        "cherry-pick agent/t",
        "merge -q --squash agent/t",
    ] {
        let (repo, shadow) = scene();
        shadow.write("a", "work\n");
        shadow.commit_all("work");
        repo.write("other", "x\n");
        repo.commit_all("in between");
        repo.git(how).ok();
        repo.git("commit -q --allow-empty -m more").ok();
        repo.git("shadow remove t").ok().says("deleted the branch");
        repo.has_no_trace_of_shadows();
    }
}

#[test]
fn a_branch_that_was_not_ours_is_never_deleted() {
    let (repo, shadow) = scene();
    shadow.git("checkout -q -b mine").ok();
    repo.git("shadow remove --delete-branch -y t").ok();
    assert!(repo.branches().contains(&"mine".to_owned()));
}

#[test]
fn a_taken_path_or_branch_is_named() {
    let (repo, shadow) = scene();
    shadow.write("a", "work\n");
    shadow.commit_all("work");
    repo.git("shadow remove t").ok();
    std::fs::create_dir_all(shadow.root()).unwrap();
    std::fs::write(shadow.root().join("x"), "taken").unwrap();
    repo.git("shadow restore t").fails(1).says("--path");
    repo.git("checkout -q agent/t").ok();
    repo.git("shadow restore t --path ../elsewhere")
        .fails(1)
        .says("-b");
    repo.git("shadow restore t --path ../elsewhere -b again")
        .ok();
    let elsewhere = repo.seen_at(repo.scene().join("elsewhere"));
    assert_eq!(elsewhere.read("a"), "work\n");
    assert_eq!(elsewhere.git("branch --show-current").ok().out(), "again");
}

#[test]
fn the_question_is_asked_on_a_terminal() {
    let (repo, shadow) = scene();
    shadow.write("new", "work\n");
    let mut session = repo.on_terminal(&["shadow", "remove", "t"]);
    session.shows("new");
    session.shows("Remove 't'");
    session.press("n");
    assert_eq!(session.ends().0, 1);
    assert!(shadow.exists("new"));
    let mut session = repo.on_terminal(&["shadow", "remove", "t"]);
    session.shows("Remove 't'");
    session.press("y");
    assert_eq!(session.ends().0, 0);
    assert!(!shadow.root().exists());
}

#[test]
fn a_dry_run_changes_nothing() {
    let (repo, shadow) = scene();
    shadow.write("new", "work\n");
    let before = (state(&shadow), repo.fingerprint());
    repo.git("shadow remove -n t").ok().says("new");
    assert_eq!((state(&shadow), repo.fingerprint()), before);
    assert_eq!(repo.git("for-each-ref refs/harness/trash").ok().out(), "");
}

#[test]
fn from_inside_it_says_where_to_go() {
    let (repo, shadow) = scene();
    shadow
        .git("shadow remove t")
        .ok()
        .says(&format!("cd {}", repo.root().display()));
    repo.has_no_trace_of_shadows();
}

#[test]
fn changes_after_the_snapshot_stay_in_the_trash() {
    let (repo, shadow) = scene();
    let folder = shadow.root().parent().unwrap().to_owned();
    shadow.write("late/file", "u\n");
    repo.git("shadow remove -y t").ok();
    // What is left is swept, and nothing is.
    repo.git("shadow prune").ok();
    assert!(!folder.join(".shadow-trash").exists());
}

#[test]
fn too_large_ignored_files_wait_in_the_trash_and_come_back() {
    let (repo, shadow) = scene();
    repo.git("config shadow.trashMax 1k").ok();
    shadow.write("small.db", "s\n");
    shadow.write("large.db", vec![b'x'; 5000]);
    repo.git("shadow remove -y t").ok().says("shadow.trashMax");
    repo.git("shadow prune").ok();
    let listed = repo.git("shadow restore --list").ok().out();
    assert!(
        listed.contains("large.db") && !listed.contains("small.db"),
        "{listed}"
    );
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.bytes("large.db").len(), 5000);
    assert_eq!(shadow.read("small.db"), "s\n");
}

#[test]
fn what_could_not_be_read_waits_in_the_trash_and_comes_back() {
    let (repo, shadow) = scene();
    let Some(user) = repo.for_whom_modes_count() else {
        return;
    };
    shadow.write("a", "tracked, edited, unreadable\n");
    shadow.chmod("a", 0);
    assert!(user.refused("--force t").contains(&"skipped".to_owned()));
    user.git("shadow remove -y t").ok();
    user.git("shadow prune").ok();
    user.git("shadow restore t").ok();
    assert_eq!(shadow.mode("a"), 0);
    shadow.chmod("a", 0o600);
    assert_eq!(shadow.read("a"), "tracked, edited, unreadable\n");
}

#[test]
fn the_trash_expires() {
    let (repo, shadow) = scene();
    repo.git("config shadow.trashMax 0").ok();
    repo.git("config shadow.trashExpire now").ok();
    shadow.write("large.db", "x\n");
    let folder = shadow.root().parent().unwrap().to_owned();
    repo.git("shadow remove -y t").ok();
    repo.git("shadow prune").ok();
    assert!(!folder.join(".shadow-trash").exists());
    assert_eq!(repo.git("for-each-ref refs/harness/trash").ok().out(), "");
}

#[test]
fn a_snapshot_expires_and_what_is_younger_stays() {
    let (repo, shadow) = scene();
    let trash = || {
        repo.git("for-each-ref --format=%(refname) refs/harness/trash")
            .ok()
    };
    shadow.write("a", "kept\n");
    repo.git("shadow remove -y t").ok();
    let kept = trash().out();
    let shadow = repo.shadow("late");
    shadow.git("checkout -q --detach").ok();
    shadow.commit_all("on no branch");
    let lost = shadow.oid("HEAD");
    repo.git("shadow remove -y late").ok();
    // Looked at in another repository, where no sweep is at work in the background.
    let source = repo.root().display().to_string();
    let repo = Repo::with(&[("other", "")]);
    repo.run(["fetch", "-q", &source, "+refs/harness/*:refs/harness/*"])
        .ok();
    let trash = || repo.trash();
    let both = trash().lines();
    let late = both.iter().find(|name| **name != kept).unwrap();
    // As if its time had come.
    let text = repo.git(&format!("cat-file commit {late}")).ok().out();
    let at = text.find("\"expires\":").unwrap() + "\"expires\":".len();
    let end = at + text[at..].find(',').unwrap();
    let text = format!("{}1{}\n", &text[..at], &text[end..]);
    let commit = repo
        .feed("hash-object -t commit -w --stdin", text)
        .ok()
        .out();
    repo.git(&format!("update-ref {late} {commit}")).ok();
    repo.git("shadow prune -n").ok().says("has expired");
    assert_eq!(trash().lines(), both);
    repo.git("shadow prune")
        .ok()
        .says("late, removed")
        .says(&format!("until a gc it is {}", &commit[..10]));
    trash().prints(&kept);
    repo.git(&format!("cat-file -e {lost}")).ok();
    repo.git("shadow restore late")
        .fails(1)
        .says("no shadow 'late' was removed");
    repo.git("shadow restore t --path ../back").ok();
    assert_eq!(repo.read("../back/a"), "kept\n");
}

impl Repo {
    /// The names of all snapshots of removed shadows.
    #[track_caller]
    fn trash(&self) -> Outcome {
        self.git("for-each-ref --format=%(refname) refs/harness/trash")
            .ok()
    }
}

#[test]
fn the_list_says_whose_the_work_is() {
    let (repo, shadow) = scene();
    shadow.write("mine", "by hand, before\n");
    let work = "echo agent >>a; echo agent >new; echo agent >agent.db";
    repo.run(["shadow", "run", "t", "--", "sh", "-c", work])
        .ok();
    shadow.append("dir/c", "by hand, after\n");
    shadow.write("mine.db", "by hand\n");
    let json = repo.git("shadow remove -n --json t").ok().json();
    let found: Vec<String> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{} {} {}", f["maker"], f["kind"], f["items"]))
        .collect();
    assert_eq!(
        found,
        [
            r#""agent" "changes" ["modified a"]"#,
            r#""somebody" "changes" ["modified dir/c"]"#,
            r#""agent" "untracked" ["new"]"#,
            r#""somebody" "untracked" ["mine"]"#,
            // No checkpoint looks at what is ignored: nobody is known to have made it.
            r#""somebody" "ignored" ["agent.db","mine.db"]"#,
        ]
    );
    repo.git("shadow remove t")
        .fails(1)
        .says("changes are not committed, made by an agent:\n  modified a")
        .says("files are not tracked, made by no known agent:\n  mine");
    // What is committed is in nobody's way, whoever made it.
    shadow.git("add -A").ok();
    shadow.commit_all("all of it");
    shadow.remove("agent.db");
    shadow.remove("mine.db");
    repo.git("shadow remove t").ok();
}

#[test]
fn the_log_of_head_comes_back_with_what_only_it_reaches() {
    let (repo, shadow) = scene();
    shadow.write("a", "first\n");
    shadow.commit_all("first");
    shadow.write("a", "second\n");
    shadow.git("commit -q -a --amend -m second").ok();
    let log = shadow.git("reflog --format='%H %gs'").ok().out();
    assert!(log.contains("commit (amend)"), "{log}");
    let amended = shadow.oid("HEAD@{1}");
    repo.git("shadow remove -y t").ok();
    repo.git("shadow prune").ok();
    repo.git("reflog expire --expire=now --all").ok();
    repo.git("gc -q --prune=now").ok();
    repo.git(&format!("cat-file -e {amended}")).ok();
    repo.git("shadow restore t").ok();
    shadow.git("reflog --format='%H %gs'").ok().prints(&log);
    assert_eq!(shadow.git("show HEAD@{1}:a").ok().out(), "first");
    repo.fsck();
}

#[test]
fn a_linked_dependency_is_not_followed() {
    let repo = Repo::with(&[("a", "0\n"), (".gitignore", "node_modules/\n")]);
    repo.write("node_modules/left/index.js", "module\n");
    let shadow = repo.shadow("t");
    assert!(shadow.path("node_modules").is_symlink());
    repo.git("shadow remove t").ok();
    repo.git("shadow prune").ok();
    assert_eq!(repo.read("node_modules/left/index.js"), "module\n");
    repo.has_no_trace_of_shadows();
}
