//! A `git gc --prune=now` at the worst moment: no published checkpoint lacks an
//! object. `HARNESS_TEST_AFTER_SCAN` and `HARNESS_TEST_AFTER_WRITE` name scripts
//! that run between the snapshot, its objects and its ref (debug builds).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::Repo;

/// Asserts that checkpoint `number` holds what is on disk now, with every object.
#[track_caller]
fn is_whole(repo: &Repo, number: usize, files: &[&str]) {
    for file in files {
        let name = format!("refs/harness/checkpoints/main/{number:03}:{file}");
        let stored = repo.run(["cat-file", "blob", &name]).ok().stdout;
        assert_eq!(stored, repo.bytes(file), "{file}");
    }
    repo.git("checkpoint fsck").ok();
    repo.git("fsck --strict --no-dangling").ok();
    assert!(!repo.sh("ls .git/objects/pack").ok().out().contains(".keep"));
}

/// Saves while `body` runs at `moment`, the first time that it comes.
#[track_caller]
fn save_while(repo: &Repo, moment: &str, body: &str) -> crate::common::Outcome {
    let once = repo.scene().join("once");
    let body = format!(
        // A user's own git, which the hostile configuration is not about.
        "test -e {0} && exit 0\ntouch {0}\ncd {1}\n\
         git() {{ command git -c core.hooksPath=/dev/null -c commit.gpgsign=false \"$@\"; }}\n{body}",
        once.display(),
        repo.root().display()
    );
    let script = repo.script("moment", &body);
    let outcome = repo.env(moment, script).git("checkpoint save");
    assert!(once.exists(), "the moment came");
    outcome
}

const GC: &str = "git gc -q --prune=now";

#[test]
fn what_a_gc_took_is_written_again() {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "1\n")]);
    repo.write("a", "2\n");
    repo.write("dir/new", "new\n");
    save_while(&repo, "HARNESS_TEST_AFTER_WRITE", GC)
        .ok()
        .prints("001");
    is_whole(&repo, 1, &["a", "dir/b", "dir/new"]);
}

#[test]
fn a_pack_of_ours_survives_a_gc() {
    let repo = Repo::with(&[("a", "1\n")]);
    let names: Vec<String> = (0..20).map(|n| format!("new{n}")).collect();
    for name in &names {
        repo.write(name, name);
    }
    save_while(&repo, "HARNESS_TEST_AFTER_WRITE", GC)
        .ok()
        .prints("001");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    is_whole(&repo, 1, &names);
}

#[test]
fn objects_of_the_index_are_proven_when_the_index_moved() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("staged", "staged\n");
    repo.git("add staged").ok();
    // The snapshot has the blob from the index; then nothing names it any more.
    let body = format!("git rm -q --cached staged\n{GC}");
    save_while(&repo, "HARNESS_TEST_AFTER_SCAN", &body)
        .ok()
        .prints("002");
    assert_eq!(repo.checkpoints(), ["refs/harness/checkpoints/main/002"]);
    is_whole(&repo, 2, &["a", "staged"]);
}

#[test]
fn objects_of_an_earlier_checkpoint_are_proven_when_that_is_gone() {
    let repo = Repo::with(&[("a", "1\n")]);
    let files = ["b", "c", "d"];
    for file in files {
        repo.write(file, format!("{file} is only here\n"));
        repo.git("checkpoint save -q").ok();
    }
    let body = format!(
        "git for-each-ref --format='delete %(refname)' refs/harness | git update-ref --stdin\n{GC}"
    );
    repo.write("e", "new\n");
    save_while(&repo, "HARNESS_TEST_AFTER_SCAN", &body).ok();
    assert_eq!(repo.checkpoints().len(), 1);
    let newest = repo.checkpoints().pop().unwrap();
    for file in files {
        let stored = repo.run(["cat-file", "blob", &format!("{newest}:{file}")]);
        assert_eq!(stored.ok().stdout, repo.bytes(file));
    }
    repo.git("checkpoint fsck").ok();
}

#[test]
fn while_a_gc_runs_everything_is_kept_in_a_pack() {
    let repo = Repo::with(&[("a", "1\n")]);
    let loose = |repo: &Repo| repo.git("count-objects").ok().out();
    let before = loose(&repo);
    repo.write("a", "2\n");
    repo.sh("echo 1 here >.git/gc.pid").ok();
    repo.git("checkpoint save").ok();
    assert_eq!(loose(&repo), before);
    // Begun only after the objects were written as single files.
    repo.remove(".git/gc.pid");
    repo.write("a", "3\n");
    let files = |repo: &Repo| repo.sh("find .git/objects/?? -type f").ok().out();
    let known = files(&repo);
    save_while(
        &repo,
        "HARNESS_TEST_AFTER_WRITE",
        "echo 1 here >.git/gc.pid",
    )
    .ok();
    // What a prune that has looked already would take.
    for file in files(&repo).lines().filter(|file| !known.contains(*file)) {
        repo.remove(file);
    }
    repo.remove(".git/gc.pid");
    is_whole(&repo, 2, &["a"]);
}

#[test]
fn what_cannot_be_saved_is_no_checkpoint() {
    let repo = Repo::with(&[("a", "1\n")]);
    let before = repo.fsck_and_refs();
    for name in ["staged1", "staged2", "staged3"] {
        repo.write(name, format!("{name}\n"));
    }
    repo.git("add .").ok();
    // Each of the three tries takes one more blob from the index, and a gc takes that
    // blob while nothing names it.
    let script = repo.script(
        "always",
        &format!(
            "cd {}\n\
             git() {{ command git -c core.hooksPath=/dev/null -c commit.gpgsign=false \"$@\"; }}\n\
             next=$(git ls-files 'staged*' | head -n 1)\n\
             git rm -q --cached \"$next\"\n{GC}\necho \"$next\" >>../tries",
            repo.root().display()
        ),
    );
    repo.env("HARNESS_TEST_AFTER_SCAN", script)
        .git("checkpoint save")
        .fails(128)
        .prints("")
        .says("fatal: a gc took objects of this checkpoint")
        .says("hint: ");
    assert_eq!(repo.read("../tries"), "staged1\nstaged2\nstaged3\n");
    // Neither a checkpoint nor its index state is left, and no number comes twice.
    assert_eq!(repo.fsck_and_refs(), before);
    assert_eq!(
        repo.git("checkpoint list --json").ok().json(),
        serde_json::json!([])
    );
    repo.git("checkpoint save").ok().prints("004");
    is_whole(&repo, 4, &["a", "staged1", "staged2", "staged3"]);
}

impl Repo {
    /// Asserts that the repository is sound; its refs, ours too.
    #[track_caller]
    fn fsck_and_refs(&self) -> String {
        self.fsck();
        self.git("for-each-ref").ok().out()
    }
}

#[test]
fn beside_a_loop_of_gc_no_checkpoint_lacks_an_object() {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "1\n")]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let gc = scope.spawn(|| {
            let mut count = 0;
            while !done.load(Ordering::SeqCst) {
                repo.git("gc -q --prune=now").ok();
                count += 1;
            }
            count
        });
        let savers: Vec<_> = (0..2)
            .map(|saver| {
                let repo = &repo;
                scope.spawn(move || {
                    for round in 0..20 {
                        let path = format!("dir/file{saver}");
                        repo.write(&path, format!("{saver} {round}\n"));
                        if round % 4 == 1 && saver == 0 {
                            // Named by the index for a moment only; git itself can
                            // lose its new file to the prune.
                            repo.run(["add", &path]);
                            repo.run(["rm", "-q", "--cached", "--ignore-unmatch", &path]);
                        }
                        if round % 7 == 6 {
                            repo.git("checkpoint drop @{0} -y -q");
                        }
                        let saved = repo.git("checkpoint save");
                        if saved.code() != Some(0) {
                            saved.fails(128).says("a gc took objects");
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = savers.into_iter().map(|saver| saver.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(gc.join().unwrap() > 2);
        for outcome in ended {
            outcome.unwrap();
        }
    });
    assert!(repo.checkpoints().len() > 30);
    repo.git("checkpoint fsck").ok();
    repo.git("fsck --strict --no-dangling").ok();
}
