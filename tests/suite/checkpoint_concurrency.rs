//! Many at once: no number twice, nothing lost, git's own commands beside us.

use std::collections::BTreeSet;
use std::thread;

use crate::common::Repo;

/// What one thread does.
type Task<'t, T> = Box<dyn FnOnce() -> T + Send + 't>;
/// The ref of a save, and the file that it must hold.
type Saved = (String, String);

/// Runs each of `tasks` in a thread of its own, all at once; what they give, in order.
fn together<T: Send>(tasks: Vec<Task<'_, T>>) -> Vec<T> {
    let start = std::sync::Barrier::new(tasks.len());
    thread::scope(|scope| {
        let running: Vec<_> = tasks
            .into_iter()
            .map(|task| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    task()
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Writes a file of its own, and saves; the ref and the file's blob.
fn save_own(repo: &Repo, name: &str) -> Saved {
    repo.write(name, format!("of {name}\n"));
    let saved = repo.save(&format!("-m {name}"));
    let reference = saved["ref"].as_str().unwrap().to_owned();
    (reference, name.to_owned())
}

/// No ref twice, and in each the file that was written before it.
#[track_caller]
fn nothing_lost(repo: &Repo, saves: &[Saved]) {
    let refs: BTreeSet<&str> = saves
        .iter()
        .map(|(reference, _)| reference.as_str())
        .collect();
    assert_eq!(refs.len(), saves.len(), "no number twice");
    assert_eq!(repo.checkpoints().len(), saves.len());
    for (reference, name) in saves {
        let content = repo.run(["cat-file", "blob", &format!("{reference}:{name}")]);
        assert_eq!(content.ok().out(), format!("of {name}"));
    }
    repo.git("checkpoint fsck").ok();
    repo.git("fsck --strict --no-dangling").ok().silent();
}

#[test]
fn sixteen_savers_in_one_worktree() {
    let repo = Repo::with(&[("a", "1\n"), ("dir/b", "1\n")]);
    let index = repo.bytes(".git/index");
    let saves = together(
        (0..16)
            .map(|saver| -> Task<'_, Saved> {
                let repo = repo.clone();
                Box::new(move || save_own(&repo, &format!("file{saver}")))
            })
            .collect(),
    );
    nothing_lost(&repo, &saves);
    let numbers: Vec<String> = repo
        .git("checkpoint list --json")
        .ok()
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["number"].to_string())
        .collect();
    let expected: Vec<String> = (1..=16).map(|n: u32| n.to_string()).collect();
    assert_eq!(numbers, expected);
    assert_eq!(repo.bytes(".git/index"), index);
}

#[test]
fn sixteen_savers_in_four_worktrees() {
    let repo = Repo::with(&[("a", "1\n")]);
    let mut worktrees = vec![repo.clone()];
    worktrees.extend(["one", "two", "three"].map(|name| repo.worktree(name)));
    let saves = together(
        (0..16)
            .map(|saver| -> Task<'_, Saved> {
                let worktree = worktrees[saver % 4].clone();
                Box::new(move || save_own(&worktree, &format!("file{saver}")))
            })
            .collect(),
    );
    nothing_lost(&repo, &saves);
    for lane in ["main", "one", "two", "three"] {
        let listed = repo.run(["checkpoint", "list", "--lane", lane]).ok();
        assert_eq!(listed.lines().len(), 4);
    }
}

#[test]
fn savers_beside_the_users_git() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("config gc.auto 1").ok();
    let gone = repo.worktree("gone");
    repo.remove(gone.root());
    let mut tasks: Vec<Task<'_, Vec<Saved>>> = Vec::new();
    for saver in 0..3 {
        let repo = repo.clone();
        tasks.push(Box::new(move || {
            (0..8)
                .map(|round| save_own(&repo, &format!("saver{saver}/{round}")))
                .collect()
        }));
    }
    let user = repo.clone();
    tasks.push(Box::new(move || {
        for round in 0..8 {
            user.write("a", format!("{round}\n"));
            user.git("add a").ok();
            user.git("commit -q -m more").ok();
            user.git("worktree prune").ok();
            // Not beside the add: older gits take the folder from under their own
            // `git add` when a gc empties it.
            user.git("gc -q").ok();
        }
        Vec::new()
    }));
    let keeper = repo.clone();
    tasks.push(Box::new(move || {
        for _ in 0..4 {
            keeper.git("checkpoint prune --auto").ok();
        }
        Vec::new()
    }));
    let saves = together(tasks).concat();
    assert_eq!(saves.len(), 24);
    nothing_lost(&repo, &saves);
    assert_eq!(repo.git("rev-list --count main").ok().out(), "9");
    repo.git("status --porcelain").ok();
}

#[test]
fn two_that_drop_and_prune_at_once() {
    let repo = Repo::with(&[("a", "1\n")]);
    for number in 1..=6 {
        save_own(&repo, &format!("file{number}"));
    }
    let outcomes = together(
        ["drop 1 2 3", "prune --keep 2 -y", "save", "list", "fsck"]
            .map(|command| -> Task<'_, Option<i32>> {
                let repo = repo.clone();
                Box::new(move || repo.git(&format!("checkpoint {command}")).code())
            })
            .into_iter()
            .collect(),
    );
    // Who comes late with a drop finds that there is no such checkpoint any more.
    assert!(
        outcomes
            .iter()
            .all(|code| matches!(code, Some(0 | 1 | 128)))
    );
    assert_eq!(outcomes[2], Some(0));
    repo.git("checkpoint fsck").ok();
    repo.git("checkpoint save").ok();
    repo.git("fsck --strict --no-dangling").ok();
}
