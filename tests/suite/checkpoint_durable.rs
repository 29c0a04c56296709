//! What reaches the disk, and in which order, as the kernel sees it (strace): the
//! objects are durable before the ref that names them, and with
//! `checkpoint.fsync=never` nothing waits.

use crate::common::{Repo, missing};

/// One system call of a save that has ended.
#[derive(Debug)]
enum Call {
    /// A file, by its name at that moment.
    Sync(String),
    /// All that strace says of it: folders and names.
    Rename(String),
}

/// The syncs and renames of `command` in the order in which they ended.
#[track_caller]
fn calls(repo: &Repo, command: &str) -> Option<Vec<Call>> {
    if !repo.has_programs(&["strace"]) {
        return None;
    }
    let trace = repo.scene().join("trace");
    let traced = "strace -f -y -s 4096 -e trace=fsync,fdatasync,rename,renameat,renameat2";
    let probe = repo.sh(&format!("{traced} -o '{}' true", trace.display()));
    if probe.code() != Some(0) {
        missing("the right to trace a process");
        return None;
    }
    repo.sh_ours(&format!("{traced} -o '{}' {command}", trace.display()))
        .ok();
    let text = std::fs::read_to_string(trace).unwrap();
    // `<pid> fsync(4</path> <unfinished ...>`, and later `<pid> <... fsync resumed>) = 0`.
    let mut begun: Vec<(&str, &str)> = Vec::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let (process, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        if call.ends_with("<unfinished ...>") {
            begun.push((process, call));
        } else if call.starts_with("<...") {
            let at = begun.iter().position(|(other, _)| *other == process);
            let begun = begun.remove(at.unwrap()).1;
            calls.extend(parsed(begun).filter(|_| !has_failed(call)));
        } else {
            calls.extend(parsed(call).filter(|_| !has_failed(call)));
        }
    }
    assert!(begun.is_empty(), "{begun:?}");
    Some(calls)
}

/// A folder that is not there yet is made after the first try.
fn has_failed(call: &str) -> bool {
    call.contains(" = -1 ")
}

fn parsed(call: &str) -> Option<Call> {
    if call.starts_with("fsync(") || call.starts_with("fdatasync(") {
        let path = call.split_once('<')?.1.split_once('>')?.0;
        return Some(Call::Sync(path.to_owned()));
    }
    call.starts_with("rename")
        .then(|| Call::Rename(call.to_owned()))
}

/// Where in `calls` the objects were synced and where they got their names, and where
/// the checkpoint's ref was synced and got its name.
#[derive(Debug, Default)]
struct Order {
    object_syncs: Vec<usize>,
    object_names: Vec<usize>,
    ref_syncs: Vec<usize>,
    ref_names: Vec<usize>,
}

fn order(calls: &[Call]) -> Order {
    let mut order = Order::default();
    for (at, call) in calls.iter().enumerate() {
        let (path, objects, refs) = match call {
            Call::Sync(path) => (path, &mut order.object_syncs, &mut order.ref_syncs),
            Call::Rename(path) => (path, &mut order.object_names, &mut order.ref_names),
        };
        if path.contains("/objects/") {
            objects.push(at);
        } else if path.contains("refs/harness/checkpoints/") {
            refs.push(at);
        }
    }
    order
}

/// A repository with a checkpoint behind it and `new` files that no object has.
fn scene(new: usize) -> Repo {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.save("");
    for number in 0..new {
        repo.write(format!("new{number}"), format!("new {number}\n"));
    }
    repo
}

/// The number of objects of the repository: single ones, and in packs.
#[track_caller]
fn objects(repo: &Repo) -> (usize, usize, usize) {
    let counted = repo.git("count-objects -v").ok().out();
    let of = |key: &str| -> usize {
        let line = counted.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap().parse().unwrap()
    };
    (of("count: "), of("in-pack: "), of("packs: "))
}

#[test]
fn few_objects_are_each_durable_before_their_ref() {
    for setting in ["auto", "always"] {
        let repo = scene(3);
        let before = objects(&repo);
        let save = format!("git -c checkpoint.fsync={setting} checkpoint save");
        let Some(calls) = calls(&repo, &save) else {
            return;
        };
        let after = objects(&repo);
        // Three blobs, their tree, the checkpoint.
        assert_eq!(after.0 - before.0, 5, "{calls:#?}");
        assert_eq!(after.2, 0, "no pack");
        let order = order(&calls);
        assert_eq!(order.object_syncs.len(), 5, "{calls:#?}");
        assert_eq!(order.object_names.len(), 5, "{calls:#?}");
        in_order(&order, &calls, setting);
    }
}

#[test]
fn many_objects_are_one_pack_and_one_wait() {
    for setting in ["auto", "always"] {
        let repo = scene(30);
        let before = objects(&repo);
        let save = format!("git -c checkpoint.fsync={setting} checkpoint save");
        let Some(calls) = calls(&repo, &save) else {
            return;
        };
        let after = objects(&repo);
        assert_eq!((after.0, after.2), (before.0, 1), "{calls:#?}");
        assert_eq!(after.1, 32);
        let order = order(&calls);
        // The pack, its index, and the folder that has their names: not one each.
        assert_eq!(order.object_syncs.len(), 3, "{calls:#?}");
        assert_eq!(order.object_names.len(), 2, "{calls:#?}");
        in_order(&order, &calls, setting);
    }
}

/// Everything about the objects is done when the ref gets its name, and its value is on
/// disk; with `always` its name is, too, when the save ends.
#[track_caller]
fn in_order(order: &Order, calls: &[Call], setting: &str) {
    let [named] = order.ref_names[..] else {
        panic!("one ref gets its name: {calls:#?}");
    };
    let objects = order.object_syncs.iter().chain(&order.object_names);
    assert!(objects.max().unwrap() < &named, "{calls:#?}");
    let (value, name): (Vec<usize>, Vec<usize>) =
        order.ref_syncs.iter().partition(|at| *at < &named);
    assert_eq!(value.len(), 1, "{calls:#?}");
    assert_eq!(name.len(), usize::from(setting == "always"), "{calls:#?}");
}

#[test]
fn an_index_state_is_durable_before_its_ref() {
    let repo = scene(0);
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.write("a", "later\n");
    let Some(calls) = calls(&repo, "git checkpoint save") else {
        return;
    };
    let of = |call: &Call| {
        let (Call::Sync(text) | Call::Rename(text)) = call;
        text.contains("refs/harness/indexes/main/002")
    };
    let [Call::Sync(_), Call::Rename(_)] = calls.iter().filter(|c| of(c)).collect::<Vec<_>>()[..]
    else {
        panic!("{calls:#?}");
    };
}

/// A process that was killed in between leaves its lock files; the next one has the
/// lane to itself, so they are nobody's.
#[test]
fn what_a_killed_save_has_prepared_stands_in_nobodys_way() {
    let repo = scene(1);
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.write("a", "later\n");
    let refs = ["checkpoints", "indexes"].map(|kind| format!(".git/refs/harness/{kind}/main"));
    for folder in &refs {
        repo.write(format!("{folder}/002.lock"), "");
    }
    assert_eq!(repo.save("")["number"], 2);
    repo.git("rev-parse refs/harness/indexes/main/002").ok();
    for folder in &refs {
        let names = std::fs::read_dir(repo.path(folder)).unwrap();
        let locks = names.filter(|name| name.as_ref().unwrap().path().ends_with("002.lock"));
        assert_eq!(locks.count(), 0);
    }
    repo.fsck();
}

#[test]
fn eight_objects_are_single_files_and_nine_a_pack() {
    // With the tree and the checkpoint: two more objects than files.
    for (files, packs) in [(6, 0), (7, 1)] {
        let repo = scene(files);
        let before = objects(&repo);
        repo.save("");
        let after = objects(&repo);
        assert_eq!(after.2, packs, "{files} files");
        assert_eq!(after.0 + after.1 - before.0, files + 2);
        repo.fsck();
    }
}

#[test]
fn never_waits_for_nothing() {
    for new in [3, 30] {
        let repo = scene(new);
        let Some(calls) = calls(&repo, "git -c checkpoint.fsync=never checkpoint save") else {
            return;
        };
        let syncs = |call: &&Call| matches!(call, Call::Sync(_));
        assert_eq!(calls.iter().filter(syncs).count(), 0, "{calls:#?}");
        assert_eq!(order(&calls).ref_names.len(), 1, "{calls:#?}");
        repo.fsck();
    }
}

#[test]
fn auto_follows_what_the_user_says_of_gits_own_objects() {
    for (core, synced) in [("none", false), ("all", true), ("all,-loose-object", false)] {
        let repo = scene(3);
        let save = format!("git -c core.fsync={core} checkpoint save");
        let Some(calls) = calls(&repo, &save) else {
            return;
        };
        let order = order(&calls);
        assert_eq!(order.object_syncs.is_empty(), !synced, "{core} {calls:#?}");
        assert_eq!(order.ref_syncs.is_empty(), !synced, "{core} {calls:#?}");
    }
}

#[test]
fn safety_and_journal_are_durable_before_the_first_file_is_touched() {
    let repo = scene(3);
    repo.write("a", "2\n");
    let Some(calls) = calls(&repo, "git checkpoint undo 1 --others=revert") else {
        return;
    };
    let place = |wanted: &dyn Fn(&Call) -> bool| {
        calls
            .iter()
            .position(wanted)
            .unwrap_or_else(|| panic!("{calls:#?}"))
    };
    let is_sync = |call: &Call, of: &str| matches!(call, Call::Sync(path) if path.contains(of));
    let is_rename = |call: &Call, of: &str| matches!(call, Call::Rename(what) if what.contains(of));
    // Its value, and then its name.
    let value = place(&|call| is_sync(call, "refs/harness/checkpoints/main/002.lock"));
    let named = place(&|call| is_rename(call, "refs/harness/checkpoints/main/002.lock"));
    let safety = calls
        .iter()
        .rposition(|call| is_sync(call, "refs/harness/checkpoints/main/002"))
        .unwrap();
    assert!(value < named && named < safety, "{calls:#?}");
    let written = place(&|call| is_sync(call, "/harness/.tmp-"));
    let journal = place(&|call| is_rename(call, "/harness/restore\""));
    let first = place(&|call| is_rename(call, "/harness/stage>"));
    assert!(safety < written, "{calls:#?}");
    assert_eq!(written + 1, journal, "{calls:#?}");
    assert!(journal < first, "{calls:#?}");
}
