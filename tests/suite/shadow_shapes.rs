//! Repositories of every shape.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::checkpoint_spelling::Blind;
use crate::common::{Repo, printed_path};
use crate::replay_journal::bytes_below;

/// Adds, works in, removes and restores a shadow; then removes it again.
#[track_caller]
fn whole_life(repo: &Repo) -> Repo {
    let shadow = repo.shadow("t");
    shadow.git("status --porcelain").ok().prints("");
    shadow.write("new file", "n\n");
    shadow.write("a", "changed\n");
    assert_eq!(repo.shown("t")["state"], "dirty");
    repo.git("shadow run -q t -- true").ok();
    let before = shadow.disk();
    repo.git("shadow remove -y t").ok();
    assert!(!shadow.root().exists());
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.disk(), before);
    assert_eq!(repo.shown("t")["state"], "dirty");
    repo.git("shadow finish t -m work -y").ok();
    repo.git("fsck --no-progress --no-dangling").ok();
    shadow
}

#[test]
fn sha256() {
    let repo = Repo::init("--object-format=sha256");
    repo.write("a", "0\n");
    repo.commit_all("base");
    whole_life(&repo);
}

#[test]
fn reftable() {
    let Some(repo) = Repo::reftable() else {
        return;
    };
    repo.write("a", "0\n");
    repo.commit_all("base");
    whole_life(&repo);
}

#[test]
fn a_bare_repository_with_worktrees() {
    let origin = Repo::with(&[("a", "0\n")]);
    origin.git("clone -q --bare . ../bare.git").ok();
    let bare = origin.seen_at(origin.scene().join("bare.git"));
    whole_life(&bare);
    assert!(bare.home().join(".worktrees/bare").exists());
}

#[test]
fn the_dot_bare_layout() {
    let origin = Repo::with(&[("a", "0\n")]);
    origin.git("clone -q --bare . ../project/.bare").ok();
    let project = origin.seen_at(origin.scene().join("project"));
    project.write(".git", "gitdir: ./.bare\n");
    project.git("worktree add -q main main").ok();
    let shadow = whole_life(&project.in_dir("main"));
    assert_eq!(shadow.root(), origin.home().join(".worktrees/project/t"));
}

#[test]
fn a_detached_head_and_anothers_branch() {
    let repo = Repo::with(&[("a", "0\n")]);
    let other = repo.worktree("other");
    other.commit_all("there");
    repo.git("checkout -q --detach").ok();
    repo.git("shadow add t other").ok();
    assert_eq!(repo.shown("t")["base"], other.oid("HEAD").as_str());
    repo.git("shadow add u").ok();
    repo.git("shadow merge u").fails(128).says("--into");
}

#[test]
fn from_a_subfolder_and_from_a_shadow() {
    let repo = Repo::with(&[("a", "0\n"), ("dir/b", "0\n")]);
    let shadow = repo.in_dir("dir").shadow("t");
    assert!(shadow.exists("dir/b"));
    let second = shadow.in_dir("dir").shadow("u");
    assert_eq!(second.root().parent(), shadow.root().parent());
    assert_eq!(shadow.shadows(), ["t", "u"]);
}

#[test]
fn inside_a_submodule_and_with_one() {
    let inner = Repo::with(&[("x", "x\n")]);
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git(&format!(
        "submodule add -q '{}' sub",
        inner.root().display()
    ))
    .ok();
    repo.commit_all("submodule");
    let shadow = repo.shadow("t");
    shadow.git("status --porcelain").ok().prints("");
    // Not initialised: nothing stands against it.
    repo.git("shadow remove t").ok();
    let shadow = repo.shadow("t");
    shadow.git("submodule update -q --init").ok();
    shadow.git("status --porcelain").ok().prints("");
    repo.git("shadow remove t").ok();
    let shadow = repo.shadow("t");
    shadow.git("submodule update -q --init").ok();
    let sub = shadow.in_dir("sub");
    sub.git("checkout -q -b work").ok();
    sub.write("x", "work\n");
    sub.git("commit -q -a -m inner").ok();
    let commit = sub.git("rev-parse HEAD").ok().out();
    assert!(repo.refused("t").contains(&"submodules".to_owned()));
    repo.git("shadow remove -y t").ok();
    repo.git("shadow prune").ok();
    let left = repo.git("shadow restore --list t").ok().out();
    assert!(left.contains("sub"), "{left}");
    // Run inside the submodule, its own repository is meant.
    let own = repo.in_dir("sub");
    let made = own.shadow("s");
    assert!(made.exists("x") && !made.exists("a"));
    let _ = commit;
}

#[test]
fn a_partial_clone() {
    let origin = Repo::with(&[("a", "0\n"), ("b", "0\n"), ("dir/c", "0\n")]);
    origin.write("a", "1\n");
    origin.write("dir/c", "1\n");
    origin.commit_all("second");
    origin.write("b", "2\n");
    origin.commit_all("third");
    origin.git("config uploadpack.allowFilter true").ok();
    let place = origin.scene().join("partial");
    let clone = ["clone", "-q", "--filter=blob:none"].map(OsStr::new);
    let from = format!("file://{}", origin.root().display());
    let to = [OsStr::new(&from), place.as_os_str()];
    origin.run(clone.into_iter().chain(to)).ok();
    let repo = origin.seen_at(&place);
    // An old base, whose blobs are not here: the checkout fetches them.
    let missing = |revision: &str| {
        let missing = repo
            .git(&format!("rev-list --objects --missing=print {revision}"))
            .ok();
        missing
            .lines()
            .iter()
            .filter(|line| line.starts_with('?'))
            .count()
    };
    assert!(missing("HEAD~2") > 0);
    let shadow = repo.shadow("t HEAD~2");
    shadow.git("status --porcelain").ok().prints("");
    assert_eq!(shadow.read("dir/c"), "0\n");
    shadow.write("new", "work\n");
    shadow.commit_all("work");
    assert_eq!(repo.shown("t")["state"], "clean");
    repo.git("shadow merge t").ok();
    repo.git("status --porcelain").ok().prints("");
    assert_eq!(
        (repo.read("new"), repo.read("b")),
        ("work\n".into(), "2\n".into())
    );
    // Removed and restored where the origin is out of reach.
    repo.git("config remote.origin.url /nonexistent").ok();
    shadow.write("new", "more\n");
    repo.git("shadow list").ok();
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("new"), "more\n");
    repo.git("shadow finish t -m more -y").ok();
    repo.git("shadow merge t --remove").ok();
    assert_eq!(repo.read("new"), "more\n");
    repo.has_no_trace_of_shadows();
}

#[test]
fn a_main_checkout_in_the_middle_of_a_rebase() {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    repo.git("checkout -q -b topic").ok();
    for number in 1..4 {
        repo.write("a", format!("topic {number}\n"));
        repo.commit_all(&format!("topic {number}"));
    }
    repo.git("checkout -q main").ok();
    repo.write("a", "main\n");
    repo.commit_all("main");
    repo.git("checkout -q topic").ok();
    repo.git("rebase -q main").fails(1);
    repo.write("b", "edited meanwhile\n");
    let state = || {
        let rebase = bytes_below(&repo.git_dir().join("rebase-merge"));
        let asked = ["status", "ls-files -s", "rev-parse HEAD main topic"];
        (
            rebase,
            asked.map(|asked| repo.git(asked).ok().out()),
            repo.read("a"),
        )
    };
    let before = state();
    // From where HEAD is, and from a branch that the rebase will move.
    let shadow = repo.shadow("t");
    let other = repo.shadow("u topic");
    assert_eq!(other.read("a"), "topic 3\n");
    for (task, shadow) in [("t", &shadow), ("u", &other)] {
        shadow.git("status --porcelain").ok().prints("");
        assert!(!shadow.git_dir().join("rebase-merge").exists());
        shadow.write("new", task);
        repo.git(&format!("shadow finish {task} -m {task}")).ok();
    }
    repo.git("shadow merge t").fails(128).says("--into");
    repo.git("shadow merge t --into topic").fails(128);
    assert_eq!(state(), before);
    // The rebase goes on as if nothing had been.
    repo.write("a", "solved\n");
    repo.git("add a").ok();
    repo.git("-c core.editor=true rebase --continue").fails(1);
    repo.git("rebase --abort").ok();
    assert_eq!(repo.read("a"), "topic 3\n");
    repo.git("checkout -q main").ok();
    repo.git("shadow merge t --into main --remove").ok();
    assert_eq!(repo.read("new"), "t");
    repo.fsck();
}

#[test]
fn sparse_patterns_are_inherited() {
    let repo = Repo::with(&[("a", "0\n"), ("in/b", "0\n"), ("out/c", "0\n")]);
    repo.git("sparse-checkout set in").ok();
    let shadow = repo.shadow("t");
    assert!(shadow.exists("in/b") && !shadow.exists("out"));
    shadow.git("status --porcelain").ok().prints("");
    repo.git("shadow remove t").ok();
    let full = repo.shadow("u --sparse=none");
    assert!(full.exists("out/c"));
    full.git("status --porcelain").ok().prints("");
    assert!(!repo.exists("out"), "ours stays sparse");
}

#[test]
fn filters_and_line_ends_are_gits() {
    let repo = Repo::with(&[
        (".gitattributes", "*.txt eol=crlf\n*.id ident\n"),
        ("a", "0\n"),
        ("l.txt", "x\n"),
        ("i.id", "$Id$\n"),
    ]);
    let shadow = whole_life(&repo);
    repo.git("shadow merge t").ok();
    let again = repo.shadow("u");
    assert_eq!(again.read("l.txt"), "x\r\n");
    assert!(again.read("i.id").len() > 10);
    drop(shadow);
}

#[test]
fn spaces_and_bytes_in_paths() {
    let repo = Repo::with(&[("a", "0\n"), ("sp ace/new\nline", "0\n")]);
    let odd = repo.scene().join(OsStr::from_bytes(b"pl \xff ace"));
    let added = repo
        .run([
            OsStr::new("shadow"),
            OsStr::new("add"),
            OsStr::new("t"),
            OsStr::new("--path"),
            odd.as_os_str(),
        ])
        .ok();
    assert_eq!(printed_path(&added.stdout), odd);
    let shadow = repo.seen_at(&odd);
    shadow.git("status --porcelain").ok().prints("");
    assert!(repo.shown("t")["path"]["bytes"].is_string());
    repo.git("shadow run -q t -- true").ok();
    shadow.write("n", "n\n");
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("n"), "n\n");
}

#[test]
fn a_parent_that_cannot_be_written() {
    let repo = Repo::with(&[("a", "0\n")]);
    let Some(user) = repo.for_whom_modes_count() else {
        return;
    };
    let parent = repo.scene().join("closed");
    std::fs::create_dir(&parent).unwrap();
    repo.chmod(&parent, 0o555);
    let before = (repo.fingerprint(), repo.worktrees());
    user.run([
        OsStr::new("shadow"),
        OsStr::new("add"),
        OsStr::new("t"),
        OsStr::new("--path"),
        parent.join("deep/t").as_os_str(),
    ])
    .fails(128);
    assert_eq!((repo.fingerprint(), repo.worktrees()), before);
    assert_eq!(repo.shadows(), [] as [&str; 0]);
    repo.chmod(&parent, 0o755);
}

#[test]
fn git_dir_in_the_environment() {
    let repo = Repo::with(&[("a", "0\n")]);
    let outside = repo
        .env("GIT_DIR", repo.git_dir())
        .env("GIT_WORK_TREE", repo.root())
        .in_dir(repo.home());
    let shadow = outside.shadow("t");
    shadow
        .without_env("GIT_DIR")
        .without_env("GIT_WORK_TREE")
        .git("status --porcelain")
        .ok()
        .prints("");
}

#[test]
fn the_worktree_config_extension() {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("config extensions.worktreeConfig true").ok();
    repo.git("config --worktree user.name Other").ok();
    whole_life(&repo);
}

#[test]
fn a_disk_without_room() {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.write("large", vec![b'x'; 2 << 20]);
    repo.commit_all("large");
    repo.git("clone -q --bare . ../bare.git").ok();
    // Without files of its own there is nothing to estimate by: the checkout fails.
    let bare = repo.seen_at(repo.scene().join("bare.git"));
    let Some(mount) = repo.mount("1m") else {
        return;
    };
    let before = (repo.fingerprint(), repo.worktrees());
    let refused = repo.git("shadow add t --path ../mount/t");
    let failed = bare.git("shadow add t --path ../mount/t");
    drop(mount);
    refused.fails(128).says("has room for");
    failed.fails(128);
    assert_eq!((repo.fingerprint(), repo.worktrees()), before);
    for place in [&repo, &bare] {
        assert_eq!(place.shadows(), [] as [&str; 0]);
        assert_eq!(
            (place.branches(), place.worktrees().len()),
            (vec!["main".to_owned()], 1)
        );
    }
}

/// On a disk that takes two spellings of a name for one file.
#[test]
fn a_disk_that_is_blind_to_case() {
    let Some(disk) = Blind::new() else { return };
    let repo = &disk.repo;
    repo.write("Readme", "one\n");
    repo.write("Dir/File", "x\n");
    repo.commit_all("base");
    let places = disk.mount().join("Shadows");
    repo.write(".git/info/exclude", "/Shadows/\n");
    let config = format!("{}/{{task}}", places.display());
    repo.run(["config", "shadow.path", &config]).ok();
    // Two tasks that this disk cannot tell apart by their names.
    let upper = repo.shadow("Fix-Login");
    repo.git("shadow add fix-login")
        .fails(128)
        .says("exists already");
    let lower = repo.shadow("fix-login -b second");
    assert_ne!(
        upper.root().to_string_lossy().to_lowercase(),
        lower.root().to_string_lossy().to_lowercase()
    );
    for (shadow, text) in [(&upper, "upper\n"), (&lower, "lower\n")] {
        shadow.write("Dir/File", text);
        shadow.write("new", text);
        shadow.sh("mv Readme x && mv x README").ok();
    }
    let (before, other) = (upper.disk(), lower.disk());
    repo.git("shadow remove -y Fix-Login").ok();
    assert!(!upper.root().exists());
    assert_eq!(lower.disk(), other, "the other one is untouched");
    repo.git("shadow restore Fix-Login").ok();
    assert_eq!(upper.disk(), before);
    repo.git("shadow finish fix-login -m work -y").ok();
    repo.git("shadow merge fix-login -y").ok();
    assert_eq!(repo.read("Dir/File"), "lower\n");
    assert_eq!(upper.disk(), before);
    repo.git("fsck --no-progress --no-dangling").ok();
}
