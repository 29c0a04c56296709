//! `undo --index`: the index of then, with the stages of a conflict and the flags
//! that no tree holds, as git itself lists them.

use crate::common::{Outcome, Repo};

/// All that git says of the index but the stat data of its files: mode, id, stage, the
/// flags as letters, and the flags as bits (only those tell intent-to-add).
#[track_caller]
fn listed(repo: &Repo) -> Vec<String> {
    let mut lines = repo.git("ls-files -s -v").ok().lines();
    let debug = repo.git("ls-files --debug").ok().lines();
    lines.extend(
        debug
            .into_iter()
            .filter_map(|line| match line.split_once("flags: ") {
                Some((_, flags)) => Some(format!("flags {flags}")),
                None => (!line.starts_with("  ")).then_some(line),
            }),
    );
    lines
}

/// A merge with two conflicts, files with every flag, a staged and an unstaged change.
fn everything(repo: &Repo) {
    for path in ["a", "b", "c", "d", "e", "f", "g"] {
        repo.write(path, "1\n");
    }
    repo.commit_all("base");
    repo.git("checkout -q -b other").ok();
    repo.write("a", "theirs\n");
    repo.remove("e");
    repo.commit_all("theirs");
    repo.git("checkout -q main").ok();
    repo.write("a", "ours\n");
    repo.write("e", "ours\n");
    repo.commit_all("ours");
    repo.git("merge -q other").fails(1);
    repo.write("intended", "to be added\n");
    repo.git("add -N intended").ok();
    repo.git("update-index --assume-unchanged b").ok();
    repo.git("update-index --skip-worktree c").ok();
    repo.write("d", "staged\n");
    repo.git("add d").ok();
    repo.write("d", "on disk\n");
}

/// Takes a checkpoint of all that, makes everything of the index another, and goes there
/// and back.
#[track_caller]
fn comes_back_in(repo: &Repo) {
    everything(repo);
    let (then, disk) = (listed(repo), repo.disk());
    for stage in ["1\ta", "2\ta", "3\ta", "1\te", "2\te"] {
        assert!(then.iter().any(|line| line.ends_with(stage)), "{then:#?}");
    }
    for start in ["h ", "S ", "flags 20004000"] {
        assert!(then.iter().any(|line| line.starts_with(start)), "{then:#?}");
    }
    repo.save("");
    repo.git("update-index --no-assume-unchanged b").ok();
    repo.git("update-index --no-skip-worktree c").ok();
    repo.write("later", "staged later\n");
    repo.git("add -A").ok();
    repo.git("update-index --assume-unchanged f").ok();
    repo.git("update-index --skip-worktree g").ok();
    let later = listed(repo);
    assert_ne!(then, later);

    repo.git("checkpoint undo 1 --index -y").ok();
    assert_eq!(listed(repo), then);
    assert_eq!(repo.disk(), disk);
    repo.git("checkpoint redo -y").ok();
    assert_eq!(listed(repo), later);
    assert_eq!(repo.read("later"), "staged later\n");
    repo.fsck();
    repo.git("checkpoint fsck").ok();
}

#[test]
fn every_stage_and_flag_comes_back() {
    comes_back_in(&Repo::new());
}

#[test]
fn every_stage_and_flag_comes_back_in_sha256() {
    comes_back_in(&Repo::init("--object-format=sha256"));
}

#[test]
fn every_stage_and_flag_comes_back_in_reftable() {
    if let Some(repo) = Repo::reftable() {
        comes_back_in(&repo);
    }
}

#[test]
fn a_merge_can_be_concluded_from_what_came_back() {
    let repo = Repo::new();
    everything(&repo);
    repo.save("");
    repo.git("checkout -q --ours a e").ok();
    repo.git("add a e").ok();
    repo.git("checkpoint undo 1 --index -y").ok();
    assert_eq!(
        repo.git("diff --name-only --diff-filter=U").ok().lines(),
        ["a", "e"]
    );
    // git itself finds both sides and their base again.
    repo.git("checkout -q --theirs a").ok();
    assert_eq!(repo.read("a"), "theirs\n");
    repo.git("checkout -q --merge a").ok();
    assert!(repo.read("a").contains("<<<<<<<"));
}

#[test]
fn a_file_that_was_only_intended_is_so_again() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("new", "n\n");
    repo.git("add -N new").ok();
    let status = repo.git("status --porcelain=v2").ok().out();
    repo.save("");
    repo.git("add new").ok();
    assert_ne!(repo.git("status --porcelain=v2").ok().out(), status);
    repo.git("checkpoint undo 1 --index").ok();
    assert_eq!(repo.git("status --porcelain=v2").ok().out(), status);
}

#[test]
fn only_what_differs_is_written() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.save("");
    // With nothing to change the index file is not written at all.
    let user = repo.fingerprint();
    repo.git("checkpoint undo 1 --index").ok();
    assert_eq!(repo.fingerprint(), user);
    // And where one entry differs, the stat data of the others stays: git need not
    // look at their files again.
    let stat = |repo: &Repo| repo.git("ls-files --debug b").ok().out();
    let before = stat(&repo);
    repo.git("reset -q").ok();
    repo.git("checkpoint undo 1 --index").ok();
    assert_eq!(stat(&repo), before);
    assert_eq!(repo.git("cat-file blob :a").ok().out(), "staged");
}

#[test]
fn a_pathspec_is_refused_before_anything() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.agent_writes("a", "2\n");
    repo.git("add a").ok();
    let before = (repo.disk(), repo.fingerprint(), repo.checkpoints());
    let refused = |outcome: Outcome| {
        outcome
            .fails(128)
            .says("fatal: the index and HEAD go back as a whole")
            .says("hint: ");
        assert_eq!(
            (repo.disk(), repo.fingerprint(), repo.checkpoints()),
            before
        );
    };
    refused(repo.git("checkpoint undo 1 --index -y -- a"));
    refused(repo.git("checkpoint undo 1 --head -y -- a"));
    refused(repo.git("checkpoint undo --index -- ."));
}
