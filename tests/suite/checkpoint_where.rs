//! Wherever git works, checkpoints work: sub-folders, hooks, GIT_DIR, linked
//! worktrees and their lanes, unborn and detached HEADs, sha256, reftable.

use crate::common::Repo;

fn small() -> Repo {
    Repo::with(&[("a", "1\n"), ("dir/b", "2\n")])
}

/// Saves, edits, undoes; the tree is git's own, the content comes back.
#[track_caller]
fn round_trip(repo: &Repo) {
    repo.write("a", "mine\n");
    repo.write("fresh", "f\n");
    let oracle = repo.oracle_tree();
    let disk = repo.disk();
    assert_eq!(repo.save("")["tree"], oracle.as_str());
    repo.write("a", "spoilt\n");
    repo.remove("fresh");
    repo.git("checkpoint undo -y").ok();
    assert_eq!(repo.disk(), disk);
    repo.fsck();
}

#[test]
fn in_the_main_worktree() {
    round_trip(&small());
}

#[test]
fn on_an_unborn_branch() {
    let repo = Repo::new();
    round_trip(&repo);
    let saved = repo.git("checkpoint list --json").ok().json();
    assert_eq!(saved[0]["lane"], "main");
}

#[test]
fn with_a_detached_head() {
    let repo = small();
    repo.git("checkout -q --detach").ok();
    round_trip(&repo);
}

#[test]
fn in_a_sha256_repository() {
    let repo = Repo::init("--object-format=sha256");
    repo.write("a", "1\n");
    repo.commit_all("base");
    round_trip(&repo);
    assert_eq!(repo.tree_of(1).len(), 64);
}

#[test]
fn in_a_reftable_repository() {
    let Some(repo) = Repo::reftable() else {
        return;
    };
    repo.write("a", "1\n");
    repo.commit_all("base");
    round_trip(&repo);
    assert_eq!(repo.checkpoints().len(), 2, "git itself sees both");
}

#[test]
fn with_worktree_configuration() {
    let repo = small();
    repo.git("config extensions.worktreeConfig true").ok();
    repo.git("config --worktree checkpoint.maxFileSize 10").ok();
    repo.write("big", "more than ten bytes");
    assert_eq!(repo.save("")["skipped"][0]["path"], "big");
    repo.remove("big");
    round_trip(&repo.worktree("side"));
}

#[test]
fn with_git_dir_and_work_tree_in_the_environment() {
    let repo = small();
    let elsewhere = Repo::outside();
    let pointed = elsewhere
        .env("GIT_DIR", repo.root().join(".git"))
        .env("GIT_WORK_TREE", repo.root());
    repo.write("a", "2\n");
    let oracle = repo.oracle_tree();
    pointed.git("checkpoint save").ok().prints("001");
    assert_eq!(repo.tree_of(1), oracle);
    let options = format!(
        "--git-dir={0}/.git --work-tree={0} checkpoint save",
        repo.root().display()
    );
    elsewhere.git(&options).ok().prints("002");
    assert_eq!(repo.tree_of(2), oracle);
}

#[test]
fn with_git_minus_capital_c() {
    let repo = small();
    let outside = Repo::outside();
    outside
        .run(["-C", repo.path("dir").to_str().unwrap(), "checkpoint"])
        .ok()
        .prints("001");
    assert_eq!(repo.tree_of(1), repo.oracle_tree());
}

#[test]
fn from_inside_a_hook() {
    let repo = small();
    repo.script(
        "pre-commit",
        "git checkpoint save -m 'in a hook' >\"$HOME/number\" && git checkpoint list >/dev/null",
    );
    repo.sh("cp ../pre-commit .git/hooks/").ok();
    repo.write("a", "committed\n");
    repo.write("b", "not committed\n");
    let oracle = repo.oracle_tree();
    // `commit a` gives hooks an index of their own in GIT_INDEX_FILE.
    repo.git("commit -q -m x a").ok();
    assert_eq!(
        std::fs::read_to_string(repo.home().join("number")).unwrap(),
        "001\n"
    );
    assert_eq!(repo.tree_of(1), oracle);
    assert_eq!(repo.git("status --porcelain").ok().out(), "?? b");
    repo.fsck();
}

#[test]
fn the_whole_tree_also_from_a_sub_folder() {
    let repo = small();
    repo.write("a", "2\n");
    let disk = repo.disk();
    let below = repo.in_dir("dir");
    below.git("checkpoint save").ok();
    repo.write("a", "3\n");
    repo.write("dir/b", "3\n");
    below.git("checkpoint undo").ok();
    assert_eq!(repo.disk(), disk);
}

#[test]
fn each_worktree_has_its_lane() {
    let repo = small();
    let side = repo.worktree("side");
    side.write("a", "side\n");
    repo.git("checkpoint").ok().prints("001");
    side.git("checkpoint").ok().prints("001");
    side.git("checkpoint").ok().prints("002");
    assert_eq!(
        repo.checkpoints(),
        ["main/001", "side/001", "side/002"].map(|r| format!("refs/harness/checkpoints/{r}"))
    );
    assert_eq!(
        repo.git("checkpoint list --json")
            .ok()
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let all = repo.git("checkpoint list --all --json").ok().json();
    assert_eq!(all.as_array().unwrap().len(), 3);
    let lane = repo.git("checkpoint list --lane side --json").ok().json();
    assert_eq!(lane.as_array().unwrap().len(), 2);
}

fn lane_of(repo: &Repo) -> String {
    repo.save("")["lane"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_suffixed(lane: &str, name: &str) {
    let suffix = lane.strip_prefix(&format!("{name}-")).unwrap_or_default();
    assert!(
        suffix.len() == 6 && suffix.bytes().all(|b| b.is_ascii_hexdigit()),
        "'{lane}' is not '{name}-<6 hex>'"
    );
}

#[test]
fn a_linked_worktree_called_main_gets_another_lane() {
    let repo = small();
    let root = repo.scene().join("main");
    repo.git(&format!("worktree add -q --detach {}", root.display()))
        .ok();
    let linked = repo.in_dir(&root);
    assert_suffixed(&lane_of(&linked), "main");
    assert_eq!(lane_of(&repo), "main");
}

#[test]
fn a_name_given_again_gets_another_lane() {
    let repo = small();
    let first = repo.worktree("task");
    assert_eq!(lane_of(&first), "task");
    repo.git("worktree remove --force task").ok();
    repo.git("branch -q -D task").ok();
    let second = repo.worktree("task");
    assert_suffixed(&lane_of(&second), "task");
    assert_eq!(lane_of(&second), lane_of(&second));
    assert_eq!(
        repo.checkpoints().len(),
        4,
        "the removed worktree's lane stays"
    );
}

#[test]
fn an_odd_folder_name_becomes_a_valid_lane() {
    let repo = small();
    for name in [
        "with space",
        "dots..dots",
        "x.lock",
        ".hidden",
        "a~b^c:d?e*f[g",
    ] {
        let root = repo.scene().join(name);
        repo.run(["worktree", "add", "-q", "--detach", root.to_str().unwrap()])
            .ok();
        let saved = repo.in_dir(&root).save("");
        repo.run(["check-ref-format", saved["ref"].as_str().unwrap()])
            .ok();
    }
    repo.fsck();
}

#[test]
fn a_moved_worktree_keeps_its_lane() {
    let repo = small();
    let side = repo.worktree("side");
    assert_eq!(lane_of(&side), "side");
    let root = repo.scene().join("moved");
    repo.git(&format!("worktree move side {}", root.display()))
        .ok();
    assert_eq!(lane_of(&repo.in_dir(&root)), "side");
}

#[test]
fn another_worktrees_checkpoint_is_not_restored_by_accident() {
    let repo = small();
    let side = repo.worktree("side");
    side.write("a", "side\n");
    side.save("");
    let before = repo.disk();
    repo.git("checkpoint undo side/1").fails(1);
    assert_eq!(repo.disk(), before);
}
