//! Killed at any instant, and twenty at once.

use std::process::{Child, Stdio};

use crate::common::Repo;

const FAR: usize = 300;

/// Runs `command` on copies of `scene`, killed before its 1st, 2nd, … step. Gives how
/// many steps there were.
#[track_caller]
pub(crate) fn kill_at_every_step(
    scene: &Repo,
    command: &str,
    check: impl Fn(&Repo, usize),
) -> usize {
    for step in 1..FAR {
        let copy = scene.duplicate();
        copy.repair_worktrees(scene);
        let outcome = copy
            .env("HARNESS_TEST_CRASH", step.to_string())
            .git(command);
        if outcome.code() == Some(0) {
            return step - 1;
        }
        assert_eq!(outcome.code(), Some(128 + 9), "step {step}: {outcome:?}");
        check(&copy, step);
    }
    panic!("'{command}' never ends");
}

impl Repo {
    /// In a copied scene all absolute paths lead to the original: moved here.
    pub(crate) fn repair_worktrees(&self, original: &Repo) {
        let (from, to) = (original.scene().display(), self.scene().display());
        self.sh(&format!(
            "cd '{to}' && grep -rlF '{from}' --include=gitdir --include=.git --include='*.json' . |
             while read -r f; do sed -i 's,{from},{to},g;/^  \"above\":/d' \"$f\"; done
             for l in $(find . -type l -lname '{from}/*'); do
               ln -sfn \"$(readlink \"$l\" | sed 's,{from},{to},')\" \"$l\"; done"
        ))
        .ok();
    }
}

fn scene() -> Repo {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("dir/b", "0\n"),
        (".gitignore", ".env\nnode_modules/\n"),
        (".worktreeinclude", ".env\n"),
    ]);
    repo.write(".env", "S=1\n");
    repo.write("node_modules/x/index.js", "x\n");
    repo
}

#[track_caller]
pub(crate) fn is_sound(repo: &Repo) {
    repo.fsck();
    repo.git("shadow list").ok();
    repo.git("shadow list --json").ok().json();
}

#[test]
fn an_add_killed_at_any_step_is_continued_by_the_next() {
    let scene = scene();
    let steps = kill_at_every_step(&scene, "shadow add t", |repo, step| {
        is_sound(repo);
        let shadow = repo.shadow("t");
        shadow.git("status --porcelain").ok().prints("");
        assert_eq!(shadow.read(".env"), "S=1\n", "step {step}");
        assert!(shadow.exists("node_modules/x/index.js"), "step {step}");
        assert_eq!(repo.ports().len(), 1, "step {step}");
        assert_eq!(repo.worktrees().len(), 2, "step {step}");
        repo.git("shadow remove t").ok();
        repo.has_no_trace_of_shadows();
    });
    assert!(steps > 10, "only {steps} steps: is this a debug build?");
}

#[test]
fn an_add_killed_at_any_step_is_cleaned_by_doctor() {
    let scene = scene();
    kill_at_every_step(&scene, "shadow add t", |repo, step| {
        repo.git("shadow doctor --fix -y").ok();
        assert!(
            !repo.home().join(".worktrees/repo/t").exists(),
            "step {step}"
        );
        repo.has_no_trace_of_shadows();
        repo.git("shadow doctor").ok().prints("");
    });
}

#[test]
fn a_remove_killed_at_any_step_is_finished_by_the_next() {
    let scene = scene();
    let shadow = scene.shadow("t");
    shadow.write("a", "staged\n");
    shadow.git("add a").ok();
    shadow.write("new", "n\n");
    let steps = kill_at_every_step(&scene, "shadow remove -y t", |repo, step| {
        is_sound(repo);
        if repo.shadows().contains(&"t".to_owned()) {
            repo.git("shadow remove -y t").ok();
        }
        let path = repo.home().join(".worktrees/repo/t");
        assert!(!path.exists(), "step {step}");
        repo.has_no_trace_of_shadows();
        repo.git("shadow restore t").ok();
        let back = repo.seen_at(&path);
        assert_eq!(
            (back.read("a"), back.read("new")),
            ("staged\n".into(), "n\n".into()),
            "step {step}"
        );
        back.git("diff --cached --name-only").ok().prints("a");
        assert_eq!(back.read(".env"), "S=1\n", "step {step}");
    });
    assert!(steps > 5, "only {steps} steps");
}

#[test]
fn a_restore_killed_at_any_step_is_finished_by_the_next() {
    let scene = scene();
    let shadow = scene.shadow("t");
    shadow.write("a", "staged\n");
    shadow.git("add a").ok();
    shadow.write("new", "n\n");
    scene.git("shadow remove -y t").ok();
    scene.git("shadow prune").ok();
    // The record names the folder in the scene that was copied.
    let command = "shadow restore t --path ../home/.worktrees/repo/t";
    kill_at_every_step(&scene, command, |repo, step| {
        is_sound(repo);
        if repo.shown_state("t") != "dirty" {
            repo.git(command).ok();
        }
        let back = repo.seen_at(repo.home().join(".worktrees/repo/t"));
        assert_eq!(
            (back.read("a"), back.read("new")),
            ("staged\n".into(), "n\n".into()),
            "step {step}"
        );
        back.git("diff --cached --name-only").ok().prints("a");
        assert!(!back.git_dir().join("locked").exists(), "step {step}");
    });
}

impl Repo {
    fn shown_state(&self, task: &str) -> String {
        let shown = self.git(&format!("shadow show --json {task}"));
        match shown.code() {
            Some(0) => shown.json()["state"].as_str().unwrap().to_owned(),
            _ => "absent".to_owned(),
        }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

#[track_caller]
fn all_succeed(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn twenty_at_once_from_a_local_and_a_remote_branch() {
    let origin = Repo::with(&[("a", "0\n"), ("dir/b", "0\n")]);
    origin.git("clone -q . ../clone").ok();
    let repo = origin.seen_at(origin.scene().join("clone"));
    for base in ["main", "origin/main"] {
        let names: Vec<String> = (0..20).map(|n| format!("t{n:02}")).collect();
        let started = names
            .iter()
            .map(|name| repo.start(&["shadow", "add", name, base]))
            .collect();
        all_succeed(started);
        assert_eq!(repo.shadows(), names);
        assert_eq!(repo.branches().len(), 21);
        assert_eq!(repo.worktrees().len(), 21);
        let mut ports = repo.ports();
        ports.sort();
        ports.dedup();
        assert_eq!(ports.len(), 20);
        for name in &names {
            assert_eq!(repo.shown(name)["state"], "clean", "{name}");
        }
        let removed = names
            .iter()
            .map(|name| repo.start(&["shadow", "remove", name]))
            .collect();
        all_succeed(removed);
        repo.has_no_trace_of_shadows();
    }
}

#[test]
fn one_name_twice_at_once_is_made_once() {
    let repo = Repo::with(&[("a", "0\n")]);
    let started: Vec<Child> = (0..4)
        .map(|_| repo.start(&["shadow", "add", "t"]))
        .collect();
    let succeeded = started
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .filter(|output| output.status.success())
        .count();
    assert_eq!(succeeded, 1);
    assert_eq!(repo.shown("t")["state"], "clean");
    assert_eq!(repo.branches(), ["agent/t", "main"]);
}

#[test]
fn adds_beside_a_prune_of_worktrees() {
    let repo = Repo::with(&[("a", "0\n")]);
    let mut started = Vec::new();
    for number in 0..8 {
        let name = format!("t{number}");
        started.push(repo.start(&["shadow", "add", &name]));
        started.push(repo.start(&["worktree", "prune", "--expire", "now"]));
    }
    all_succeed(started);
    for number in 0..8 {
        assert_eq!(repo.shown(&format!("t{number}"))["state"], "clean");
    }
}
