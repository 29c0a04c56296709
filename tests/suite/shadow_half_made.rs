//! Half-made shadows, and what took the place of something that we made: nothing that
//! is not proven to be ours is ever removed, and nothing outside the shadow is touched.

use std::path::PathBuf;

use crate::common::Repo;
use crate::shadow_crash::kill_at_every_step;

/// A repository whose ignored folder `certs` is copied into each shadow.
fn with_copies() -> Repo {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("b", "0\n"),
        (".gitignore", "certs\n.env\nnode_modules/\ndatasets\n"),
        (".worktreeinclude", "certs/*\n.env\n"),
    ]);
    repo.write("certs/a.pem", "secret\n");
    repo
}

/// Makes the shadow `t`, whose `add` is killed in a set-up that did `first`.
#[track_caller]
fn half_made(repo: &Repo, first: &str, options: &str) -> Repo {
    repo.run(["config", "shadow.setup", &format!("{first}; kill -9 $PPID")])
        .ok();
    let outcome = repo.git(&format!("shadow add t {options}"));
    assert_ne!(outcome.code(), Some(0), "{outcome:?}");
    repo.git("config --unset-all shadow.setup").ok();
    repo.seen_at(place(repo))
}

fn place(repo: &Repo) -> PathBuf {
    repo.home().join(".worktrees/repo/t")
}

#[test]
fn a_folder_that_became_a_link_into_the_checkout_is_not_followed() {
    for command in [
        "shadow remove t",
        "shadow remove -y t",
        "shadow doctor --fix -y",
        "shadow prune -y",
        "shadow add t",
    ] {
        let repo = with_copies();
        let certs = repo.path("certs");
        let swap = format!("rm -r certs; ln -s '{}' certs", certs.display());
        half_made(&repo, &swap, "");
        repo.git(command);
        assert_eq!(repo.read("certs/a.pem"), "secret\n", "{command}");
    }
}

#[test]
fn a_copy_is_not_written_through_a_committed_link() {
    let repo = with_copies();
    let victim = repo.scene().join("victim");
    std::fs::create_dir(&victim).unwrap();
    repo.git("checkout -q -b evil").ok();
    std::fs::remove_dir_all(repo.path("certs")).unwrap();
    std::os::unix::fs::symlink(&victim, repo.path("certs")).unwrap();
    repo.git("add -f certs").ok();
    repo.git("commit -q -m evil").ok();
    repo.git("checkout -q main").ok();
    repo.write("certs/a.pem", "secret\n");
    let added = repo.git("shadow add t evil").ok();
    assert!(added.err().contains("left out certs/a.pem"), "{added:?}");
    assert!(!victim.join("a.pem").exists());
    std::fs::write(victim.join("a.pem"), "secret\n").unwrap();
    repo.git("shadow remove t").ok();
    assert!(victim.join("a.pem").exists());
}

#[test]
fn a_folder_in_the_place_of_a_link_is_work() {
    let repo = with_copies();
    repo.git("config shadow.link datasets").ok();
    repo.write("datasets/d", "d\n");
    let shadow = repo.shadow("t");
    assert!(shadow.path("datasets").is_symlink());
    std::fs::remove_file(shadow.path("datasets")).unwrap();
    shadow.write("datasets/result", "precious\n");
    assert_eq!(repo.refused("t"), ["ignored"]);
    repo.git("shadow remove -y t").ok();
    repo.git("shadow prune").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("datasets/result"), "precious\n");
    assert!(!shadow.path("datasets").is_symlink());
    assert!(!repo.exists("datasets/result"));
}

#[test]
fn a_repository_in_the_place_of_a_link_stays_out_of_the_checkout() {
    let repo = with_copies();
    repo.write("node_modules/x", "1\n");
    let shadow = repo.shadow("t");
    std::fs::remove_file(shadow.path("node_modules")).unwrap();
    shadow.git("init -q node_modules/fork").ok();
    shadow.write("node_modules/fork/w", "work\n");
    assert_eq!(repo.refused("t"), ["repositories"]);
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("node_modules/fork/w"), "work\n");
    assert!(!repo.exists("node_modules/fork"));
}

#[test]
fn work_in_a_half_made_shadow_is_asked_about() {
    let repo = with_copies();
    let shadow = half_made(&repo, "true", "--detach");
    shadow.git("rm -q b").ok();
    shadow.git("commit -q -m deleted").ok();
    let commit = shadow.oid("HEAD");
    shadow.write("a", "staged\n");
    shadow.git("add a").ok();
    shadow.write("a", "0\n");
    shadow.write("certs/a.pem", "mine\n");
    for command in ["shadow doctor --fix -y", "shadow remove t"] {
        repo.git(command).fails(1);
        assert_eq!(shadow.oid("HEAD"), commit, "{command}");
        shadow.git("diff --cached --name-only").ok().prints("a");
        assert_eq!(shadow.read("certs/a.pem"), "mine\n", "{command}");
    }
    assert_eq!(repo.refused("t"), ["changes", "copied", "commits"]);
    repo.git("shadow remove -y t").ok();
    repo.git("gc -q --prune=now").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.oid("HEAD"), commit);
    shadow.git("diff --cached --name-only").ok().prints("a");
    assert_eq!(shadow.read("certs/a.pem"), "mine\n");
}

#[test]
fn a_lock_of_the_user_holds_a_half_made_shadow() {
    let repo = with_copies();
    let shadow = half_made(&repo, "true", "");
    shadow.git("worktree unlock .").ok();
    shadow.git("worktree lock --reason keep .").ok();
    assert_eq!(repo.refused("-y t"), ["locked"]);
    repo.git("shadow doctor --fix -y").fails(1);
    repo.git("shadow prune -y").fails(1);
    assert!(shadow.exists("a"));
}

#[test]
fn an_absent_disk_takes_nothing_with_it() {
    for half in [true, false] {
        let repo = with_copies();
        let disk = repo.scene().join("disk");
        std::fs::create_dir(&disk).unwrap();
        let path = disk.join("t");
        let options = format!("--path '{}'", path.display());
        if half {
            half_made(&repo, "true", &options);
        } else {
            repo.shadow(&format!("t {options}"));
        }
        let shadow = repo.seen_at(&path);
        shadow.git("checkout -q --detach").ok();
        shadow.write("a", "work\n");
        shadow.git("commit -q -a -m work").ok();
        let away = repo.scene().join("away");
        std::fs::rename(&disk, &away).unwrap();
        for has_mount_point in [false, true] {
            if has_mount_point {
                std::fs::create_dir(&disk).unwrap();
            }
            repo.git("shadow doctor --fix -y").fails(1);
            repo.git("shadow prune -y").ok();
            repo.git("shadow remove -y t");
            assert_eq!(repo.shadows(), ["t"]);
            let wanted = if half { "broken" } else { "absent" };
            assert_eq!(repo.shown("t")["state"], wanted);
        }
        std::fs::remove_dir(&disk).unwrap();
        std::fs::rename(&away, &disk).unwrap();
        shadow.git("status --porcelain").ok().prints("");
    }
}

#[test]
fn somebody_elses_worktree_at_the_path_is_not_unmade() {
    let mut seen = 0;
    for step in 1..6 {
        let repo = Repo::with(&[("a", "0\n")]);
        repo.env("HARNESS_TEST_CRASH", step.to_string())
            .git("shadow add t");
        if place(&repo).exists() || repo.shadows() != ["t"] {
            continue;
        }
        seen += 1;
        repo.run([
            "worktree",
            "add",
            "-q",
            "-b",
            "mine",
            place(&repo).to_str().unwrap(),
        ])
        .ok();
        let worktree = repo.seen_at(place(&repo));
        repo.git("shadow doctor --fix -y").ok();
        assert_eq!(repo.shadows(), [] as [&str; 0]);
        worktree
            .git("status --porcelain --branch")
            .ok()
            .prints("## mine");
        assert_eq!(repo.branches(), ["main", "mine"]);
    }
    assert!(seen > 0);
}

#[test]
fn a_deleted_folder_leaves_commits_and_what_was_staged() {
    let repo = with_copies();
    let shadow = repo.shadow("t");
    shadow.git("checkout -q --detach").ok();
    shadow.write("a", "work\n");
    shadow.git("commit -q -a -m only").ok();
    let commit = shadow.oid("HEAD");
    shadow.write("b", "staged\n");
    shadow.git("add b").ok();
    std::fs::remove_dir_all(shadow.root()).unwrap();
    repo.git("shadow prune -y").ok();
    repo.has_no_trace_of_shadows();
    repo.git("gc -q --prune=now").ok();
    repo.git("shadow restore --list").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.oid("HEAD"), commit);
    assert_eq!(shadow.read("b"), "staged\n");
    shadow.git("status --porcelain").ok().prints("M  b");
    repo.fsck();
}

#[test]
fn what_is_kept_of_a_deleted_folder_expires() {
    let repo = with_copies();
    repo.git("config shadow.trashExpire now").ok();
    let shadow = repo.shadow("t");
    std::fs::remove_dir_all(shadow.root()).unwrap();
    repo.git("shadow prune -y").ok();
    repo.git("shadow prune").ok();
    let trash = repo.common_dir().join("harness/trash");
    let left = std::fs::read_dir(trash).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    repo.git("for-each-ref refs/harness/trash").ok().prints("");
}

#[test]
fn names_that_git_never_writes_stay_in_the_trash_and_come_back() {
    for name in ["git~1", ".GIT/x", ".git ", "sub/.git./y"] {
        let (repo, shadow) = one();
        shadow.write(name, "odd\n");
        shadow.write("new", "work\n");
        let kinds = repo.refused("t");
        assert!(kinds.contains(&"untracked".to_owned()), "{name}: {kinds:?}");
        repo.git("shadow remove -y t").ok();
        repo.git("shadow prune").ok();
        repo.fsck();
        repo.git("shadow restore t").ok();
        assert_eq!(shadow.read("new"), "work\n", "{name}");
        assert_eq!(shadow.read(name), "odd\n", "{name}");
    }
    let (repo, shadow) = one();
    std::os::unix::fs::symlink("x", shadow.path(".gitmodules")).unwrap();
    shadow.write("new", "work\n");
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("new"), "work\n");
    assert!(shadow.path(".gitmodules").is_symlink());
}

fn one() -> (Repo, Repo) {
    let repo = Repo::with(&[("a", "0\n")]);
    let shadow = repo.shadow("t");
    (repo, shadow)
}

#[test]
fn a_killed_restore_is_only_continued_by_a_restore() {
    let scene = with_copies();
    let shadow = scene.shadow("t");
    shadow.write("new", "work\n");
    shadow.chmod("new", 0o600);
    scene.git("shadow remove -y t").ok();
    scene.git("shadow prune").ok();
    let mut seen = 0;
    for step in 1..40 {
        let repo = scene.duplicate();
        repo.repair_worktrees(&scene);
        let restore = "shadow restore t --path ../home/.worktrees/repo/t";
        let outcome = repo
            .env("HARNESS_TEST_CRASH", step.to_string())
            .git(restore);
        if outcome.code() == Some(0) {
            break;
        }
        let shadow = repo.seen_at(place(&repo));
        if !shadow.exists("new") {
            continue;
        }
        seen += 1;
        let refused = repo.git("shadow add t").fails(128);
        assert!(
            refused.err().contains("git shadow restore t"),
            "{refused:?}"
        );
        repo.git("shadow doctor --fix -y");
        repo.git("shadow remove -y t");
        repo.git(restore).ok();
        assert_eq!(shadow.read("new"), "work\n", "step {step}");
        assert_eq!(shadow.mode("new"), 0o600, "step {step}");
    }
    assert!(seen > 3, "only {seen}");
}

#[test]
fn a_copy_whose_edit_kept_size_and_time_is_changed() {
    let repo = with_copies();
    repo.write(".env", "S=1\n");
    let shadow = repo.shadow("t");
    let file = shadow.path(".env");
    let time = std::fs::metadata(&file).unwrap().modified().unwrap();
    shadow.write(".env", "S=2\n");
    let opened = std::fs::File::options().write(true).open(&file).unwrap();
    opened.set_modified(time).unwrap();
    assert_eq!(repo.refused("t"), ["copied"]);
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read(".env"), "S=2\n");
}

#[test]
fn a_folder_that_cannot_be_moved_stays_as_it_is() {
    let repo = with_copies();
    let shadow = repo.shadow("t");
    shadow.write("new", "work\n");
    // A folder cannot be moved into itself.
    shadow.write("node_modules/x", "");
    let trash = place(&repo).parent().unwrap().join(".shadow-trash");
    std::os::unix::fs::symlink(shadow.path("node_modules"), &trash).unwrap();
    repo.git("shadow remove -y t").fails(128);
    assert_eq!(repo.shown("t")["state"], "dirty");
    assert_eq!(shadow.read("certs/a.pem"), "secret\n");
    repo.git("for-each-ref refs/harness/trash").ok().prints("");
    assert!(!shadow.git_dir().join("locked").exists());
    std::fs::remove_file(&trash).unwrap();
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("new"), "work\n");
}

#[test]
fn a_cut_removal_is_finished_whatever_stands_in_the_place() {
    let scene = with_copies();
    let shadow = scene.shadow("t");
    shadow.write("new", "work\n");
    let mut seen = 0;
    for step in 1..40 {
        let repo = scene.duplicate();
        repo.repair_worktrees(&scene);
        let outcome = repo
            .env("HARNESS_TEST_CRASH", step.to_string())
            .git("shadow remove -y t");
        if outcome.code() == Some(0) {
            break;
        }
        if repo.shadows() != ["t"] || repo.shown("t")["state"] != "broken" {
            continue;
        }
        seen += 1;
        // Before the folder was moved, somebody else deletes it.
        let _ = std::fs::remove_dir_all(place(&repo));
        repo.seen_at(place(&repo).parent().unwrap())
            .write("t/x", "other\n");
        match seen % 2 {
            0 => repo.git("shadow doctor --fix -y"),
            _ => repo.git("shadow remove -y t"),
        };
        assert_eq!(repo.shadows(), [] as [&str; 0], "step {step}");
        let there = repo.seen_at(place(&repo));
        assert_eq!(there.read("x"), "other\n");
        repo.git("shadow restore t --path ../back").ok();
        let back = repo.seen_at(repo.scene().join("back"));
        assert_eq!(back.read("new"), "work\n", "step {step}");
    }
    assert!(seen > 1, "only {seen}");
}

#[test]
fn a_repository_inside_starts_no_programs_of_its_own() {
    let (repo, shadow) = one();
    let mark = repo.scene().join("mark");
    shadow.git("init -q nest").ok();
    let nest = shadow.seen_at(shadow.path("nest"));
    nest.write(".gitattributes", "* filter=evil\n");
    nest.write("x", "0\n");
    nest.git("add -A").ok();
    nest.git("commit -q -m nest").ok();
    let touch = format!("touch '{}'; cat", mark.display());
    nest.run(["config", "filter.evil.clean", &touch]).ok();
    nest.run(["config", "core.fsmonitor", &touch]).ok();
    shadow.git("-c advice.addEmbeddedRepo=false add nest");
    shadow.git("commit -q -m gitlink").ok();
    nest.write("x", "1\n");
    let _ = std::fs::remove_file(&mark);
    for command in [
        "list",
        "show t",
        "diff t",
        "remove t",
        "doctor",
        "finish --keep t -m x",
    ] {
        repo.git(&format!("shadow {command}"));
        assert!(!mark.exists(), "{command}");
    }
    assert_eq!(repo.refused("t"), ["submodules"]);
}

#[test]
fn an_add_that_continues_says_what_it_was_told_otherwise() {
    let repo = with_copies();
    half_made(&repo, "true", "");
    let added = repo.git("shadow add t -b other").ok();
    assert!(added.err().contains("another branch needs"), "{added:?}");
    assert_eq!(repo.branches(), ["agent/t", "main"]);
}

#[test]
fn a_torn_record_is_a_broken_shadow() {
    let (repo, shadow) = one();
    shadow.write("new", "work\n");
    repo.write(".git/harness/shadows/t.json", "{torn");
    let list = repo.git("shadow list --json").ok().json();
    assert_eq!(list[0]["task"], "t");
    assert_eq!(list[0]["state"], "broken");
    let listed = repo.git("shadow list").ok();
    assert!(listed.out().starts_with("t  broken"), "{listed:?}");
    repo.git("shadow doctor --fix -y").fails(1);
    for command in ["add t", "remove t"] {
        let refused = repo.git(&format!("shadow {command}")).fails(128);
        assert!(refused.err().contains("cannot be read"), "{refused:?}");
    }
    assert_eq!(shadow.read("new"), "work\n");
}

#[test]
fn nothing_is_put_into_the_git_folder() {
    let (repo, _) = one();
    for command in ["add u --path .git/u", "move t .git/refs/heads/u"] {
        let refused = repo.git(&format!("shadow {command}")).fails(128);
        assert!(
            refused.err().contains("repository's own folder"),
            "{refused:?}"
        );
    }
    assert_eq!(repo.shadows(), ["t"]);
    assert_eq!(repo.branches(), ["agent/t", "main"]);
}

#[test]
fn a_lock_is_a_lock_whatever_its_reason() {
    let (repo, _) = one();
    repo.git("shadow lock t --reason 'git shadow is at work'")
        .ok();
    assert_eq!(repo.refused("-y t"), ["locked"]);
}

#[test]
fn no_restore_is_promised_where_nothing_is_kept() {
    let (repo, shadow) = one();
    repo.git("config shadow.trashExpire now").ok();
    shadow.write("new", "work\n");
    let refused = repo.git("shadow remove t").fails(1);
    assert!(refused.err().contains("for good"), "{refused:?}");
    let removed = repo.git("shadow remove -y t").ok();
    assert!(!removed.err().contains("restore"), "{removed:?}");
}

#[test]
fn an_exclude_file_that_is_a_link_stays_one() {
    let repo = with_copies();
    repo.write("node_modules/x", "1\n");
    let own = repo.scene().join("exclude");
    std::fs::write(&own, "*.mine\n").unwrap();
    let exclude = repo.common_dir().join("info/exclude");
    std::fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&exclude);
    std::os::unix::fs::symlink(&own, &exclude).unwrap();
    repo.shadow("t");
    assert!(exclude.is_symlink());
    let text = std::fs::read_to_string(&own).unwrap();
    assert!(
        text.contains("*.mine") && text.contains("/node_modules"),
        "{text}"
    );
    repo.git("shadow remove t").ok();
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "*.mine\n");
}

#[test]
fn a_finish_takes_the_head_of_a_repository_inside() {
    let (repo, shadow) = one();
    shadow.git("init -q nest").ok();
    let nest = shadow.seen_at(shadow.path("nest"));
    nest.git("commit -q --allow-empty -m one").ok();
    shadow.git("-c advice.addEmbeddedRepo=false add nest").ok();
    shadow.git("commit -q -m gitlink").ok();
    nest.git("commit -q --allow-empty -m two").ok();
    shadow.write("new", "work\n");
    repo.git("shadow finish --keep t -m x").ok();
    let nested = nest.oid("HEAD");
    repo.git("rev-parse agent/t:nest").ok().prints(&nested);
    repo.git("show agent/t:new").ok().prints("work");
}

#[test]
fn a_folder_that_was_moved_by_hand_is_found() {
    let (repo, shadow) = one();
    shadow.write("a", "staged\n");
    shadow.git("add a").ok();
    let new = repo.scene().join("mine");
    std::fs::rename(shadow.root(), &new).unwrap();
    let pruned = repo.git("shadow prune -y").ok();
    assert!(pruned.err().contains("mine"), "{pruned:?}");
    assert_eq!(repo.shadows(), ["t"]);
    repo.git("shadow doctor --fix -y").ok();
    assert_eq!(repo.shown("t")["state"], "dirty");
    let moved = repo.seen_at(&new);
    moved.git("status --porcelain").ok().prints("M  a");
}

#[test]
fn a_restore_that_git_writes_is_continued_too() {
    let scene = Repo::with(&[
        ("a.txt", "0\n"),
        (".gitattributes", "*.txt text eol=crlf\n"),
    ]);
    let shadow = scene.shadow("t");
    shadow.write("new.txt", "work\r\n");
    scene.git("shadow remove -y t").ok();
    scene.git("shadow prune").ok();
    let restore = "shadow restore t --path ../home/.worktrees/repo/t";
    let steps = kill_at_every_step(&scene, restore, |repo, step| {
        if repo.shadows() != ["t"] || repo.shown("t")["state"] != "dirty" {
            repo.git(restore).ok();
        }
        let shadow = repo.seen_at(place(repo));
        assert_eq!(shadow.read("a.txt"), "0\r\n", "step {step}");
        assert_eq!(shadow.read("new.txt"), "work\r\n", "step {step}");
        let status = shadow.git("status --porcelain").ok().out();
        assert_eq!(status, "?? new.txt", "step {step}");
    });
    assert!(steps > 5, "only {steps} steps");
}
