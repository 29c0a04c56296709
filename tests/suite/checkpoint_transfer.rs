//! `git checkpoint export` and `import`: one file, and back.

use std::fs;

use crate::common::Repo;

/// A repository whose checkpoint 1 has history, a staged change and an untracked file.
fn source() -> Repo {
    let repo = Repo::with(&[("a", "1\n"), ("old", "of the first commit\n")]);
    repo.remove("old");
    repo.commit_all("second");
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.write("a", "on disk\n");
    repo.write("dir/new", "new\n");
    repo.git("checkpoint save -m here").ok();
    repo
}

#[test]
fn it_comes_back_in_another_repository() {
    let from = source();
    from.git("checkpoint export 1 -o ../one.bundle")
        .ok()
        .silent();
    let to = Repo::with(&[("unrelated", "mine\n")]);
    to.git("checkpoint save -q").ok();
    let bundle = from.scene().join("one.bundle");
    to.run(["checkpoint", "import", bundle.to_str().unwrap()])
        .ok()
        .silent()
        .prints("002");
    assert_eq!(to.tree_of(2), from.tree_of(1));
    let commit = from.oid("refs/harness/checkpoints/main/001");
    let imported = "refs/harness/checkpoints/main/002";
    assert_eq!(
        to.trailer(imported, "Harness-Imported"),
        [format!("{commit} main/001")]
    );
    assert_eq!(to.trailer(imported, "Harness-Number"), ["2"]);
    // The index state came along, the history did not.
    assert_eq!(
        to.git("cat-file -p refs/harness/indexes/main/002:0/a")
            .ok()
            .out(),
        "staged"
    );
    let old = from.oid("HEAD~:old");
    to.run(["cat-file", "-e", &old]).fails(1);
    to.git("fsck --strict --no-dangling").ok();
    to.git("checkpoint fsck").ok();
    to.git("gc -q --prune=now").ok();
    to.git("checkpoint fsck").ok();
    assert!(to.git("checkpoint list").ok().out().ends_with("here"));
    let shown = to.git("checkpoint show 2 --json").ok().json();
    assert_eq!(shown["imported"], format!("{commit} main/001"));
}

#[test]
fn git_reads_the_file_and_it_is_whole() {
    let from = source();
    let bundle = from.scene().join("one.bundle");
    let bundle = bundle.to_str().unwrap();
    from.run(["checkpoint", "export", "1", "--output", bundle])
        .ok();
    let to = Repo::new();
    let heads = to.run(["bundle", "list-heads", bundle]).ok().lines();
    let commit = from.oid("refs/harness/checkpoints/main/001");
    assert_eq!(
        heads[0],
        format!("{commit} refs/harness/checkpoints/main/001")
    );
    assert!(heads[1].ends_with(" refs/harness/indexes/main/001"));
    to.run(["bundle", "verify", "-q", bundle]).ok();
    to.run(["fetch", "-q", bundle, "+refs/harness/*:refs/there/*"])
        .ok();
    to.git("fsck --strict --no-dangling").ok();
    assert_eq!(to.oid("refs/there/checkpoints/main/001"), commit);
    // To standard output, the same.
    let piped = from.git("checkpoint export @{0}").ok().stdout;
    assert!(piped.starts_with(b"# v2 git bundle\n"));
    fs::write(bundle, piped).unwrap();
    to.run(["bundle", "verify", "-q", bundle]).ok();
}

#[test]
fn undo_restores_an_import_when_it_is_named_in_full() {
    let from = source();
    from.git("checkpoint export 1 -o ../one.bundle").ok();
    let to = Repo::with(&[("a", "1\n"), ("mine", "mine\n")]);
    let bundle = from.scene().join("one.bundle");
    to.git("checkpoint save -q").ok();
    to.write("a", "2\n");
    to.git("checkpoint save -q").ok();
    to.run(["checkpoint", "import", bundle.to_str().unwrap()])
        .ok();
    // The import is no step of this worktree: bare undo passes it over.
    to.git("checkpoint undo -y").ok();
    assert_eq!(to.read("a"), "1\n");
    to.git("checkpoint redo").ok();
    to.git("checkpoint undo 3 -y")
        .fails(1)
        .says("was taken in another worktree");
    to.git("checkpoint undo main/3 --no-head --others=ask")
        .fails(1);
    to.git("checkpoint undo main/3 --no-head -y").ok();
    assert_eq!(to.read("a"), "on disk\n");
    assert_eq!(to.read("dir/new"), "new\n");
    assert!(!to.exists("mine"));
    to.git("checkpoint redo").ok();
    assert_eq!(to.read("mine"), "mine\n");
}

#[test]
fn what_was_imported_is_no_evidence() {
    let from = source();
    from.git("checkpoint export 1 -o ../one.bundle").ok();
    let to = Repo::with(&[("a", "1\n")]);
    let bundle = from.scene().join("one.bundle");
    to.git("checkpoint save -q").ok();
    to.agent_writes("a", "2\n");
    to.run(["checkpoint", "import", bundle.to_str().unwrap()])
        .ok();
    to.git("checkpoint wrote a").ok();
    // Without the import nothing is asked, so with it nothing is.
    to.git("checkpoint undo 1").ok();
    assert_eq!(to.read("a"), "1\n");
}

#[test]
fn what_is_no_such_file_is_refused() {
    let repo = source();
    let import = |name: &str| {
        let path = repo.scene().join(name);
        repo.run(["checkpoint", "import", path.to_str().unwrap()])
            .fails(128)
    };
    import("missing").says("cannot open");
    fs::write(repo.scene().join("text"), "no bundle\n\nat all").unwrap();
    import("text").says("is no bundle of checkpoints");
    repo.git("bundle create -q ../branch main").ok();
    import("branch").says("it holds no checkpoint");
    repo.git("checkpoint export 1 -o ../whole").ok();
    let bytes = fs::read(repo.scene().join("whole")).unwrap();
    fs::write(repo.scene().join("cut"), &bytes[..bytes.len() - 30]).unwrap();
    import("cut").says("nothing was imported");
    let mut broken = bytes;
    let middle = broken.len() - 60;
    broken[middle] ^= 0xff;
    fs::write(repo.scene().join("broken"), broken).unwrap();
    import("broken").says("nothing was imported");
    assert_eq!(repo.checkpoints().len(), 1);
    let after = repo.git("count-objects -v").ok().out();
    assert!(after.contains("garbage: 0"), "{after}");
}

#[test]
fn a_tree_that_would_write_into_git_is_refused() {
    let evil = Repo::with(&[("a", "1\n")]);
    let blob = evil
        .feed("hash-object -w --stdin", "#!/bin/sh\nexit 1\n")
        .ok()
        .out();
    let hooks = evil
        .feed("mktree", format!("100755 blob {blob}\tpost-checkout\n"))
        .ok()
        .out();
    let git = evil
        .feed("mktree", format!("040000 tree {hooks}\thooks\n"))
        .ok()
        .out();
    // mktree itself refuses the name, so the tree is written by hand.
    let mut tree = b"40000 .git\0".to_vec();
    tree.extend(
        (0..git.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&git[at..at + 2], 16).unwrap()),
    );
    let tree = evil
        .feed("hash-object -t tree --literally -w --stdin", tree)
        .ok()
        .out();
    let message = "x\n\nHarness-Version: 1\nHarness-Number: 1\nHarness-Lane: main\n";
    let commit = evil
        .feed(&format!("commit-tree {tree}"), message)
        .ok()
        .out();
    let name = "refs/harness/checkpoints/main/001";
    evil.run(["update-ref", name, &commit]).ok();
    evil.run(["bundle", "create", "-q", "../evil", name]).ok();
    let to = Repo::with(&[("a", "1\n")]);
    let bundle = evil.scene().join("evil");
    to.run(["checkpoint", "import", bundle.to_str().unwrap()])
        .fails(128)
        .says("hasDotgit");
    assert!(to.checkpoints().is_empty());
}

#[test]
fn sha256_has_its_own_files() {
    let from = Repo::init("--object-format=sha256");
    from.write("a", "1\n");
    from.git("checkpoint save -q").ok();
    let bundle = from.scene().join("one");
    let bundle = bundle.to_str().unwrap();
    from.run(["checkpoint", "export", "1", "-o", bundle]).ok();
    from.run(["bundle", "verify", "-q", bundle]).ok();
    from.run(["checkpoint", "import", bundle])
        .ok()
        .prints("002");
    assert_eq!(from.tree_of(1), from.tree_of(2));
    let other = Repo::new();
    other
        .run(["checkpoint", "import", bundle])
        .fails(128)
        .says("its objects are named by sha256");
}
