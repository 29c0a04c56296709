//! `list`, `run`, `diff`, `prune`, `move`, `lock`, `doctor`.

use crate::common::Repo;

fn scene() -> (Repo, Repo) {
    let repo = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    let shadow = repo.shadow("t");
    (repo, shadow)
}

fn state(repo: &Repo, task: &str) -> String {
    repo.shown(task)["state"].as_str().unwrap().to_owned()
}

#[test]
fn the_state_of_each() {
    let (repo, shadow) = scene();
    assert_eq!(state(&repo, "t"), "clean");
    shadow.write("new", "n\n");
    assert_eq!(state(&repo, "t"), "dirty");
    shadow.commit_all("one");
    assert_eq!(
        (state(&repo, "t"), repo.shown("t")["ahead"].clone()),
        ("clean".into(), 1.into())
    );
    repo.write("new", "other\n");
    repo.commit_all("main");
    assert_eq!(repo.shown("t")["behind"], 1);
    let verbose = repo.git("shadow list -v").ok().out();
    assert!(verbose.contains("would conflict in new"), "{verbose}");
    shadow.git("rebase main").fails(1);
    assert_eq!(state(&repo, "t"), "conflict");
    shadow.git("checkout --ours new").ok();
    shadow.git("add new").ok();
    assert_eq!(state(&repo, "t"), "rebase");
}

#[test]
fn a_broken_one_costs_no_other() {
    let (repo, shadow) = scene();
    repo.shadow("u");
    repo.sh(&format!(
        "mv '{}' '{}/gone'",
        shadow.root().display(),
        repo.scene().display()
    ))
    .ok();
    let lines = repo.git("shadow list").ok().out();
    assert!(
        lines.contains("broken") && lines.contains("clean"),
        "{lines}"
    );
    std::fs::write(repo.common_dir().join("harness/shadows/bad.json"), "{torn").unwrap();
    assert_eq!(repo.shadows(), ["t", "u", "bad"]);
}

#[test]
fn run_answers_with_the_commands_code_and_leaves_checkpoints() {
    let (repo, shadow) = scene();
    repo.git("shadow run t -- sh -c 'exit 7'").fails(7);
    repo.git("shadow run t -- sh -c 'kill -9 $$'").fails(137);
    repo.git("shadow run t --test 'grep -q 1 a' -- sh -c 'echo 1 >a'")
        .ok();
    repo.git("shadow run t --test 'grep -q 2 a' -- true")
        .fails(1);
    let list = shadow.git("checkpoint list --json").ok().json();
    let kinds: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["before-command", "after-command"].repeat(4));
    shadow.git("checkpoint undo --to 5").ok();
    assert_eq!(
        shadow.read("a"),
        "0\n",
        "the agent's change goes without a question"
    );
}

#[test]
fn run_is_written_in_the_log() {
    let (repo, _) = scene();
    repo.git("shadow run t --session s1 -- sh -c 'echo $HARNESS_SESSION >a; exit 3'")
        .fails(3);
    let log = std::fs::read_to_string(
        repo.common_dir()
            .join("harness/trajectories/shadow-s1.jsonl"),
    )
    .unwrap();
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let [start, end] = events.as_slice() else {
        panic!("{log}")
    };
    assert_eq!(
        (start["type"].as_str(), end["type"].as_str()),
        (Some("shadow_start"), Some("shadow_end"))
    );
    assert_eq!(
        (&end["payload"]["exit"], &end["payload"]["files_changed"]),
        (&3.into(), &1.into())
    );
}

#[test]
fn a_timeout_ends_the_whole_group() {
    let (repo, shadow) = scene();
    let script = "sleep 1000 & echo $! >pid; wait";
    repo.run([
        "shadow",
        "run",
        "t",
        "--timeout",
        "1s",
        "--",
        "sh",
        "-c",
        script,
    ])
    .fails(124);
    let pid = shadow.read("pid");
    let alive = repo.sh(&format!("ps -o stat= -p {} | grep -v Z", pid.trim()));
    assert_eq!(alive.out(), "");
}

#[test]
fn a_running_command_is_shown() {
    let (repo, _) = scene();
    let out = repo
        .run([
            "shadow",
            "run",
            "-q",
            "t",
            "--",
            "git",
            "--git-dir",
            repo.git_dir().to_str().unwrap(),
            "shadow",
            "show",
            "t",
            "--json",
        ])
        .ok()
        .json();
    assert_eq!(out["state"], "running");
    assert!(out["owner"]["pid"].is_u64());
}

#[test]
fn diff_is_everything_since_the_base() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("one");
    shadow.write("b", "1\n");
    shadow.write("new", "n\n");
    let stat = repo.git("shadow diff t --stat").ok().out();
    for file in ["a ", "b ", "new "] {
        assert!(stat.contains(file), "{stat}");
    }
    let patch = repo.git("-c color.ui=never shadow diff t -- new").ok();
    let other = Repo::with(&[("a", "0\n"), ("b", "0\n")]);
    other.feed("apply", &patch.stdout).ok();
    assert_eq!(other.read("new"), "n\n");
    shadow.git("status --porcelain").ok().prints(" M b\n?? new");
}

#[test]
fn prune_takes_what_is_gone_and_what_is_merged() {
    let (repo, shadow) = scene();
    let merged = repo.shadow("m");
    merged.write("a", "1\n");
    merged.commit_all("one");
    repo.git("shadow merge m").ok();
    repo.shadow("fresh");
    std::fs::remove_dir_all(shadow.root()).unwrap();
    repo.git("shadow prune -n")
        .ok()
        .prints("t: its folder is gone");
    repo.git("shadow prune").fails(1).says("--yes");
    repo.git("shadow prune -y").ok();
    assert_eq!(repo.shadows(), ["fresh", "m"]);
    repo.git("shadow prune --merged --older-than 1d -n")
        .ok()
        .prints("");
    repo.git("shadow prune --merged -y").ok();
    assert_eq!(repo.shadows(), ["fresh"]);
    assert_eq!(repo.branches(), ["agent/fresh", "main"]);
}

#[test]
fn a_lock_beats_an_absent_folder() {
    let (repo, shadow) = scene();
    repo.git("shadow lock t").ok();
    std::fs::remove_dir_all(shadow.root()).unwrap();
    repo.git("shadow prune -y").ok().says("locked");
    assert_eq!(repo.shadows(), ["t"]);
    assert_eq!(repo.worktrees().len(), 2);
}

#[test]
fn an_absent_disk_is_no_reason() {
    let repo = Repo::with(&[("a", "0\n")]);
    let shadow = repo.shadow("t --path ../disk/t");
    let disk = shadow.root().parent().unwrap().to_owned();
    std::fs::rename(&disk, repo.scene().join("unmounted")).unwrap();
    repo.git("shadow prune -y").ok().says("not mounted");
    assert_eq!(
        (repo.shadows(), repo.worktrees().len()),
        (vec!["t".to_owned()], 2)
    );
    std::fs::rename(repo.scene().join("unmounted"), &disk).unwrap();
    assert_eq!(state(&repo, "t"), "clean");
}

#[test]
fn prune_touches_only_its_own_entries() {
    let (repo, shadow) = scene();
    let other = repo.worktree("foreign");
    std::fs::remove_dir_all(other.root()).unwrap();
    std::fs::remove_dir_all(shadow.root()).unwrap();
    repo.git("shadow prune -y").ok();
    assert_eq!(
        repo.worktrees().len(),
        2,
        "the foreign entry is still git's"
    );
}

#[test]
fn a_shadow_moves() {
    let (repo, shadow) = scene();
    shadow.write("new", "n\n");
    let moved = repo.git("shadow move t '../new place'").ok().out();
    let moved = repo.seen_at(moved);
    assert_eq!(moved.root(), repo.scene().join("new place"));
    assert_eq!(moved.read("new"), "n\n");
    assert_eq!(state(&repo, "t"), "dirty");
    repo.git("shadow lock t").ok();
    repo.git("shadow move t ../again").fails(128).says("locked");
    repo.git("shadow unlock t").ok();
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    assert_eq!(moved.read("new"), "n\n");
}

#[test]
fn a_folder_moved_by_git_or_by_hand_is_found_again() {
    let (repo, shadow) = scene();
    repo.git(&format!(
        "worktree move '{}' ../elsewhere",
        shadow.root().display()
    ))
    .ok();
    repo.git("shadow doctor").fails(1);
    repo.git("shadow doctor --fix -y").ok();
    let elsewhere = repo.scene().join("elsewhere");
    assert_eq!(repo.shown("t")["path"], elsewhere.to_str().unwrap());
    let by_hand = repo.scene().join("by-hand");
    std::fs::rename(&elsewhere, &by_hand).unwrap();
    repo.seen_at(&by_hand).git("shadow doctor --fix -y").ok();
    assert_eq!(repo.shown("t")["path"], by_hand.to_str().unwrap());
    assert_eq!(state(&repo, "t"), "clean");
}

#[test]
fn doctor_names_and_mends() {
    let (repo, _) = scene();
    repo.git("shadow doctor").ok().prints("");
    repo.shadow("orphan");
    repo.git("shadow remove --keep-branch orphan").ok();
    // Nothing says that this one is ours.
    repo.git("branch agent/mine").ok();
    repo.git("config core.bare true").ok();
    std::fs::create_dir(repo.home().join(".worktrees/repo/stray")).unwrap();
    std::fs::remove_file(repo.common_dir().join("harness/shadows/t.json")).unwrap();
    let found = repo.git("shadow doctor --json").fails(1).json();
    let kinds: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["kind"].as_str().unwrap())
        .collect();
    for kind in ["bare", "branch", "folder", "ports"] {
        assert!(kinds.contains(&kind), "{kind}: {found}");
    }
    repo.git("shadow doctor --fix -n").fails(1);
    assert_eq!(repo.git("config core.bare").ok().out(), "true");
    repo.git("shadow doctor --fix -y").ok();
    assert_eq!(repo.git("config core.bare").ok().out(), "false");
    assert_eq!(repo.branches(), ["agent/mine", "agent/t", "main"]);
    assert_eq!(repo.ports(), [] as [u64; 0]);
}

#[test]
fn doctor_keeps_a_branch_with_work() {
    let (repo, shadow) = scene();
    shadow.write("a", "1\n");
    shadow.commit_all("work");
    repo.git("shadow remove t").ok();
    repo.git("shadow doctor --fix -y").ok();
    assert_eq!(repo.branches(), ["agent/t", "main"]);
}
