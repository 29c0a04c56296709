//! What is done by itself: old checkpoints expire, our objects, packs and refs
//! stay few, and nothing of the user's is touched.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, Instant, SystemTime};

use crate::common::Repo;

/// A repository whose work after a save is waited for.
fn waited_for() -> Repo {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.git("config gc.autoDetach false").ok();
    repo
}

/// Lets a day pass since the last time.
fn a_day_passes(repo: &Repo) {
    let stamp = File::options()
        .write(true)
        .open(repo.git_dir().join("harness/upkeep"))
        .unwrap();
    let before = SystemTime::now() - Duration::from_secs(90_000);
    stamp.set_modified(before).unwrap();
}

/// 21 checkpoints on one commit, the first of them long ago.
fn one_too_old() -> Repo {
    let repo = waited_for();
    repo.save("");
    let recent = repo.oid("refs/harness/checkpoints/main/001");
    let text = repo.run(["cat-file", "commit", &recent]).ok().out();
    let old: Vec<String> = text
        .lines()
        .map(|line| match line.strip_prefix("author ") {
            Some(_) => "author git-harness <git-harness@localhost> 1000000000 +0000".to_owned(),
            None => line.to_owned(),
        })
        .collect();
    let old = repo
        .feed("hash-object -t commit -w --stdin", old.join("\n") + "\n")
        .ok()
        .out();
    let name = |number: usize| format!("refs/harness/checkpoints/main/{number:03}");
    let mut commands = format!("update {} {old}\n", name(1));
    for number in 2..=20 {
        commands.push_str(&format!("create {} {recent}\n", name(number)));
    }
    repo.feed("update-ref --stdin", commands).ok();
    repo
}

#[test]
fn once_a_day_a_save_deletes_what_has_expired() {
    let repo = one_too_old();
    repo.save("");
    assert_eq!(repo.checkpoints().len(), 21);
    a_day_passes(&repo);
    repo.git("checkpoint save").ok().silent();
    assert_eq!(repo.checkpoints().len(), 20 + 1);
    assert!(repo.checkpoints()[0].ends_with("/002"));
}

#[test]
fn it_does_not_when_it_is_told_not_to() {
    let repo = one_too_old();
    a_day_passes(&repo);
    repo.git("config checkpoint.autoPrune false").ok();
    repo.save("");
    repo.save("");
    assert_eq!(repo.checkpoints().len(), 22);
}

#[test]
fn it_happens_in_the_background() {
    let repo = one_too_old();
    repo.save("");
    a_day_passes(&repo);
    repo.git("config --unset gc.autoDetach").ok();
    // Nobody waits for the streams of what goes on: this would hang.
    repo.git("checkpoint save").ok().silent();
    let begun = Instant::now();
    while repo.checkpoints().len() > 21 {
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}

/// The files in `objects/pack` with this extension.
fn packs(repo: &Repo, extension: &str) -> BTreeSet<String> {
    fs::read_dir(repo.common_dir().join("objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(extension))
        .collect()
}

/// Saves with `files` new files each, `saves` times.
fn many_saves(repo: &Repo, saves: usize, files: usize) {
    for save in 0..saves {
        for file in 0..files {
            repo.write(format!("file{file}"), format!("{save} {file}\n"));
        }
        repo.git("checkpoint save -q").ok();
    }
}

#[test]
fn many_saves_leave_few_packs_and_the_users_alone() {
    let repo = waited_for();
    repo.git("repack -a -d -q").ok();
    let users = packs(&repo, ".pack");
    many_saves(&repo, 15, 9);
    assert_eq!(packs(&repo, ".pack").len(), 15 + 1);
    many_saves(&repo, 1, 10);
    let after = packs(&repo, ".pack");
    assert_eq!(after.len(), 2, "{after:?}");
    assert!(after.is_superset(&users));
    assert_eq!(packs(&repo, ".keep").len(), 0);
    let list = fs::read_to_string(repo.git_dir().join("harness/packs")).unwrap();
    assert_eq!(list.lines().count(), 1);
    repo.git("fsck --strict").ok().silent();
    repo.git("checkpoint fsck").ok();
    assert!(
        repo.git("count-objects -v")
            .ok()
            .out()
            .contains("garbage: 0")
    );
}

#[test]
fn killed_at_any_point_it_loses_nothing() {
    let first = waited_for();
    many_saves(&first, 12, 9);
    for point in 1.. {
        let repo = first.duplicate();
        let killed = repo
            .env("HARNESS_TEST_CRASH", point.to_string())
            .git("checkpoint prune --auto");
        if killed.code() == Some(0) {
            assert!(point > 1);
            break;
        }
        repo.git("fsck --strict").ok();
        repo.git("checkpoint fsck").ok();
        repo.git("checkpoint prune --auto").ok().silent();
        assert_eq!(packs(&repo, ".idx").len(), 1);
        repo.git("checkpoint fsck").ok();
    }
}

#[test]
fn packs_are_left_where_they_must_not_go() {
    let first = waited_for();
    many_saves(&first, 10, 9);
    let unchanged = |forbid: &dyn Fn(&Repo)| {
        let repo = first.duplicate();
        forbid(&repo);
        repo.git("checkpoint prune --auto").ok().silent();
        assert_eq!(packs(&repo, ".pack").len(), 10);
    };
    unchanged(&|repo| fs::write(repo.git_dir().join("gc.pid"), "1 here\n").unwrap());
    unchanged(&|repo| {
        repo.git("multi-pack-index write").ok();
    });
    unchanged(&|repo| {
        repo.git("config core.repositoryFormatVersion 1").ok();
        repo.git("config extensions.preciousObjects true").ok();
    });
}

#[test]
fn many_loose_objects_of_ours_are_packed() {
    let repo = waited_for();
    for file in 0..1_100 {
        repo.write(format!("{}/{file}", file % 8), format!("{file}\n"));
    }
    repo.git("checkpoint save -q").ok();
    // The same as single files, as many small saves would have left it.
    let pack = repo.git_dir().join("objects/pack");
    let moved = repo.scene().join("pack");
    fs::rename(&pack, &moved).unwrap();
    for entry in fs::read_dir(&moved).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "pack") {
            repo.feed("unpack-objects -q", fs::read(path).unwrap()).ok();
        }
    }
    let users = repo
        .feed("hash-object -w --stdin", "the user's\n")
        .ok()
        .out();
    let loose = |repo: &Repo| -> usize {
        let counted = repo.git("count-objects").ok().out();
        counted.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(loose(&repo) > 1_100);
    repo.git("checkpoint prune --auto").ok().silent();
    // What is not ours: the commit with its tree and blob, and that one.
    assert!(loose(&repo) <= 4, "{}", loose(&repo));
    let path = format!("objects/{}/{}", &users[..2], &users[2..]);
    assert!(repo.git_dir().join(path).exists());
    repo.git("fsck --strict --no-dangling").ok().silent();
    repo.git("checkpoint fsck").ok();
}

#[test]
fn our_refs_are_packed_and_the_users_are_not() {
    let repo = waited_for();
    repo.git("branch other").ok();
    let commit = repo.save("")["commit"].as_str().unwrap().to_owned();
    let commands: String = (2..=250)
        .map(|number| format!("create refs/harness/checkpoints/main/{number:03} {commit}\n"))
        .collect();
    repo.feed("update-ref --stdin", commands).ok();
    repo.git("checkpoint prune --auto").ok().silent();
    let path = |name: &str| repo.git_dir().join("refs").join(name);
    let can = repo.git("pack-refs -h").out().contains("--[no-]include")
        || repo.git("pack-refs -h").out().contains("--include");
    assert_eq!(path("harness/checkpoints/main/099").exists(), !can);
    assert!(path("heads/other").exists());
    assert_eq!(repo.checkpoints().len(), 250);
    repo.git("checkpoint save").ok().prints("251");
    repo.git("checkpoint drop 99 251 -q").ok();
    assert_eq!(repo.checkpoints().len(), 249);
}

#[test]
fn ids_that_an_expired_checkpoint_kept_are_not_trusted() {
    let repo = one_too_old();
    repo.write("b", "only in checkpoints\n");
    let first = repo.save("");
    a_day_passes(&repo);
    repo.git("config checkpoint.expire now").ok();
    for number in 0..21 {
        repo.write("c", format!("{number}\n"));
        repo.git("checkpoint save -q").ok();
    }
    a_day_passes(&repo);
    repo.save("");
    let name = first["ref"].as_str().unwrap();
    repo.run(["rev-parse", "-q", "--verify", name]).fails(1);
    repo.git("gc -q --prune=now").ok();
    repo.save("");
    repo.git("checkpoint fsck").ok();
    repo.git("fsck --strict").ok();
}

/// A save that was killed between its counter and its ref; the next has another number.
#[test]
fn what_a_killed_save_has_prepared_goes_after_a_day() {
    let repo = waited_for();
    let lock = |number: &str| format!(".git/refs/harness/checkpoints/main/{number}.lock");
    repo.save("");
    for (number, age) in [("005", "2 days ago"), ("006", "now")] {
        repo.write(lock(number), "");
        repo.sh(&format!("touch -d '{age}' {}", lock(number))).ok();
    }
    a_day_passes(&repo);
    repo.write("a", "2\n");
    repo.save("");
    assert!(!repo.exists(lock("005")), "nobody's");
    assert!(repo.exists(lock("006")), "somebody may be at it");
}
