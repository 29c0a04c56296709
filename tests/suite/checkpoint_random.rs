//! A long day in a repository, made up at random (the same each time): after
//! every act a checkpoint is git's own tree, and every checkpoint comes back.

use std::collections::BTreeMap;

use crate::common::{Disk, Repo};

/// Few names, so that files, folders and links meet each other's places.
const NAMES: &[&str] = &[
    "a", "b", "c", "a/x", "a/y/z", "b/x", "c/x/y", "d.d", "d", "d/e", "é",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.roll(NAMES.len())]
    }
}

/// One act of somebody; some do nothing, since their file is not there.
fn act(repo: &Repo, dice: &mut Dice) {
    let name = dice.name();
    match dice.roll(12) {
        0..=3 => {
            make_room(repo, name);
            repo.write(name, format!("{}\n", dice.roll(1000)));
        }
        4 => {
            make_room(repo, name);
            repo.link(dice.name(), name);
        }
        5 | 6 => {
            if repo.exists(name) {
                repo.remove(name);
            }
        }
        7 => {
            let other = dice.name();
            if repo.exists(name) && !other.starts_with(name) && !name.starts_with(other) {
                make_room(repo, other);
                repo.rename(name, other);
            }
        }
        8 => {
            if repo
                .path(name)
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_file())
            {
                repo.chmod(name, [0o644, 0o755][dice.roll(2)]);
            }
        }
        9 => {
            repo.run(["add", "-A", "--", name]);
        }
        10 => {
            repo.run(["rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", name]);
        }
        _ => {
            repo.git("commit -q --allow-empty -m x").ok();
        }
    }
}

/// Removes what has the place of `path`, or of a folder above it.
fn make_room(repo: &Repo, path: &str) {
    for (slash, _) in path.match_indices('/') {
        let folder = &path[..slash];
        let is_folder = repo
            .path(folder)
            .symlink_metadata()
            .is_ok_and(|meta| meta.is_dir());
        if repo.exists(folder) && !is_folder {
            repo.remove(folder);
        }
    }
    if repo.exists(path) {
        repo.remove(path);
    }
}

/// The files; a checkpoint knows no empty folders.
fn files(repo: &Repo) -> BTreeMap<String, String> {
    let Disk(found) = repo.disk();
    found
        .into_iter()
        .filter(|(path, _)| !path.ends_with('/'))
        .collect()
}

fn a_day(seed: u64) {
    let repo = Repo::with(&[("a", "0\n"), ("b/x", "0\n")]);
    let mut dice = Dice(seed);
    let mut days: Vec<(u64, BTreeMap<String, String>)> = Vec::new();
    for step in 0..25 {
        for _ in 0..=dice.roll(3) {
            act(&repo, &mut dice);
        }
        let oracle = repo.oracle_tree();
        let saved = repo.save("");
        assert_eq!(saved["tree"], oracle.as_str(), "seed {seed}, step {step}");
        days.push((saved["number"].as_u64().unwrap(), files(&repo)));
    }
    for step in 0..12 {
        let (number, expected) = &days[dice.roll(days.len())];
        let user = repo.fingerprint();
        repo.git(&format!("checkpoint undo {number} --others=revert"))
            .ok();
        assert_eq!(
            &files(&repo),
            expected,
            "seed {seed}, undo {step} to {number}"
        );
        assert_eq!(
            repo.fingerprint(),
            user,
            "seed {seed}, undo {step} to {number}"
        );
    }
    repo.fsck();
}

#[test]
fn one() {
    a_day(0x9e37_79b9_7f4a_7c15);
}

#[test]
fn two() {
    a_day(0xdead_beef_cafe_f00d);
}

/// As many steps as `HARNESS_TEST_STEPS` says (10,000 in the slow lane), a day at
/// a time, each with a seed of its own; one day without it.
#[test]
fn many() {
    let steps: u64 = std::env::var("HARNESS_TEST_STEPS")
        .ok()
        .and_then(|steps| steps.parse().ok())
        .unwrap_or(1);
    for day in 0..steps.div_ceil(37) {
        a_day(0x0123_4567_89ab_cdef ^ (day << 20));
    }
}
