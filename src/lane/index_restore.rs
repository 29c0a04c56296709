//! Bringing the user's index back to what a checkpoint has: only the entries
//! that differ, in one `git update-index --index-info` (git-update-index(1)).

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode};
use gix::objs::{CommitRef, Kind};

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::git::quote::unquoted;
use crate::lane::find::{self, Checkpoint};
use crate::lane::index_state::FLAGS;
use crate::lane::trailer::Reader;
use crate::snapshot::difference::Trees;
use crate::snapshot::index::Index;
use crate::snapshot::sink::{Sink, Writing};
use crate::snapshot::tree::Builder;

/// Requires that nobody holds the index.
///
/// # Errors
/// When `index.lock` exists; it is git's, and we never remove it.
pub fn require_free(repo: &Repo) -> Result<()> {
    let lock = repo.git_dir().join("index.lock");
    if !lock.exists() {
        return Ok(());
    }
    Err(hinted(
        format!("cannot restore the index: '{}' exists", lock.display()),
        "another git is at work there, or one died; nothing was changed",
    ))
}

/// Whether the index differs from that of `target` in anything but stat data.
///
/// # Errors
/// When an object cannot be read.
pub fn differs(repo: &Repo, target: &Checkpoint) -> Result<bool> {
    let plan = Plan::make(repo, target)?;
    Ok(!plan.info.is_empty() || plan.flags.iter().any(|(_, paths)| !paths.is_empty()))
}

/// Gives the index the entries and flags that it had in `target`.
///
/// # Errors
/// When an object is missing or git refuses.
pub fn restore(repo: &Repo, target: &Checkpoint) -> Result<()> {
    let plan = Plan::make(repo, target)?;
    if !plan.info.is_empty() {
        repo.git_unhooked(["update-index", "-z", "--index-info"])
            .input(plan.info)
            .stdout()
            .context("cannot restore the index")?;
    }
    for (option, paths) in plan.flags {
        if paths.is_empty() {
            continue;
        }
        let input = joined(&paths);
        let child = if option == ADD {
            repo.git_unhooked(["add", "--intent-to-add", "--force", "--pathspec-file-nul"])
                .arg("--pathspec-from-file=-")
                .env("GIT_LITERAL_PATHSPECS", "1")
        } else {
            repo.git_unhooked(["update-index", option, "-z", "--stdin"])
        };
        child
            .input(input)
            .stdout()
            .context("cannot restore the flags of the index")?;
    }
    Ok(())
}

const ADD: &str = "--intent-to-add";

struct Plan {
    /// Lines for `--index-info`, each ended by NUL.
    info: Vec<u8>,
    /// Options of `update-index`, and the paths each is for.
    flags: Vec<(&'static str, Vec<BString>)>,
}

impl Plan {
    fn make(repo: &Repo, target: &Checkpoint) -> Result<Self> {
        let now = Index::load(repo)?;
        let then = Then::read(repo, target)?;
        let mut sink = Sink::new(repo, Writing::Nothing);
        sink.remember_trees();
        let staged_now = Builder {
            index: now.state(),
            stage: 0,
            sink: &sink,
            repo: repo.gix(),
        }
        .build(&[])?;
        let trees = Trees::new(repo, sink.tree_contents());
        let empty = repo.empty_tree();
        let staged_then = then.stages[0].unwrap_or(empty);
        let mut lines: BTreeMap<BString, Vec<(Mode, ObjectId, usize)>> = BTreeMap::new();
        for difference in trees.differences(staged_now, staged_then)? {
            let value = difference.new.map(|(mode, id)| (mode, id, 0));
            lines.insert(difference.path, value.into_iter().collect());
        }
        let mut conflicted: BTreeSet<BString> = marked(&now, |e| e.flags.stage_raw() != 0);
        for stage in &then.stages[1..] {
            for entry in trees.differences(empty, stage.unwrap_or(empty))? {
                conflicted.insert(entry.path);
            }
        }
        let intended_now = marked(&now, |e| e.flags.contains(Flags::INTENT_TO_ADD));
        let intended_then = then.flagged(0);
        let stale: Vec<&BString> = intended_now.difference(&intended_then).collect();
        for path in conflicted.iter().chain(stale) {
            let mut entries = Vec::new();
            for (stage, tree) in then.stages.iter().enumerate() {
                if let Some((mode, id)) = trees.value(tree.unwrap_or(empty), path.as_bstr())? {
                    entries.push((mode, id, stage));
                }
            }
            lines.insert(path.clone(), entries);
        }
        let mut info = Vec::new();
        let gone = ObjectId::null(repo.gix().object_hash());
        for (path, entries) in &lines {
            // First out with all stages, then in with those of then.
            line(&mut info, 0, gone, 0, path.as_bstr());
            for (mode, id, stage) in entries {
                line(&mut info, mode.bits(), *id, *stage, path.as_bstr());
            }
        }
        let mut flags = vec![(
            ADD,
            intended_then.difference(&intended_now).cloned().collect(),
        )];
        if then.has_flags {
            for (number, (_, flag)) in FLAGS.iter().enumerate().skip(1) {
                let now = marked(&now, |e| e.flags.contains(*flag));
                let then = then.flagged(number);
                // An entry that was written anew has lost its flags.
                let lost = then.iter().filter(|path| lines.contains_key(*path));
                let add = then.difference(&now).chain(lost).cloned().collect();
                flags.push((OPTIONS[number].0, add));
                // Nor has one of these any, if it is there at all.
                let kept = now
                    .difference(&then)
                    .filter(|path| !lines.contains_key(*path));
                flags.push((OPTIONS[number].1, kept.cloned().collect()));
            }
        }
        Ok(Plan { info, flags })
    }
}

/// The options that set and clear each of [`FLAGS`].
const OPTIONS: [(&str, &str); 3] = [
    (ADD, ""),
    ("--assume-unchanged", "--no-assume-unchanged"),
    ("--skip-worktree", "--no-skip-worktree"),
];

fn marked(index: &Index, is: impl Fn(&gix::index::Entry) -> bool) -> BTreeSet<BString> {
    let state = index.state();
    state
        .entries()
        .iter()
        .filter(|entry| is(entry))
        .map(|entry| entry.path(state).to_owned())
        .collect()
}

fn line(info: &mut Vec<u8>, mode: u32, id: ObjectId, stage: usize, path: &BStr) {
    info.extend(format!("{mode:06o} {id} {stage}\t").as_bytes());
    info.extend_from_slice(path);
    info.push(0);
}

fn joined(paths: &[BString]) -> Vec<u8> {
    let mut all = Vec::new();
    for path in paths {
        all.extend_from_slice(path);
        all.push(0);
    }
    all
}

/// The index of then.
struct Then {
    stages: [Option<ObjectId>; 4],
    flags: [BTreeSet<BString>; 3],
    has_flags: bool,
}

impl Then {
    fn read(repo: &Repo, target: &Checkpoint) -> Result<Self> {
        let mut then = Then {
            stages: [find::index_tree(repo, target)?, None, None, None],
            flags: Default::default(),
            has_flags: false,
        };
        let Some(commit) = target.record.index else {
            return Ok(then);
        };
        then.has_flags = true;
        let bytes = repo.object(commit, Kind::Commit)?;
        let parsed = CommitRef::from_bytes(&bytes, repo.gix().object_hash())
            .context("cannot read an index state")?;
        let message = Reader::new(parsed.message);
        let tree_bytes = repo.object(parsed.tree(), Kind::Tree)?;
        let tree = gix::objs::TreeRef::from_bytes(&tree_bytes, repo.gix().object_hash())
            .context("cannot read an index state")?;
        let child = |name: &str| {
            let found = tree.entries.iter().find(|e| e.filename == name);
            found.map(|e| e.oid.to_owned())
        };
        for (number, stage) in then.stages.iter_mut().enumerate().skip(1) {
            *stage = child(&number.to_string());
        }
        for ((key, _), paths) in FLAGS.iter().zip(&mut then.flags) {
            *paths = message.paths(key).into_iter().collect();
            if let Some(blob) = child(&key.to_ascii_lowercase()) {
                let lines = repo.object(blob, Kind::Blob)?;
                paths.extend(lines.lines().filter_map(|line| unquoted(line.as_bstr())));
            }
        }
        Ok(then)
    }

    fn flagged(&self, number: usize) -> BTreeSet<BString> {
        self.flags[number].clone()
    }
}
