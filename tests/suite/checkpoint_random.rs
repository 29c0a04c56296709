//! A long day in a repository, made up at random (the same each time): acts, saves,
//! undos and redos in any order. Each save is git's own tree, and each undo and redo
//! gives the files of a plain copy kept beside.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Disk, Repo};

/// Few names, so that files, folders and links meet each other's places.
const NAMES: &[&str] = &[
    "a", "b", "c", "a/x", "a/y/z", "b/x", "c/x/y", "d.d", "d", "d/e", "é",
];

/// Paths, and what is there.
type Files = BTreeMap<String, String>;

/// Saves, undos and redos of one day.
const STEPS: usize = 25;

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
fn files(repo: &Repo) -> Files {
    let Disk(found) = repo.disk();
    found
        .into_iter()
        .filter(|(path, _)| !path.ends_with('/'))
        .collect()
}

/// What undo and redo have to do, by a plain copy of the files of each checkpoint.
#[derive(Default)]
struct Copies {
    /// The files of each checkpoint, and whether a bare undo may go there.
    of: BTreeMap<u64, (Files, bool)>,
    /// Where undo stands.
    at: Option<u64>,
    /// The files it left there.
    files: Option<Files>,
    /// For each redo that is possible: the files before the undo, and where it stood.
    undone: Vec<(Files, Option<u64>)>,
}

impl Copies {
    /// A save: what can be redone is forgotten with the first other state.
    fn saved(&mut self, number: u64, files: Files) {
        if self.files.as_ref().is_some_and(|known| *known != files) {
            *self = Copies {
                of: std::mem::take(&mut self.of),
                ..Copies::default()
            };
        }
        self.of.insert(number, (files, true));
    }

    /// Where a bare undo goes from `now`.
    fn before(&self, now: &Files) -> Option<u64> {
        let older = self.of.range(..self.at.unwrap_or(u64::MAX));
        older
            .rev()
            .find(|(_, (files, is_step))| *is_step && files != now)
            .map(|(number, _)| *number)
    }

    fn undone(&mut self, number: u64, safety: u64, before: Files) {
        self.of.insert(safety, (before.clone(), false));
        self.undone.push((before, self.at));
        self.at = Some(number);
        self.files = Some(self.of[&number].0.clone());
    }
}

/// Goes back: to any checkpoint, also one before an undo, or one step.
fn undo(repo: &Repo, dice: &mut Dice, copies: &mut Copies, note: &str) {
    let now = files(repo);
    let bare = dice.roll(2) == 0;
    let goal = if bare {
        copies.before(&now)
    } else {
        let at = dice.roll(copies.of.len());
        copies.of.keys().nth(at).copied()
    };
    let Some(number) = goal else {
        repo.git("checkpoint undo --others=revert").fails(1);
        assert_eq!(files(repo), now, "{note}, nothing to undo");
        return;
    };
    let named = if bare {
        String::new()
    } else {
        number.to_string()
    };
    let told = repo.undo(&format!("--others=revert {named}")).ok().json();
    let expected = copies.of[&number].0.clone();
    assert_eq!(files(repo), expected, "{note}, undo to {number}: {told}");
    if now == expected {
        assert!(told["safety"].is_null(), "{note}: {told}");
    } else {
        assert_eq!(told["restored"], number, "{note}");
        copies.undone(number, told["safety"].as_u64().unwrap(), now);
    }
}

/// One step forward.
fn redo(repo: &Repo, copies: &mut Copies, note: &str) {
    let now = files(repo);
    let redone = repo.git("checkpoint redo --others=revert --json");
    let Some((expected, from)) = copies.undone.pop() else {
        redone.fails(1).says("nothing to redo");
        assert_eq!(files(repo), now, "{note}, nothing to redo");
        return;
    };
    let told = redone.ok().json();
    assert_eq!(files(repo), expected, "{note}, redo: {told}");
    if let Some(safety) = told["safety"].as_u64() {
        copies.of.insert(safety, (now, false));
    }
    copies.at = from;
    copies.files = Some(expected);
}

/// Acts, saves, undos and redos as the dice fall.
fn a_day(seed: u64) {
    let repo = Repo::with(&[("a", "0\n"), ("b/x", "0\n")]);
    let mut dice = Dice(seed);
    let mut copies = Copies::default();
    for step in 0..STEPS {
        let note = format!("seed {seed:#x}, step {step}");
        let act_first = dice.roll(4) > 0;
        for _ in 0..=dice.roll(3) {
            if act_first {
                act(&repo, &mut dice);
            }
        }
        let user = repo.fingerprint();
        match dice.roll(8) {
            0 | 1 if !copies.of.is_empty() => undo(&repo, &mut dice, &mut copies, &note),
            2 | 3 => redo(&repo, &mut copies, &note),
            _ => {
                let oracle = repo.oracle_tree();
                let saved = repo.save("");
                assert_eq!(saved["tree"], oracle.as_str(), "{note}");
                copies.saved(saved["number"].as_u64().unwrap(), files(&repo));
            }
        }
        assert_eq!(repo.fingerprint(), user, "{note}");
    }
    // At the end of the day the same files are the same tree, whoever saved them, and
    // other files another.
    let listed = repo
        .git("for-each-ref --format='%(tree)' refs/harness/checkpoints")
        .ok();
    let trees = listed.lines();
    assert_eq!(trees.len(), copies.of.len());
    let mut known: BTreeMap<&Files, &String> = BTreeMap::new();
    for ((number, (files, _)), tree) in copies.of.iter().zip(&trees) {
        let same = known.entry(files).or_insert(tree);
        assert_eq!(*same, tree, "seed {seed:#x}, checkpoint {number}");
    }
    let distinct: BTreeSet<&String> = trees.iter().collect();
    assert_eq!(distinct.len(), known.len(), "seed {seed:#x}");
    repo.fsck();
    repo.git("checkpoint fsck").ok();
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
    for day in 0..steps.div_ceil(STEPS as u64) {
        a_day(0x0123_4567_89ab_cdef ^ (day << 20));
    }
}
