//! What is kept, for how long, and what it costs: `drop`, `prune`, the daily work.

use crate::common::Repo;

/// A repository with `count` checkpoints, all different.
fn lane(count: usize) -> Repo {
    let repo = Repo::with(&[("a", "0\n")]);
    for number in 1..=count {
        repo.write("a", format!("{number}\n"));
        repo.git("checkpoint save -q").ok();
    }
    repo
}

/// Makes checkpoint `number` look as if it had been taken `days` ago; its new commit.
fn age(repo: &Repo, number: u32, days: u64) -> String {
    let name = format!("refs/harness/checkpoints/main/{number:03}");
    let old = repo.run(["cat-file", "commit", &name]).ok().out();
    let seconds = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
        - days * 86_400;
    let lines: Vec<String> = old
        .lines()
        .map(|line| match line.strip_prefix("author ") {
            Some(_) => format!("author git-harness <git-harness@localhost> {seconds} +0000"),
            None => line.to_owned(),
        })
        .collect();
    let commit = repo
        .feed("hash-object -t commit -w --stdin", lines.join("\n") + "\n")
        .ok()
        .out();
    repo.run(["update-ref", &name, &commit]).ok();
    commit
}

/// The numbers that are left of the lane `main`.
fn left(repo: &Repo) -> Vec<u32> {
    repo.checkpoints()
        .iter()
        .filter_map(|name| name.strip_prefix("refs/harness/checkpoints/main/"))
        .map(|number| number.parse().unwrap())
        .collect()
}

#[test]
fn drop_prints_the_id_that_brings_it_back() {
    let repo = lane(3);
    let commit = repo.oid("refs/harness/checkpoints/main/001");
    let index = repo.oid("refs/harness/indexes/main/001");
    let dropped = repo
        .git("checkpoint drop 1")
        .ok()
        .says("a 'git gc' frees about");
    assert!(
        dropped
            .out()
            .starts_with(&format!("dropped main/001 {commit}  "))
    );
    assert_eq!(left(&repo), [2, 3]);
    repo.git("rev-parse -q --verify refs/harness/indexes/main/001")
        .fails(1);
    repo.git("checkpoint undo 1").fails(128);
    repo.run(["update-ref", "refs/harness/checkpoints/main/001", &commit])
        .ok();
    assert_eq!(repo.oid(&index), index);
    repo.git("checkpoint undo 1 -y").ok();
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_number_that_was_dropped_is_not_given_again() {
    let repo = lane(3);
    repo.git("checkpoint drop 3 @{1} -q").ok().silent();
    assert_eq!(left(&repo), [1]);
    repo.git("checkpoint save").ok().prints("004");
    repo.git("checkpoint list -n 2").ok();
}

#[test]
fn drop_names_all_or_none() {
    let repo = lane(2);
    repo.git("checkpoint drop 1 7").fails(128).says("'7'");
    assert_eq!(left(&repo), [1, 2]);
    let plan = repo.git("checkpoint drop -n 1 1").ok();
    assert_eq!(plan.lines().len(), 1);
    assert!(plan.out().starts_with("would drop main/001 "));
    assert_eq!(left(&repo), [1, 2]);
}

#[test]
fn drop_asks_when_undo_stands_on_it() {
    let repo = lane(2);
    repo.git("checkpoint undo 1 -y").ok();
    repo.git("checkpoint drop 3")
        .fails(1)
        .says("undo or redo stands on main/003")
        .says("--yes");
    assert_eq!(left(&repo), [1, 2, 3]);
    repo.git("checkpoint drop 3 -y").ok();
    repo.git("checkpoint redo")
        .fails(128)
        .says("there is no checkpoint 'main/3'");
}

#[test]
fn drop_asks_about_another_worktree() {
    let repo = lane(1);
    let other = repo.worktree("other");
    other.git("checkpoint save -q").ok();
    repo.git("checkpoint drop other/1")
        .fails(1)
        .says("other/001 belongs to another worktree");
    repo.git("checkpoint drop other/1 --yes").ok();
    assert_eq!(left(&repo), [1]);
    other.git("checkpoint save").ok().prints("002");
}

#[test]
fn what_a_gc_frees_is_what_git_says() {
    let repo = Repo::with(&[("a", "0\n")]);
    // What does not compress: no two states share anything.
    let noise = |seed: u32| {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..50_000).map(next).collect::<Vec<u8>>()
    };
    for number in 1..=3 {
        repo.write("noise", noise(number));
        repo.git("checkpoint save -q").ok();
    }
    let size = |repo: &Repo| -> u64 {
        let counted = repo.git("count-objects -v").ok().out();
        let sum = ["size: ", "size-pack: "].map(|key| {
            let line = counted.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap().parse::<u64>().unwrap()
        });
        sum.iter().sum()
    };
    repo.git("gc -q --prune=now").ok();
    let before = size(&repo);
    let told = repo.git("checkpoint prune --keep 1 -y").ok().err();
    let told: f64 = told
        .split("about ")
        .nth(1)
        .and_then(|rest| rest.split(" KiB").next())
        .unwrap_or_else(|| panic!("{told}"))
        .parse()
        .unwrap();
    repo.git("gc -q --prune=now").ok();
    let freed = (before - size(&repo)) as f64;
    assert!(freed > 90.0 && (told - freed).abs() < 8.0, "{told} {freed}");
    assert_eq!(left(&repo), [3]);
    repo.git("checkpoint fsck").ok();
}

#[test]
fn prune_takes_what_is_old_and_not_among_the_newest() {
    let repo = lane(24);
    let old: Vec<String> = (1..=23).map(|number| age(&repo, number, 40)).collect();
    age(&repo, 4, 20);
    let plan = repo.git("checkpoint prune -n").ok().lines();
    assert_eq!(plan.len(), 3, "{plan:?}");
    let gone = repo.git("checkpoint prune").ok().lines();
    for (line, commit) in gone.iter().zip(&old) {
        assert!(line.contains(commit), "{line}");
    }
    assert_eq!(left(&repo), (4..=24).collect::<Vec<_>>());
    repo.git("checkpoint prune").ok().prints("").silent();
}

#[test]
fn the_expiry_is_a_setting() {
    let repo = lane(22);
    age(&repo, 1, 3);
    age(&repo, 2, 3);
    repo.git("config checkpoint.expire never").ok();
    repo.git("checkpoint prune").ok().prints("");
    repo.git("config checkpoint.expire 2.days").ok();
    repo.git("checkpoint prune").ok();
    assert_eq!(left(&repo), (3..=22).collect::<Vec<_>>());
    repo.git("config checkpoint.expire yesterday").ok();
    repo.git("checkpoint prune")
        .fails(128)
        .says("'yesterday' is no age");
}

#[test]
fn prune_by_count_and_by_age_is_asked() {
    let repo = lane(6);
    age(&repo, 1, 5);
    age(&repo, 2, 5);
    repo.git("checkpoint prune --keep 3")
        .fails(1)
        .says("this deletes 3 checkpoints")
        .says("--yes");
    assert_eq!(left(&repo).len(), 6);
    repo.git("checkpoint prune --older-than 2.days --keep 5 -y")
        .ok();
    assert_eq!(left(&repo), [2, 3, 4, 5, 6]);
    repo.git("checkpoint prune --older-than 2.days -y").ok();
    assert_eq!(left(&repo), [3, 4, 5, 6]);
    repo.git("checkpoint prune --keep 1 -y").ok();
    assert_eq!(left(&repo), [6]);
    repo.git("checkpoint prune --older-than soon -y").fails(128);
}

#[test]
fn the_way_back_from_an_undo_stays() {
    let repo = lane(3);
    repo.git("checkpoint undo 2 -y").ok();
    for number in 1..=4 {
        age(&repo, number, 5);
    }
    repo.git("checkpoint prune --keep 0 -y").ok();
    // 2 is the position, 4 the way back from the undo.
    assert_eq!(left(&repo), [2, 4]);
    repo.git("checkpoint redo").ok();
    assert_eq!(repo.read("a"), "3\n");
    // No longer needed, and younger than the expiry.
    repo.write("a", "later\n");
    repo.git("checkpoint save -q").ok();
    repo.git("checkpoint prune --keep 0 -y").ok();
    assert!(left(&repo).contains(&4));
    age(&repo, 4, 31);
    repo.git("checkpoint prune --keep 0 -y").ok();
    assert!(!left(&repo).contains(&4));
}

#[test]
fn prune_takes_one_lane_unless_all_are_meant() {
    let repo = lane(3);
    let other = repo.worktree("other");
    for text in ["1\n", "2\n"] {
        other.write("a", text);
        other.git("checkpoint save -q").ok();
    }
    repo.git("checkpoint prune --keep 1 -y").ok();
    assert_eq!(repo.checkpoints().len(), 3);
    repo.run([
        "worktree",
        "remove",
        "--force",
        other.root().to_str().unwrap(),
    ])
    .ok();
    // A removed worktree leaves its lane.
    repo.git("checkpoint prune --keep 1 --all -y").ok();
    assert_eq!(repo.checkpoints().len(), 2);
}

/// Drops and prunes in a repository of another kind.
#[track_caller]
fn drops_and_prunes(repo: &Repo) {
    repo.write("a", "0\n");
    repo.commit_all("base");
    for number in 1..=5 {
        repo.write("a", format!("{number}\n"));
        repo.git("checkpoint save -q").ok();
    }
    let commit = repo.oid("refs/harness/checkpoints/main/002");
    repo.git("checkpoint drop 2")
        .ok()
        .prints_first(&format!("dropped main/002 {commit}"));
    assert_eq!(left(repo), [1, 3, 4, 5]);
    repo.git("checkpoint prune --keep 2 -y").ok();
    assert_eq!(left(repo), [4, 5]);
    let refs = repo.git("for-each-ref --format='%(refname)' refs/harness");
    assert!(!refs.ok().out().contains("/001"), "index states go along");
    repo.git("gc -q --prune=now").ok();
    repo.run(["cat-file", "-e", &commit]).fails(1);
    repo.git("checkpoint save").ok().prints("006");
    repo.git("checkpoint undo 4 -y").ok();
    assert_eq!(repo.read("a"), "4\n");
    repo.git("checkpoint fsck").ok();
    repo.fsck();
}

impl crate::common::Outcome {
    /// Asserts that standard output begins with `start`.
    #[track_caller]
    fn prints_first(self, start: &str) -> Self {
        assert!(self.out().starts_with(start), "{self:?}");
        self
    }
}

#[test]
fn sha256_repositories_drop_and_prune() {
    drops_and_prunes(&Repo::init("--object-format=sha256"));
}

#[test]
fn reftable_repositories_drop_and_prune() {
    if let Some(repo) = Repo::reftable() {
        drops_and_prunes(&repo);
    }
}
