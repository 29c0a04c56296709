//! Any index and any changes as a tree: read back, it holds exactly what they say.
//! `cargo fuzz run tree`

#![no_main]

use std::collections::BTreeMap;

use git_harness::git::{BString, ObjectId, Repo};
use git_harness::snapshot::difference::Trees;
use git_harness::snapshot::sink::{Sink, Writing};
use git_harness::snapshot::tree::{Builder, Change};
use gix::index::State;
use gix::index::entry::{Flags, Mode, Stat};
use libfuzzer_sys::fuzz_target;

/// A file of the index, of the changes, or of both: name, id, what becomes of it.
type Input = Vec<(u16, u8, u8)>;

/// A name of up to four components, few enough that they meet.
fn name(number: u16) -> BString {
    let letters = [b"a".as_slice(), b"a.", b"a0", b"b"];
    let mut name = BString::default();
    for at in 0..=usize::from(number % 4) {
        if at > 0 {
            name.push(b'/');
        }
        name.extend_from_slice(letters[usize::from(number >> (2 + 2 * at)) % 4]);
    }
    name
}

thread_local! {
    static REPO: Repo = {
        let folder = std::env::temp_dir().join("git-harness-fuzz-tree");
        let made = std::process::Command::new("git")
            .args(["init", "-q"])
            .arg(&folder)
            .status();
        assert!(made.is_ok_and(|status| status.success()));
        Repo::at(&folder).expect("it was just made")
    };
}

fuzz_target!(|input: Input| {
    let mut indexed: BTreeMap<BString, ObjectId> = BTreeMap::new();
    let mut changed: BTreeMap<BString, Option<ObjectId>> = BTreeMap::new();
    for (number, id, fate) in input {
        let mut bytes = [1; 20];
        bytes[0] = id;
        let id = ObjectId::from_bytes_or_panic(&bytes);
        match fate % 4 {
            0 => drop(indexed.insert(name(number), id)),
            1 => drop(changed.insert(name(number), Some(id))),
            2 => drop(changed.insert(name(number), None)),
            _ => {
                indexed.insert(name(number), id);
                changed.insert(name(number), Some(id));
            }
        }
    }
    let mut expected = indexed.clone();
    for (path, id) in &changed {
        match id {
            Some(id) => drop(expected.insert(path.clone(), *id)),
            None => drop(expected.remove(path)),
        }
    }
    // A walk never gives a file and something below it, nor does an index hold it.
    let conflicts = |paths: &BTreeMap<BString, ObjectId>| {
        paths.keys().any(|path| {
            let mut folder = path.clone();
            folder.push(b'/');
            paths.keys().any(|other| other.starts_with(&folder))
        })
    };
    if conflicts(&indexed) || conflicts(&expected) {
        return;
    }
    let mut state = State::new(gix::hash::Kind::Sha1);
    for (path, id) in &indexed {
        let path = path.as_ref();
        state.dangerously_push_entry(Stat::default(), *id, Flags::empty(), Mode::FILE, path);
    }
    let changes: Vec<Change> = changed
        .into_iter()
        .map(|(path, id)| (path, id.map(|id| (Mode::FILE, id))))
        .collect();
    REPO.with(|repo| {
        let mut sink = Sink::new(repo, Writing::Nothing);
        sink.remember_trees();
        let builder = Builder {
            index: &state,
            stage: 0,
            sink: &sink,
            repo: repo.gix(),
        };
        let tree = builder.build(&changes).expect("nothing is written");
        let empty = sink
            .put(repo.gix(), gix::objs::Kind::Tree, Vec::new())
            .expect("nothing is written");
        let trees = Trees::new(repo, sink.tree_contents());
        let found: BTreeMap<BString, ObjectId> = trees
            .differences(empty, tree)
            .expect("all of it is in memory")
            .into_iter()
            .map(|difference| (difference.path, difference.new.expect("it is new").1))
            .collect();
        assert_eq!(found, expected);
    });
});
