//! The matrix goes on: repositories of other kinds than one that was just made.
//! Clones, submodules, no commit yet, a git folder elsewhere.

use crate::checkpoint_matrix::{base, check, comes_back, same_tree_as_git};
use crate::common::Repo;

#[test]
fn unborn_branch() {
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.write("dir/b", "2\n");
    check(&repo);
}

#[test]
fn unborn_branch_with_staged_files() {
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.write("b", "2\n");
    repo.git("add a").ok();
    check(&repo);
}

#[test]
fn nothing_at_all() {
    same_tree_as_git(&Repo::new());
}

#[test]
fn orphan_branch() {
    let repo = base();
    repo.git("checkout -q --orphan fresh").ok();
    check(&repo);
}

#[test]
fn copied_repository() {
    let repo = base().duplicate();
    repo.write("a", "2\n");
    check(&repo);
}

#[test]
fn linked_worktree() {
    let repo = base().worktree("side");
    repo.write("a", "2\n");
    repo.write("new", "n\n");
    let tree = repo.oracle_tree();
    assert_eq!(repo.save("")["tree"], tree.as_str());
}

#[test]
fn separate_git_dir() {
    let repo = Repo::init("--separate-git-dir ../apart");
    repo.write("a", "1\n");
    repo.commit_all("base");
    repo.write("a", "2\n");
    check(&repo);
}

#[test]
fn objects_borrowed_from_another_repository() {
    let origin = base();
    let repo = Repo::outside();
    repo.git(&format!("clone -q --shared {} .", origin.root().display()))
        .ok();
    repo.write("a", "2\n");
    repo.write("new", "n\n");
    check(&repo);
}

#[test]
fn shallow_clone() {
    let origin = base();
    origin.write("a", "2\n");
    origin.commit_all("second");
    let repo = Repo::outside();
    repo.git(&format!(
        "clone -q --depth 1 file://{} .",
        origin.root().display()
    ))
    .ok();
    repo.write("b", "changed\n");
    check(&repo);
}

/// A clone without the blobs of history, whose origin is gone.
fn partial_clone(filter: &str) -> Repo {
    let origin = base();
    origin.write("history", "old\n");
    origin.commit_all("old");
    origin.write("history", "new\n");
    origin.commit_all("new");
    origin.git("config uploadpack.allowFilter true").ok();
    let repo = Repo::outside();
    repo.git(&format!(
        "clone -q --filter={filter} file://{} .",
        origin.root().display()
    ))
    .ok();
    repo
}

#[test]
fn partial_clone_without_network() {
    for filter in ["blob:none", "tree:0"] {
        let repo = partial_clone(filter);
        repo.write("a", "changed\n");
        repo.write("new", "n\n");
        let tree = repo.oracle_tree();
        assert_eq!(repo.save("")["tree"], tree.as_str(), "{filter}");
        repo.write("a", "spoilt\n");
        repo.remove("b");
        repo.git("checkpoint undo -y").ok();
        assert_eq!(repo.read("a"), "changed\n");
        assert_eq!(repo.read("b"), "2\n");
    }
}

#[test]
fn submodules() {
    let origin = base();
    let repo = base();
    let url = format!("file://{}", origin.root().display());
    for path in ["sub", "dir/sub-too"] {
        repo.run(["submodule", "--quiet", "add", &url, path]).ok();
    }
    repo.commit_all("submodules");
    repo.write("sub/a", "dirty inside\n");
    repo.sh("git -C dir/sub-too commit -q --allow-empty -m more")
        .ok();
    check(&repo);
}

#[test]
fn submodule_not_checked_out() {
    let origin = base();
    let upstream = base();
    let url = format!("file://{}", origin.root().display());
    upstream
        .run(["submodule", "--quiet", "add", &url, "sub"])
        .ok();
    upstream.commit_all("submodule");
    let repo = Repo::outside();
    repo.git(&format!("clone -q {} .", upstream.root().display()))
        .ok();
    repo.write("a", "2\n");
    check(&repo);
}

/// Not git's tree: what the user's own rules convert is kept as it is on disk, since no
/// checkpoint holds those rules.
#[test]
fn attributes_from_the_users_own_file() {
    let repo = base();
    repo.write("../home/attributes", "*.txt text eol=crlf\n");
    repo.run(["config", "--global", "core.attributesFile", "~/attributes"])
        .ok();
    repo.write("x.txt", "1\r\n");
    let saved = repo.save("");
    let name = format!("{}:x.txt", saved["tree"].as_str().unwrap());
    assert_eq!(repo.run(["cat-file", "blob", &name]).ok().stdout, b"1\r\n");
    comes_back(&repo);
}

/// Not byte for byte: with `core.fileMode=false` an executable bit on disk means nothing.
#[test]
fn executable_bits_not_trusted() {
    let repo = base();
    repo.git("config core.fileMode false").ok();
    repo.chmod("a", 0o755);
    repo.chmod("run.sh", 0o644);
    repo.write("b", "changed\n");
    repo.chmod("b", 0o755);
    repo.write("new", "n\n");
    repo.chmod("new", 0o755);
    same_tree_as_git(&repo);
}
