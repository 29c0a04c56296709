//! `finish`, `merge`, `move` and `prune` killed at every step: nothing is lost,
//! git finds nothing wrong, and the same command again finishes the work.

use crate::common::Repo;
use crate::shadow_crash::{is_sound, kill_at_every_step};

/// A repository with the shadow `t`, in which the work is not committed yet.
fn at_work() -> (Repo, Repo) {
    let repo = Repo::with(&[
        ("a", "0\n"),
        ("b", "0\n"),
        (".gitignore", ".env\n"),
        (".worktreeinclude", ".env\n"),
    ]);
    repo.write(".env", "S=1\n");
    let shadow = repo.shadow("t");
    shadow.write("a", "work\n");
    shadow.write("new", "work\n");
    (repo, shadow)
}

/// The same with the work in a commit.
fn committed() -> Repo {
    let (repo, shadow) = at_work();
    shadow.commit_all("work");
    repo
}

impl Repo {
    /// Whether `revision` has the work.
    #[track_caller]
    fn has_work(&self, revision: &str) {
        for path in ["a", "new"] {
            self.git(&format!("show {revision}:{path}"))
                .ok()
                .prints("work");
        }
    }

    /// The developer's checkout has nothing staged, changed or left over.
    #[track_caller]
    fn is_clean(&self) {
        self.git("status --porcelain").ok().prints("");
    }
}

#[test]
fn a_finish_is_finished_by_the_next() {
    let (scene, _) = at_work();
    // The copies of a copied scene are other files: that is asked.
    let finish = "shadow finish t -m work -y";
    let steps = kill_at_every_step(&scene, finish, |repo, step| {
        is_sound(repo);
        repo.is_clean();
        if repo.shown("t")["state"] != "finished" {
            repo.git(finish).ok();
        }
        repo.has_work("agent/t");
        assert_eq!(repo.oid("agent/t~1"), repo.oid("main"), "step {step}");
        assert_eq!(repo.shown("t")["state"], "finished", "step {step}");
        assert_eq!(repo.worktrees().len(), 1, "step {step}");
        repo.git("shadow merge t --remove").ok();
        repo.has_work("main");
        repo.has_no_trace_of_shadows();
    });
    assert!(steps > 8, "only {steps} steps");
}

#[test]
fn a_finish_that_keeps_the_folder_leaves_it_clean() {
    let (scene, _) = at_work();
    let finish = "shadow finish t -m work --keep";
    let steps = kill_at_every_step(&scene, finish, |repo, step| {
        is_sound(repo);
        repo.git(finish).ok();
        repo.has_work("agent/t");
        assert_eq!(repo.oid("agent/t~1"), repo.oid("main"), "step {step}");
        assert_eq!(repo.shown("t")["state"], "clean", "step {step}");
    });
    assert!(steps >= 3, "only {steps} steps");
}

#[track_caller]
fn merges(scene: &Repo, options: &str, target: &str) {
    let merge = format!("shadow merge t {options}");
    let steps = kill_at_every_step(scene, &merge, |repo, step| {
        is_sound(repo);
        repo.is_clean();
        if repo.shadows() == ["t"] {
            repo.git(&merge).ok();
        }
        repo.has_work(target);
        repo.is_clean();
        if options.contains("--remove") {
            assert_eq!(repo.worktrees().len(), 1, "step {step}");
        }
        if options.contains("--remove") && target == "main" {
            assert!(
                !repo.branches().contains(&"agent/t".to_owned()),
                "step {step}"
            );
        }
        let merges = repo.git(&format!("rev-list --count {target}")).ok().out();
        assert!(
            merges.parse::<u32>().unwrap() <= 4,
            "step {step}: merged twice"
        );
    });
    assert!(steps >= 1, "'{options}': only {steps} steps");
}

/// Another commit on `main`, so that no merge is a fast-forward.
fn diverged() -> Repo {
    let repo = committed();
    repo.write("b", "main\n");
    repo.commit_all("main");
    repo
}

#[test]
fn a_fast_forward_is_finished_by_the_next() {
    let scene = committed();
    scene.git("branch other main").ok();
    merges(&scene, "--into other", "other");
    merges(&scene, "--into other --remove -y", "other");
}

#[test]
fn a_merge_commit_is_finished_by_the_next() {
    merges(&diverged(), "--remove -y", "main");
}

#[test]
fn a_squash_is_finished_by_the_next() {
    merges(&diverged(), "--squash --remove -y", "main");
}

#[test]
fn a_rebase_is_finished_by_the_next() {
    merges(&diverged(), "--rebase --remove -y", "main");
}

#[test]
fn a_move_is_finished_by_the_next() {
    let (scene, _) = at_work();
    // Where the shadow goes is named by a folder that each copy of the scene has.
    let command = "shadow move t ../moved/t";
    let steps = kill_at_every_step(&scene, command, |repo, step| {
        is_sound(repo);
        let copy = repo.duplicate();
        copy.repair_worktrees(repo);
        repo.git(command).ok();
        // Or by the doctor, who looks where git says that it is.
        copy.git("shadow doctor --fix -y").ok();
        for repo in [repo, &copy] {
            let shadow = repo.seen_at(repo.git("shadow path t").ok().out());
            assert_eq!(shadow.read("new"), "work\n", "step {step}");
            assert_eq!(repo.shown("t")["state"], "dirty", "step {step}");
            repo.git("shadow remove -y t").ok();
            repo.has_no_trace_of_shadows();
        }
    });
    assert!(steps >= 2, "only {steps} steps");
}

#[test]
fn a_prune_of_merged_shadows_is_finished_by_the_next() {
    let scene = committed();
    scene.git("shadow merge t").ok();
    let prune = "shadow prune --merged -y";
    let steps = kill_at_every_step(&scene, prune, |repo, _| {
        is_sound(repo);
        repo.git(prune).ok();
        repo.has_work("main");
        repo.has_no_trace_of_shadows();
    });
    assert!(steps > 5, "only {steps} steps");
}

#[test]
fn a_prune_of_what_has_no_folder_is_finished_by_the_next() {
    let (scene, shadow) = at_work();
    std::fs::remove_dir_all(shadow.root()).unwrap();
    let prune = "shadow prune -y";
    let steps = kill_at_every_step(&scene, prune, |repo, _| {
        is_sound(repo);
        repo.git(prune).ok();
        repo.has_no_trace_of_shadows();
    });
    assert!(steps >= 2, "only {steps} steps");
}
