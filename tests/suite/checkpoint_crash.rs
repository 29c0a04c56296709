//! Killed at any instant. A debug build is killed right before the n-th step
//! (write, rename, ref) when `HARNESS_TEST_CRASH` is n; each test goes through
//! n = 1, 2, … until the command succeeds. `HARNESS_TEST_PAUSE` names a script
//! that runs between the plan and the first rename: an editor that saves then.

use std::cell::Cell;

use crate::common::{Disk, Repo, paths};

/// No command takes as many steps as this in these small scenes.
const FAR: usize = 500;

/// Runs `command` on copies of `scene`, killed before its 1st, 2nd, … step;
/// `check` looks at each. Returns how many steps there were.
#[track_caller]
fn kill_at_every_step(scene: &Repo, command: &str, check: impl Fn(&Repo, usize)) -> usize {
    for step in 1..FAR {
        let copy = scene.duplicate();
        let outcome = copy
            .env("HARNESS_TEST_CRASH", step.to_string())
            .git(command);
        if outcome.code() == Some(0) {
            return step - 1;
        }
        // As git reports a child that SIGKILL ended.
        assert!(outcome.code() == Some(128 + 9), "step {step}: {outcome:?}");
        check(&copy, step);
    }
    panic!("'{command}' never ends");
}

#[track_caller]
fn is_sound(repo: &Repo) {
    repo.fsck();
    repo.git("checkpoint list").ok();
    repo.git("checkpoint list --json").ok().json();
    repo.git("checkpoint status").ok();
}

/// Everything that a restore does: rewrite, create, delete, swap kinds.
fn scene() -> (Repo, Disk) {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("gone", "to come back\n"),
        ("dir/b", "0\n"),
        ("turns/into/file", "0\n"),
        ("turned", "0\n"),
        ("same", "0\n"),
    ]);
    repo.write("staged", "s\n");
    repo.git("add staged").ok();
    repo.link("a", "link");
    let start = repo.disk();
    repo.agent_writes("a", "1\n");
    repo.write("dir/b", "1\n");
    repo.write("new/deep/file", "n\n");
    repo.remove("gone");
    repo.remove("turns");
    repo.write("turns", "file\n");
    repo.remove("turned");
    repo.write("turned/into/folder", "f\n");
    repo.remove("link");
    repo.link("same", "link");
    repo.chmod("same", 0o755);
    (repo, start)
}

#[test]
fn an_undo_killed_at_any_step_is_finished_by_the_next() {
    let (scene, start) = scene();
    let user = scene.movable_fingerprint();
    let steps = kill_at_every_step(&scene, "checkpoint undo --to 1 -y", |repo, step| {
        is_sound(repo);
        repo.git("checkpoint undo --to 1 -y").ok();
        assert_eq!(repo.disk(), start, "step {step}");
        assert_eq!(repo.movable_fingerprint(), user, "step {step}");
        is_sound(repo);
        nothing_staged(repo);
    });
    assert!(steps > 15, "only {steps} steps: is this a debug build?");
}

#[test]
fn a_bare_undo_after_the_kill_finishes_it() {
    let (scene, start) = scene();
    kill_at_every_step(&scene, "checkpoint undo -y", |repo, step| {
        repo.git("checkpoint undo -y").ok();
        assert_eq!(repo.disk(), start, "step {step}");
        nothing_staged(repo);
    });
}

#[test]
fn redo_after_the_kill_goes_back_to_the_state_before() {
    let (scene, _) = scene();
    let before = scene.disk();
    kill_at_every_step(&scene, "checkpoint undo --to 1 -y", |repo, step| {
        let redone = repo.git("checkpoint redo -y");
        // Killed before anything was touched, there is nothing to redo.
        assert!(
            matches!(redone.code(), Some(0 | 1)),
            "step {step}: {redone:?}"
        );
        assert_eq!(repo.disk(), before, "step {step}: {redone:?}");
        is_sound(repo);
        nothing_staged(repo);
    });
}

#[test]
fn finished_and_then_redone_is_the_state_before_the_first_try() {
    let (scene, start) = scene();
    let before = scene.disk();
    kill_at_every_step(&scene, "checkpoint undo --to 1 -y", |repo, step| {
        repo.git("checkpoint undo --to 1 -y").ok();
        assert_eq!(repo.disk(), start, "step {step}");
        repo.git("checkpoint redo -y").ok();
        assert_eq!(repo.disk(), before, "step {step}");
    });
}

#[test]
fn killed_twice_redo_still_leads_to_the_state_before_the_first_try() {
    let (scene, start) = scene();
    let before = scene.disk();
    let steps = kill_at_every_step(&scene, "checkpoint undo --to 1 -y", |_, _| {});
    // The first kill in the middle of the renames, the second anywhere.
    for first in [steps / 2, steps - 3] {
        let half = scene.duplicate();
        let killed = half
            .env("HARNESS_TEST_CRASH", first.to_string())
            .git("checkpoint undo --to 1 -y");
        assert_ne!(killed.code(), Some(0));
        kill_at_every_step(&half, "checkpoint undo --to 1 -y", |repo, step| {
            repo.git("checkpoint undo --to 1 -y").ok();
            assert_eq!(repo.disk(), start, "{first}, then {step}");
            repo.git("checkpoint redo -y").ok();
            assert_eq!(repo.disk(), before, "{first}, then {step}");
        });
    }
}

#[test]
fn the_next_command_says_that_an_undo_is_unfinished() {
    let (scene, _) = scene();
    let said = Cell::new(0);
    kill_at_every_step(&scene, "checkpoint undo --to 1 -y", |repo, _| {
        let status = repo.git("checkpoint status --json").ok().json();
        if status["unfinished"].is_null() {
            return;
        }
        said.set(said.get() + 1);
        for command in ["status", "list", "save"] {
            let told = repo.git(&format!("checkpoint {command}")).ok();
            assert!(format!("{told:?}").contains("cut short"), "{told:?}");
        }
    });
    assert!(said.get() > 5, "said {} times", said.get());
}

#[test]
fn a_save_killed_at_any_step_costs_nothing() {
    let (scene, _) = scene();
    let oracle = scene.oracle_tree();
    let disk = scene.disk();
    let user = scene.movable_fingerprint();
    let steps = kill_at_every_step(&scene, "checkpoint save -m x", |repo, step| {
        is_sound(repo);
        assert_eq!(repo.save("")["tree"], oracle.as_str(), "step {step}");
        assert_eq!(repo.disk(), disk, "step {step}");
        assert_eq!(repo.movable_fingerprint(), user, "step {step}");
        is_sound(repo);
    });
    assert!(steps > 2, "only {steps} steps");
}

#[test]
fn a_first_save_killed_at_any_step_costs_nothing() {
    let scene = Repo::with(&[("a", "0\n")]);
    for number in 0..12 {
        scene.write(format!("new/{number}"), format!("{number}\n"));
    }
    let oracle = scene.oracle_tree();
    kill_at_every_step(&scene, "checkpoint save", |repo, step| {
        is_sound(repo);
        let saved = repo.save("");
        assert_eq!(saved["tree"], oracle.as_str(), "step {step}");
        assert_eq!(saved["lane"], "main", "step {step}");
        is_sound(repo);
        // A pack that nobody completed is git's again after an hour.
        repo.sh("find .git/objects/pack -name '*.keep' -exec touch -d '2 hours ago' '{}' +")
            .ok();
        for number in 0..12 {
            repo.write(format!("new/{number}"), format!("{number} again\n"));
        }
        repo.save("");
        let kept = repo.sh("find .git/objects/pack -name '*.keep'").ok().out();
        assert_eq!(kept, "", "step {step}");
    });
}

#[test]
fn a_wrote_killed_at_any_step_costs_nothing() {
    let scene = Repo::with(&[("a", "0\n")]);
    scene.agent_writes("a", "1\n");
    kill_at_every_step(&scene, "checkpoint wrote a", |repo, step| {
        is_sound(repo);
        repo.git("checkpoint wrote a").ok();
        repo.git("checkpoint undo").ok();
        assert_eq!(repo.read("a"), "0\n", "step {step}");
    });
}

#[test]
fn a_redo_killed_at_any_step_is_finished_by_the_next() {
    let (scene, _) = scene();
    let before = scene.disk();
    scene.git("checkpoint undo --to 1 -y").ok();
    kill_at_every_step(&scene, "checkpoint redo -y", |repo, step| {
        is_sound(repo);
        repo.git("checkpoint redo -y");
        assert_eq!(repo.disk(), before, "step {step}");
        is_sound(repo);
    });
}

/// Nothing of a restore is left, and nothing speaks of one any more.
#[track_caller]
fn nothing_staged(repo: &Repo) {
    let status = repo.git("checkpoint status --json").ok().json();
    assert!(status["unfinished"].is_null(), "{status}");
    let stage = repo.git_dir().join("harness/stage");
    assert_eq!(std::fs::read_dir(stage).map_or(0, Iterator::count), 0);
    repo.sh("test -z \"$(find . -name '.git-harness-*')\"").ok();
}

/// Undoes to 1 while `editor` (a line of shell) runs between the plan and the first rename.
#[track_caller]
fn while_an_editor_saves(editor: &str) -> (Repo, crate::common::Outcome) {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    repo.agent_writes("a", "1\n");
    repo.agent_writes("b", "1\n");
    repo.agent_writes("made", "1\n");
    let script = repo.script(
        "editor",
        &format!("cd '{}' && {editor}", repo.root().display()),
    );
    let outcome = repo.env("HARNESS_TEST_PAUSE", &script).undo("--to 1 -y");
    assert!(
        repo.exists("../editor-ran"),
        "the pause never came: {outcome:?}"
    );
    repo.fsck();
    (repo, outcome)
}

#[test]
fn an_editor_that_saves_in_the_middle_loses_nothing() {
    let (repo, outcome) = while_an_editor_saves("echo mine >a && touch ../editor-ran");
    let told = outcome.fails(1).json();
    assert_eq!(paths(&told["left_alone"]), ["a"], "{told}");
    assert_eq!(repo.read("a"), "mine\n");
    assert_eq!(repo.read("b"), "0\n", "the others are restored");
    assert!(!repo.exists("made"));
}

#[test]
fn an_editor_that_saves_by_rename_loses_nothing() {
    let (repo, outcome) =
        while_an_editor_saves("echo mine >.a.swp && mv .a.swp a && touch ../editor-ran");
    outcome.fails(1);
    assert_eq!(repo.read("a"), "mine\n");
}

#[test]
fn a_same_size_save_in_the_middle_loses_nothing() {
    let (repo, outcome) =
        while_an_editor_saves("touch -r a ../t && echo 9 >a && touch -r ../t a ../editor-ran");
    outcome.fails(1);
    assert_eq!(repo.read("a"), "9\n");
}

#[test]
fn a_file_about_to_be_deleted_and_saved_again_stays() {
    let (repo, outcome) = while_an_editor_saves("echo mine >made && touch ../editor-ran");
    let told = outcome.fails(1).json();
    assert_eq!(paths(&told["left_alone"]), ["made"]);
    assert_eq!(repo.read("made"), "mine\n");
    assert_eq!(repo.read("a"), "0\n");
}

#[test]
fn a_file_that_became_a_folder_in_the_middle_stays() {
    let (repo, outcome) =
        while_an_editor_saves("rm a && mkdir a && echo mine >a/x && touch ../editor-ran");
    outcome.fails(1);
    assert_eq!(repo.read("a/x"), "mine\n");
    assert_eq!(repo.read("b"), "0\n");
}

#[test]
fn a_file_made_in_the_middle_where_none_was_stays() {
    let repo = Repo::with(&[("a", "0\n"), ("dir/b", "0\n")]);
    repo.save("");
    repo.remove("a");
    repo.remove("dir");
    let script = repo.script(
        "editor",
        &format!(
            "cd '{}' && echo mine >a && echo mine >dir",
            repo.root().display()
        ),
    );
    let outcome = repo
        .env("HARNESS_TEST_PAUSE", &script)
        .undo("1 -y")
        .fails(1);
    assert_eq!(
        (repo.read("a"), repo.read("dir")),
        ("mine\n".into(), "mine\n".into())
    );
    assert_eq!(paths(&outcome.json()["left_alone"]), ["a", "dir/b"]);
}

#[test]
fn a_folder_that_became_a_link_in_the_middle_leads_nowhere() {
    let repo = Repo::with(&[
        ("dir/changed", "0\n"),
        ("dir/gone", "0\n"),
        ("dir/deep/changed", "0\n"),
        ("other", "0\n"),
    ]);
    repo.save("");
    repo.write("dir/changed", "1\n");
    repo.remove("dir/gone");
    repo.write("dir/made", "1\n");
    repo.write("dir/deep/changed", "1\n");
    repo.write("other", "1\n");
    // The very same files lie behind the link: only the way there is another.
    let script = repo.script(
        "swap",
        &format!(
            "cd '{}' && mv dir ../outside && ln -s ../outside dir",
            repo.root().display()
        ),
    );
    let outside = |repo: &Repo| {
        ["changed", "made", "deep/changed"].map(|name| {
            let path = format!("../outside/{name}");
            (repo.read(&path), repo.stamp(&path))
        })
    };
    let before = ["changed", "made", "deep/changed"].map(|name| {
        let path = format!("dir/{name}");
        (repo.read(&path), repo.stamp(&path))
    });
    let told = repo
        .env("HARNESS_TEST_PAUSE", &script)
        .undo("1 --others=revert")
        .fails(1)
        .json();
    assert_eq!(outside(&repo), before, "{told}");
    let names: Vec<_> = std::fs::read_dir(repo.path("../outside"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(repo.path("dir").is_symlink());
    assert_eq!(
        paths(&told["left_alone"]),
        ["dir/changed", "dir/deep/changed", "dir/gone"]
    );
    assert_eq!(repo.read("other"), "0\n", "the others are restored");
    nothing_staged(&repo);
}
