//! No command of ours runs a hook of the user's, whatever it does to refs, index and
//! HEAD: each of git's hooks leaves a mark here, and fails.

use crate::common::Repo;

/// Every hook of githooks(5).
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// A repository where every hook leaves its name in `../mark` and refuses.
fn hooked(repo: Repo) -> Repo {
    repo.write("a", "0\n");
    repo.write("b", "0\n");
    repo.commit_all("base");
    let hooks = repo.scene().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    let mark = repo.scene().join("mark");
    for hook in HOOKS {
        let body = format!("echo {hook} \"$@\" >>'{}'\nexit 1", mark.display());
        repo.script(&format!("hooks/{hook}"), &body);
    }
    repo.run(["config", "core.hooksPath", hooks.to_str().unwrap()])
        .ok();
    repo
}

/// The hooks that have run since the last time.
fn fired(repo: &Repo) -> String {
    let mark = repo.scene().join("mark");
    let fired = std::fs::read_to_string(&mark).unwrap_or_default();
    let _ = std::fs::remove_file(mark);
    fired
}

/// Runs git as the user does who wants no hook.
#[track_caller]
fn unhooked(repo: &Repo, arguments: &str) {
    repo.git(&format!("-c core.hooksPath=/dev/null {arguments}"))
        .ok();
}

/// Everything that changes something.
fn a_day(repo: &Repo) {
    let quiet = |arguments: &str| {
        let outcome = repo.git(&format!("checkpoint {arguments}"));
        assert_eq!(fired(repo), "", "git checkpoint {arguments}\n{outcome:?}");
        outcome
    };
    repo.write("a", "staged\n");
    unhooked(repo, "add a");
    repo.write("a", "on disk\n");
    quiet("save -m first").ok();
    repo.write("new", "n\n");
    unhooked(repo, "add -A");
    unhooked(repo, "commit -q -m more");
    unhooked(repo, "update-index --assume-unchanged b");
    quiet("undo 1 --head --index -y").ok();
    quiet("redo -y").ok();
    unhooked(repo, "checkout -q -b other");
    quiet("undo 1 --head -y").ok();
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/main");
    quiet("run --allow b -- sh -c 'echo 1 >a; echo 1 >b'").fails(1);
    quiet("run --test false -- sh -c 'echo 2 >b'").fails(1);
    quiet("wrote a").ok();
    quiet("list --all").ok();
    quiet("show 1 --stat").ok();
    quiet("diff 1 --stat").ok();
    quiet("status").ok();
    quiet("fsck").ok();
    quiet("export 1 -o ../bundle").ok();
    let bundle = repo.scene().join("bundle");
    quiet(&format!("import '{}'", bundle.display())).ok();
    quiet("drop 2 -y").ok();
    quiet("prune --keep 1 -y").ok();
    quiet("prune --auto").ok();
    repo.fsck();
}

#[test]
fn none_fires() {
    let repo = hooked(Repo::new());
    // They would: this is what the user's own git does.
    repo.git("branch another").fails(128);
    assert!(fired(&repo).contains("reference-transaction"));
    a_day(&repo);
}

#[test]
fn none_fires_where_git_does_our_refs() {
    if let Some(repo) = Repo::reftable() {
        a_day(&hooked(repo));
    }
}

#[test]
fn none_fires_when_refs_and_objects_are_packed() {
    let repo = hooked(Repo::new());
    repo.git("config gc.autoDetach false").ok();
    let commit = repo.save("")["commit"].as_str().unwrap().to_owned();
    let commands: String = (2..=250)
        .map(|number| format!("create refs/harness/checkpoints/main/{number:03} {commit}\n"))
        .collect();
    repo.feed("-c core.hooksPath=/dev/null update-ref --stdin", commands)
        .ok();
    for round in 0..11 {
        for file in 0..9 {
            repo.write(format!("file{file}"), format!("{round} {file}\n"));
        }
        repo.git("checkpoint save -q").ok();
    }
    repo.git("checkpoint prune --auto").ok();
    assert_eq!(fired(&repo), "");
}
