//! Work that is not committed: tracked, untracked, staged, ignored. All of it goes
//! into the snapshot, up to a size for ignored files.

use std::collections::BTreeMap;

use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::git::head::Head;
use crate::git::quote::quoted;
use crate::shadow::dress::hash_of;
use crate::shadow::guards::walk::Walked;
use crate::shadow::guards::whose::{Maker, Whose};
use crate::shadow::guards::{Finding, Weight};
use crate::shadow::task::{How, Task};
use crate::snapshot::difference::{Difference, Trees};
use crate::snapshot::root::{Root, bytes_of};
use crate::snapshot::sink::{Sink, Writing};
use crate::snapshot::stat::FileKind;
use crate::snapshot::take::{self, Snapshot, take};
use crate::snapshot::tree::Builder;

/// What was found, and the snapshot that has it.
pub(super) struct Changes {
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<String>,
    pub(super) snapshot: Snapshot,
    pub(super) copies: Vec<BString>,
}

/// The sum of ignored files that a snapshot takes, in bytes.
fn trash_cap(repo: &Repo) -> Result<u64> {
    repo.config_size("shadow.trashMax", 256 << 20)
}

/// Looks, and takes the snapshot.
///
/// # Errors
/// When the worktree cannot be captured as a whole.
pub(super) fn look(
    repo: &Repo,
    shadow: &Repo,
    task: &Task,
    head: &Head,
    walk: &Walked,
    writing: Writing,
) -> Result<Changes> {
    let root = Root::open(&task.path)?;
    let mut notes = Vec::new();
    let mut findings = Vec::new();
    let (mut copies, changed_copies) = copies(&root, task);
    let mut ignored = walk.ignored.clone();
    ignored.extend(changed_copies.iter().chain(&copies).cloned());
    ignored.sort();
    let captured = within_cap(repo, &root, &ignored, &mut notes)?;
    // What is not in the snapshot waits in the trash folder like any other file.
    copies.retain(|path| captured.binary_search(path).is_ok());
    let snapshot = take(
        shadow,
        &take::Request {
            writing,
            also: captured,
            readable: true,
            restorable: true,
            ..take::Request::default()
        },
    )?;
    let trees = Trees::new(shadow, snapshot.sink.tree_contents());
    let head_tree = match head.commit {
        Some(commit) => shadow.tree_of(commit)?,
        None => shadow.empty_tree(),
    };
    let differences = trees.differences(head_tree, snapshot.tree)?;
    let (mut tracked, mut untracked) = (Vec::new(), Vec::new());
    let is_ours = |path: &BStr| {
        let mut made = task.manifest.iter().filter(|m| bytes_of(&m.path) == path);
        made.any(|m| m.how == How::Copied || m.is_untouched(&root, &task.source))
    };
    for difference in &differences {
        let path = difference.path.as_bstr();
        if ignored.binary_search(&difference.path).is_ok() || is_ours(path) {
            continue;
        }
        let is_known =
            difference.old.is_some() || snapshot.index.state().entry_by_path(path).is_some();
        match is_known {
            true => tracked.push((
                path.to_owned(),
                format!("{} {}", verb(difference), quoted(path)),
            )),
            false => untracked.push((path.to_owned(), quoted(path))),
        }
    }
    tracked.extend(staged_only(shadow, &snapshot, head_tree, &differences)?);
    let ignored = walk.ignored.iter().map(|path| (path.clone(), ()));
    let ignored: Vec<(BString, ())> = ignored.collect();
    let whose = match tracked.is_empty() && untracked.is_empty() && ignored.is_empty() {
        true => Whose::default(),
        false => Whose::of(shadow, &trees, snapshot.tree)?,
    };
    let mut add = |weight, kind, what: &str, maker: Option<Maker>, items: Vec<String>| {
        if !items.is_empty() {
            findings.push(Finding {
                weight,
                kind,
                what: format!("{what}{}", maker.map_or("", Maker::said)),
                items,
                maker,
            });
        }
    };
    let shown = |items: Vec<(BString, String)>| items.into_iter().map(|(_, text)| text).collect();
    for (maker, items) in whose.parted(tracked) {
        let what = "changes are not committed";
        add(Weight::Dirty, "changes", what, maker, shown(items));
    }
    for (maker, items) in whose.parted(untracked) {
        let what = "files are not tracked";
        add(Weight::Dirty, "untracked", what, maker, shown(items));
    }
    for (maker, items) in whose.parted(ignored) {
        let what = "ignored files that nothing can make again";
        let paths: Vec<BString> = items.into_iter().map(|(path, ())| path).collect();
        add(Weight::Dirty, "ignored", what, maker, by_folder(&paths));
    }
    add(
        Weight::Dirty,
        "copied",
        "copied files were changed",
        None,
        changed_copies.iter().map(|p| quoted(p.as_bstr())).collect(),
    );
    let nested = |path: &BString| walk.nested.contains(path);
    let mut skipped: Vec<String> = snapshot
        .skipped
        .iter()
        .filter(|s| !nested(&s.path) && !nested(&s.path.trim_end_with(|c| c == '/').into()))
        .map(|s| format!("{}: {}", quoted(s.path.as_bstr()), s.reason))
        .collect();
    skipped.extend(
        walk.unreadable
            .iter()
            .map(|path| format!("{}: cannot be read", quoted(path.as_bstr()))),
    );
    add(
        Weight::Ask,
        "skipped",
        "files cannot be captured; they stay in the trash folder",
        None,
        skipped,
    );
    Ok(Changes {
        findings,
        notes,
        snapshot,
        copies,
    })
}

fn verb(difference: &Difference) -> &'static str {
    match (&difference.old, &difference.new) {
        (None, _) => "new",
        (_, None) => "deleted",
        _ => "modified",
    }
}

/// What is staged and looks on disk as it does in HEAD.
fn staged_only(
    shadow: &Repo,
    snapshot: &Snapshot,
    head_tree: gix::ObjectId,
    seen: &[Difference],
) -> Result<Vec<(BString, String)>> {
    let mut sink = Sink::new(shadow, Writing::Nothing);
    sink.remember_trees();
    let staged = Builder {
        index: snapshot.index.state(),
        stage: 0,
        sink: &sink,
        repo: shadow.gix(),
    }
    .build(&[])?;
    let trees = Trees::new(shadow, sink.tree_contents());
    Ok(trees
        .differences(head_tree, staged)?
        .iter()
        .filter(|d| seen.binary_search_by(|s| s.path.cmp(&d.path)).is_err())
        .map(|d| {
            let text = format!("staged {}", quoted(d.path.as_bstr()));
            (d.path.clone(), text)
        })
        .collect())
}

/// The copies that we made: those that are as they were and whose source still has
/// the same content, and those that somebody changed.
fn copies(root: &Root, task: &Task) -> (Vec<BString>, Vec<BString>) {
    let (mut same, mut changed) = (Vec::new(), Vec::new());
    for made in task.manifest.iter().filter(|m| m.how == How::Copied) {
        let path = bytes_of(&made.path);
        // A folder in its place is looked at as any other; so is a link on the way.
        let stat = root.stat(path.as_bstr()).ok().flatten();
        if stat.is_none_or(|stat| stat.kind == FileKind::Folder) {
            continue;
        }
        let untouched = made.is_untouched(root, &task.source);
        let has_source = match &made.id {
            Some(id) => hash_of(&task.source.join(&made.path)).is_ok_and(|now| now == *id),
            None => true,
        };
        match untouched && has_source {
            true => same.push(path),
            false => changed.push(path),
        }
    }
    (same, changed)
}

/// Those ignored files that fit into the snapshot; the largest are left out first.
fn within_cap(
    repo: &Repo,
    root: &Root,
    ignored: &[BString],
    notes: &mut Vec<String>,
) -> Result<Vec<BString>> {
    let cap = trash_cap(repo)?;
    let mut sized: Vec<(u64, &BString)> = ignored
        .iter()
        .map(|path| {
            let stat = root.stat(path.as_bstr()).ok().flatten();
            (stat.map_or(0, |s| s.size), path)
        })
        .collect();
    sized.sort();
    let (mut sum, mut taken, mut left) = (0, Vec::new(), 0);
    for (size, path) in sized {
        sum += size;
        if sum <= cap {
            taken.push(path.clone());
        } else {
            left += 1;
        }
    }
    if left > 0 {
        notes.push(format!(
            "{left} ignored files beyond {} MiB (shadow.trashMax) are in no snapshot; they stay in \
             the trash folder until they expire",
            cap >> 20
        ));
    }
    taken.sort();
    Ok(taken)
}

/// One line a folder when it has many.
fn by_folder(paths: &[BString]) -> Vec<String> {
    let mut folders: BTreeMap<&BStr, Vec<&BString>> = BTreeMap::new();
    for path in paths {
        let folder = path.rfind_byte(b'/').map_or(&b""[..], |at| &path[..at]);
        folders.entry(folder.as_bstr()).or_default().push(path);
    }
    let mut lines = Vec::new();
    for (folder, files) in folders {
        if files.len() > 3 && !folder.is_empty() {
            lines.push(format!("{}/ ({} files)", quoted(folder), files.len()));
        } else {
            lines.extend(files.iter().map(|path| quoted(path.as_bstr())));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_of_a_folder_are_one_line() {
        let paths = ["a", "d/1", "d/2", "d/3", "d/4", "e/1"].map(BString::from);
        assert_eq!(by_folder(&paths), ["a", "d/ (4 files)", "e/1"]);
    }
}
