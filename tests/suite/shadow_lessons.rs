//! What went wrong in other tools, each as a test that it does not here.

use std::fs;

use crate::common::Repo;

fn scene() -> (Repo, Repo) {
    let repo = Repo::with(&[("a", "0\n"), (".gitignore", "/cache*/\n/linked\n.env\n")]);
    let shadow = repo.shadow("t");
    (repo, shadow)
}

#[test]
fn a_cache_folder_goes_silently_unless_it_holds_a_repository() {
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
    let (repo, shadow) = scene();
    shadow.write("cache1/CACHEDIR.TAG", tag);
    shadow.write("cache1/deep/file", "made again\n");
    repo.git("shadow remove t").ok();
    let shadow = repo.shadow("t");
    // A file of that name alone proves nothing.
    shadow.write("cache2/CACHEDIR.TAG", "mine\n");
    assert_eq!(repo.refused("t"), ["ignored"]);
    shadow.write("cache2/CACHEDIR.TAG", tag);
    shadow.git("init -q cache2/deep/inner").ok();
    shadow.write("cache2/deep/inner/work", "only here\n");
    assert!(repo.refused("t").contains(&"repositories".to_owned()));
}

#[test]
fn a_command_in_a_shadow_has_the_shadows_repository_and_names_of_its_own() {
    let (repo, shadow) = scene();
    repo.shadow("u");
    let asks = "git rev-parse --show-toplevel; echo $COMPOSE_PROJECT_NAME; echo $TMPDIR";
    let misled = repo
        .env("GIT_DIR", repo.git_dir())
        .env("GIT_WORK_TREE", repo.root())
        .env("GIT_INDEX_FILE", repo.git_dir().join("index"))
        .env("COMPOSE_PROJECT_NAME", "mine");
    let said = |task: &str| {
        misled
            .run(["shadow", "run", "-q", task, "--", "sh", "-c", asks])
            .ok()
            .lines()
    };
    let (t, u) = (said("t"), said("u"));
    assert_eq!(t[0], shadow.root().display().to_string());
    assert!(t[1] != u[1] && t[1] != "mine", "{t:?} {u:?}");
    assert!(t[2] != u[2], "{t:?} {u:?}");
}

#[test]
fn no_upstream_is_written_and_a_gone_one_is_no_merge() {
    let origin = Repo::with(&[("a", "0\n")]);
    origin.git("clone -q . ../clone").ok();
    let repo = origin.seen_at(origin.scene().join("clone"));
    let shadow = repo.shadow("t origin/main");
    repo.git("config branch.agent/t.merge").fails(1);
    shadow.write("a", "work\n");
    shadow.commit_all("work");
    shadow.git("push -q -u origin agent/t").ok();
    origin.git("branch -D agent/t").ok();
    repo.git("fetch -q --prune").ok();
    assert_eq!(repo.git("shadow prune --merged -n").ok().out(), "");
    repo.git("shadow remove t")
        .ok()
        .says("kept the branch agent/t");
    assert!(repo.branches().contains(&"agent/t".to_owned()));
}

#[test]
fn looking_writes_no_object() {
    let (repo, shadow) = scene();
    shadow.write("a", "in the shadow\n");
    shadow.commit_all("work");
    repo.write("a", "in main\n");
    repo.commit_all("main");
    shadow.write("new", "not committed\n");
    let objects = || repo.git("count-objects -v").ok().out();
    let before = objects();
    for look in [
        "list -v",
        "list --json",
        "show t",
        "diff t",
        "remove -n t",
        "merge -n t",
    ] {
        repo.git(&format!("shadow {look}"));
        assert_eq!(objects(), before, "{look}");
    }
}

#[test]
fn what_a_link_points_at_survives() {
    let (repo, shadow) = scene();
    let outside = repo.scene().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "p\n").unwrap();
    shadow.link(&outside, "linked");
    shadow.link(&outside, "cache1/CACHEDIR");
    shadow.link(&outside, "node_modules/pkg");
    shadow.link(&outside, "untracked");
    repo.git("shadow remove -y t").ok();
    repo.git("shadow prune").ok();
    assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "p\n");
    repo.git("shadow restore t").ok();
    assert_eq!(shadow.read("untracked/precious"), "p\n");
    assert_eq!(shadow.read("linked/precious"), "p\n");
}

#[test]
fn the_base_is_an_id_and_never_read_again() {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("branch start").ok();
    let shadow = repo.shadow("t start");
    let base = repo.oid("start");
    shadow.write("a", "work\n");
    shadow.commit_all("work");
    // The name it began at moves, past its work even, and goes.
    repo.git("branch -f start agent/t").ok();
    assert_eq!(repo.shown("t")["base"], base.as_str());
    assert!(repo.git("shadow diff t").ok().out().contains("+work"));
    repo.git("branch -D start").ok();
    assert_eq!(repo.shown("t")["base"], base.as_str());
    shadow.git("checkout -q --detach").ok();
    repo.git("branch -D agent/t").ok();
    assert!(repo.refused("t").contains(&"commits".to_owned()));
}

#[test]
fn a_named_link_is_copied_as_a_link() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (".gitignore", ".env\n"),
        (".worktreeinclude", ".env\n"),
    ]);
    repo.link("a", ".env");
    let shadow = repo.shadow("t");
    assert_eq!(
        fs::read_link(shadow.path(".env")).unwrap().to_str(),
        Some("a")
    );
    repo.git("shadow remove t").ok();
    assert_eq!(repo.read("a"), "0\n");
}

#[test]
fn a_removal_that_fails_is_final() {
    let (repo, shadow) = scene();
    shadow.write("a", "work\n");
    let Some(user) = repo.for_whom_modes_count() else {
        return;
    };
    let parent = shadow.root().parent().unwrap().to_owned();
    repo.chmod(&parent, 0o555);
    user.git("shadow remove -y t").fails(128);
    repo.chmod(&parent, 0o755);
    assert_eq!(shadow.read("a"), "work\n");
    assert_eq!(repo.shown("t")["state"], "dirty");
    repo.git("shadow remove -y t").ok();
}
