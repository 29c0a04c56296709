//! Patches that only git can apply: many of them at once, each with the tree
//! that it gave, and the one that git refuses named.

use std::fs;

use serde_json::{Value, json};

use crate::common::Repo;
use crate::replay::Replay;

/// A history of `count` commits on `main`, on the branch `run`; all kinds of paths.
fn run(count: usize) -> Repo {
    let repo = Repo::with(&[("a", &lines(0)), ("dir/b c", "b\n"), ("gone0", "x\n")]);
    repo.git("checkout -q -b run").ok();
    for number in 1..=count {
        repo.write("a", lines(number));
        match number % 4 {
            0 => repo.git("mv 'dir/b c' moved").ok(),
            2 if number > 4 => repo.git("mv moved 'dir/b c'").ok(),
            _ => repo.git("update-index -q --refresh").ok(),
        };
        repo.rename(format!("gone{}", number - 1), format!("gone{number}"));
        repo.write(format!("d{number}/\"odd\tname"), format!("{number}\n"));
        repo.commit_all(&format!("commit {number}"));
    }
    repo.git("checkout -q main").ok();
    repo
}

fn lines(number: usize) -> String {
    (0..30)
        .map(|line| format!("{}\n", if line < number { line + 100 } else { line }))
        .collect()
}

/// Records `main..run` in `../j.json`, then lets `patch` write each commit's patch anew.
#[track_caller]
fn record(repo: &Repo, patch: impl Fn(usize, &str, &str) -> String) {
    repo.replay("record main..run --no-prompt --patches=text -o ../j.json")
        .ok();
    let mut journal = repo.journal("../j.json");
    for (number, commit) in commits(&mut journal).iter_mut().enumerate() {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (oid, old) = (text(&commit["oid"]), text(&commit["patch"]));
        commit["patch"] = json!(patch(number, &oid, &old));
    }
    repo.write("../j.json", serde_json::to_vec(&journal).unwrap());
}

fn commits(journal: &mut [Value]) -> &mut Vec<Value> {
    let entry = journal
        .iter_mut()
        .find(|e| e["kind"] == "workspace-commits");
    entry.unwrap()["commits"].as_array_mut().unwrap()
}

/// As another program writes it: renames, short ids, one line of context.
fn foreign(repo: &Repo, oid: &str) -> String {
    let patch = repo
        .git(&format!("diff-tree -p -M -U1 {oid}^ {oid}"))
        .ok()
        .out();
    patch + "\n"
}

#[test]
fn git_is_started_a_few_times_for_many_patches() {
    let repo = run(40);
    record(&repo, |_, oid, _| foreign(&repo, oid));
    let clone = repo.fresh("main");
    let journal = repo.path("../j.json").display().to_string();
    let loose = clone.git("count-objects").ok().out();
    let (counted, log) = clone.noting_children();
    let branch = counted.program("git-replay", &journal).ok().out();
    assert_eq!(clone.oid(&branch), repo.oid("run"));
    clone.git("fsck --strict").ok();
    let log = fs::read_to_string(log).unwrap();
    let applied = log
        .lines()
        .filter(|line| line.starts_with("apply "))
        .count();
    assert!((1..=3).contains(&applied), "{log}");
    // What git wrote file by file comes as a pack.
    clone.git("count-objects").ok().prints(&loose);
}

#[test]
fn all_that_git_takes_for_a_patch_gives_its_tree() {
    let repo = run(24);
    record(&repo, |number, oid, patch| match number % 6 {
        // Readable in process: git gets it all the same when it comes in between.
        0 => patch.to_owned(),
        // No word of git's own; git reads it, and we do not.
        1 => foreign(&repo, oid)
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("diff --git ") || !line.contains(" b/a\n"))
            .collect(),
        2 => format!(
            "A mail.\n---\n a | 2 +-\n\n{}-- \n2.47.3\n",
            foreign(&repo, oid)
        ),
        // Lines that are elsewhere than it says.
        3 => foreign(&repo, oid).replace("\n@@ -1", "\n@@ -2"),
        _ => foreign(&repo, oid),
    });
    let clone = repo.fresh("main");
    let journal = repo.path("../j.json").display().to_string();
    let branch = clone.replay(&journal).ok().out();
    assert_eq!(clone.oid(&branch), repo.oid("run"));
}

#[test]
fn the_patch_that_git_refuses_is_the_one_that_is_named() {
    for wrong in [0, 1, 5, 11, 19] {
        let repo = run(20);
        record(&repo, |number, oid, _| match number {
            n if n == wrong => foreign(&repo, oid).replace("\n-", "\n-not "),
            _ => foreign(&repo, oid),
        });
        let oid = repo
            .git(&format!("rev-parse run~{}", 19 - wrong))
            .ok()
            .out();
        let found = repo.replay("../j.json --check --json").fails(1).json();
        let divergence = &found["divergences"][0];
        assert_eq!(divergence["kind"], "tree", "{wrong}: {found}");
        assert_eq!(divergence["commit"], oid.as_str(), "{wrong}");
        assert_eq!(divergence["final"], true, "{wrong}");
        assert_eq!(found["commits"].as_array().unwrap().len(), wrong);
    }
}

#[test]
fn a_diverged_run_gives_the_trees_that_git_gives() {
    let repo = run(12);
    record(&repo, |_, _, patch| patch.to_owned());
    // Another base: the patches fit, the trees are others.
    repo.write("other", "more\n");
    repo.commit_all("other base");
    let (counted, log) = repo.noting_children();
    let found = counted.program(
        "git-replay",
        "../j.json --from main --divergence=warn --json",
    );
    let found = found.ok().json();
    let applied = fs::read_to_string(log).unwrap();
    let applied = applied
        .lines()
        .filter(|line| line.starts_with("apply "))
        .count();
    assert_eq!(applied, 1);
    let branch = found["branch"].as_str().unwrap();
    for back in 0..12 {
        let made = repo.git(&format!("ls-tree -r {branch}~{back}")).ok().out();
        let run = repo.git(&format!("ls-tree -r run~{back}")).ok().out();
        let without: Vec<&str> = made.lines().filter(|l| !l.ends_with("\tother")).collect();
        assert_eq!(without, run.lines().collect::<Vec<_>>(), "run~{back}");
    }
}

#[test]
fn a_bend_in_the_history_is_where_a_batch_ends() {
    let repo = run(6);
    repo.git("checkout -q -b side run~4").ok();
    for number in 0..3 {
        repo.write("side", format!("{number}\n"));
        repo.commit_all("side");
    }
    repo.git("checkout -q run").ok();
    repo.git("merge -q --no-edit side").ok();
    repo.git("checkout -q main").ok();
    record(&repo, |_, oid, _| foreign(&repo, oid));
    let clone = repo.fresh("main");
    let journal = repo.path("../j.json").display().to_string();
    let branch = clone.replay(&journal).ok().out();
    assert_eq!(clone.oid(&branch), repo.oid("run"));
}
