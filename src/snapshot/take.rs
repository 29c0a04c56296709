//! Takes a snapshot: scan → blobs → tree, once, without turning back.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::Entry;
use gix::index::entry::Mode;

use crate::error::Result;
use crate::git::Repo;
use crate::git::head::Head;
use crate::snapshot::asked;
use crate::snapshot::attributes;
use crate::snapshot::built::Basis;
use crate::snapshot::cache::{Cache, Files};
use crate::snapshot::capture::{self, Capturer};
use crate::snapshot::clock;
use crate::snapshot::dirty;
use crate::snapshot::fresh;
use crate::snapshot::gather::Gathered;
use crate::snapshot::ignore::Ignore;
use crate::snapshot::include;
use crate::snapshot::index::Index;
use crate::snapshot::listed::Folders;
use crate::snapshot::prove;
use crate::snapshot::recall::recall;
use crate::snapshot::recased;
use crate::snapshot::refuse;
use crate::snapshot::root::Root;
use crate::snapshot::scan::{Skipped, Walk};
use crate::snapshot::sink::{Sink, Writing};
use crate::snapshot::sqlite;
use crate::snapshot::stat::Trust;
use crate::snapshot::tree::{Builder, Change};

/// How often a scan is made again whose HEAD or index moved under it.
const TRIES: usize = 3;

/// What is wanted of a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Whether objects are written, and how.
    pub writing: Writing,
    /// Paths to capture whatever the ignore rules and limits say.
    pub also: Vec<BString>,
    /// Pathspecs of ignored files to capture, besides `checkpoint.include`.
    pub include: Vec<BString>,
    /// Whether its trees can be read before they are written.
    pub readable: bool,
    /// Whether files are left out that git would never write to a disk again.
    pub restorable: bool,
    /// Another object store for new objects than the repository's own.
    pub apart: Option<PathBuf>,
}

/// The state of a working tree at one moment.
pub struct Snapshot {
    /// Its tree.
    pub tree: ObjectId,
    /// How it differs from the user's index, sorted by path.
    pub changes: Vec<Change>,
    /// What could not be captured, sorted by path.
    pub skipped: Vec<Skipped>,
    /// Paths stored as they are although a conversion applies, sorted.
    pub raw: Vec<BString>,
    /// Whether any conversion applies to any file.
    pub converts: bool,
    /// Files that were captured because they were declared, or asked for by name.
    pub included: BTreeSet<BString>,
    /// The pathspecs by which they were declared.
    pub include: Vec<BString>,
    /// HEAD, before and after.
    pub head: Head,
    /// The index, before and after.
    pub index: Index,
    /// HEAD or the index moved during every try: the snapshot is of no single moment.
    pub moved: bool,
    /// Where its objects are waiting to be written.
    pub sink: Sink,
    /// What the next snapshot may use, once this one has a ref.
    pub learnt: Learnt,
    /// The ref of the checkpoint whose objects were taken for granted, and where it was.
    pub anchor: Option<(String, ObjectId)>,
}

/// The side cache of the next snapshot, not yet written.
pub struct Learnt {
    cache: Cache,
    changed: bool,
    writing: Writing,
}

impl Learnt {
    /// Writes the side cache, anchored at the ref that keeps its ids.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn store(mut self, repo: &Repo, anchor: (String, ObjectId)) -> Result<()> {
        // An unchanged cache stays anchored where it is, as long as that ref stands.
        if self.writing == Writing::Nothing || !self.changed {
            return Ok(());
        }
        self.cache.anchor = Some(anchor);
        self.cache.store(repo)
    }
}

/// What a snapshot was made of, when its objects have been written.
pub struct Parts<'s> {
    /// Its tree.
    pub tree: ObjectId,
    /// HEAD at that moment.
    pub head: &'s Head,
    /// The user's index.
    pub index: &'s Index,
    /// [`Snapshot::anchor`].
    pub anchor: Option<&'s (String, ObjectId)>,
}

impl Parts<'_> {
    /// Whether every object that the snapshot did not write itself is still named
    /// by what named it then: the user's index, and the anchor.
    ///
    /// # Errors
    /// When the anchor's ref cannot be read.
    pub fn stand(&self, repo: &Repo) -> Result<bool> {
        let anchored = match self.anchor {
            Some((name, commit)) => repo.find_ref(name.as_str().into())? == Some(*commit),
            None => true,
        };
        Ok(anchored && self.index.is_current(repo))
    }
}

/// Takes a snapshot of the worktree of `repo`.
///
/// # Errors
/// When the worktree as a whole cannot be read, or an object not be written. A
/// path that cannot be captured is no error but listed.
pub fn take(repo: &Repo, request: &Request) -> Result<Snapshot> {
    let root = Root::open(repo.require_worktree()?)?;
    let mut tries = 0;
    loop {
        tries += 1;
        let head = repo.head()?;
        let index = Index::load(repo)?;
        let mut snapshot = take_once(repo, &root, request, head, index)?;
        let settled = snapshot.index.is_current(repo) && repo.head()? == snapshot.head;
        snapshot.moved = !settled;
        if settled || tries == TRIES {
            return Ok(snapshot);
        }
    }
}

fn take_once(
    repo: &Repo,
    root: &Root,
    request: &Request,
    head: Head,
    mut index: Index,
) -> Result<Snapshot> {
    refuse::home(repo, root)?;
    index.expand_present_folders(repo, root)?;
    refuse::too_many(repo, index.state().entries().len())?;
    let clock = match request.writing {
        Writing::Nothing => None,
        _ => Some(clock::touch(repo)?),
    };
    let shared = repo.gix().clone().into_sync();
    let trust = trust(repo)?;
    let ignore = Ignore::on_disk(&shared, index.state());
    let mut old = Cache::load(repo);
    let mut scan = Walk {
        root,
        index: index.state(),
        index_written: index.written(),
        ignore: &ignore,
        trust,
        ignore_case: repo.config_bool("core.ignoreCase", false)?,
        replaced: repo.replaced_objects()?,
        own_folders: own_folders(repo, root),
        folders: &Folders::of(root, &old.listed),
    }
    .run()?;
    refuse::too_many(repo, index.state().entries().len() + scan.candidates.len())?;

    let anchored = old.is_anchored(repo)?;
    let anchor = old.anchor.clone().filter(|_| anchored);
    let mut cache = Cache {
        listed: std::mem::take(&mut scan.listed),
        ..Cache::default()
    };
    cache
        .listed
        .retain(|folder| clock.is_some_and(|now| folder.is_settled(now)));
    let rules = attributes::survey(repo, root, index.state(), &scan)?;
    let mut doubtful: Vec<BString> = Vec::new();
    let mut proven = Vec::new();
    if rules.convert {
        let known: &[u64] = match old.fingerprint == rules.fingerprint {
            true => &old.proven,
            false => &[],
        };
        let proof = prove::prove(&shared, root, index.state(), &scan, known, rules.outside)?;
        doubtful = proof.doubtful.iter().map(|c| c.path.clone()).collect();
        scan.candidates.extend(proof.doubtful);
        scan.candidates.sort_by(|a, b| a.path.cmp(&b.path));
        cache.fingerprint = rules.fingerprint;
        proven = proof.proven;
    }
    let mut gathered = Gathered {
        index: index.state(),
        doubtful: &doubtful,
        clock,
        changes: Vec::with_capacity(scan.candidates.len() + scan.gone.len()),
        raw: Vec::new(),
        skipped: std::mem::take(&mut scan.skipped),
        files: Files::new(),
        proven,
    };
    gathered.skipped.extend(include::exclude(repo, &mut scan)?);
    let mut declared = include::configured(repo, "checkpoint.include");
    declared.extend(request.include.iter().cloned());
    let mut included = include::files(repo, root, &declared)?;
    included.retain(|path| !sqlite::is_companion(&root.join(path.as_bstr())));
    included.extend(request.also.iter().cloned());

    let mut sink = Sink::new(repo, request.writing);
    if let Some(folder) = &request.apart {
        sink.write_apart(folder);
    }
    if request.readable {
        sink.remember_trees();
    }
    if anchored {
        sink.trust(old.trees.iter().copied());
    }

    let known_before = old.files.len();
    let mut known = match old.fingerprint == cache.fingerprint {
        true => std::mem::take(&mut old.files),
        // It was stored under other rules.
        false => Files::new(),
    };
    recall(
        &mut scan.candidates,
        &mut known,
        |candidate, known| {
            // A database changes beside its main file, which then looks the same.
            !included.contains(&candidate.path) && (anchored || sink.reuse(repo.gix(), known.id))
        },
        |candidate, known| gathered.recalled(candidate, known),
    );
    let all_recalled = known.len() == known_before;
    gathered.files = known;
    gathered.skipped.extend(capture::limit(
        &mut scan.candidates,
        &request.also,
        repo.config_size("checkpoint.maxFileSize", 100 << 20)?,
        repo.config_size("checkpoint.maxNew", 2 << 30)?,
    ));
    asked::add(root, trust, &included, &index, &mut scan.candidates);
    let captures = Capturer {
        root,
        shared: &shared,
        index: index.state(),
        convert: rules.convert,
        sink: &sink,
        included: &included,
    }
    .all(&scan.candidates)?;
    for (candidate, capture) in scan.candidates.drain(..).zip(captures) {
        gathered.captured(candidate, capture);
    }
    let Gathered {
        mut changes,
        mut raw,
        mut skipped,
        mut files,
        mut proven,
        ..
    } = gathered;
    let same_files = all_recalled && files.len() == known_before;
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    debug_assert!(files.is_sorted_by(|(a, _), (b, _)| a < b));
    proven.sort_unstable();
    cache.proven = proven;
    changes.extend(scan.gone.drain(..).map(|path| (path, None)));
    changes.extend(
        scan.commits
            .drain(..)
            .map(|(path, id)| (path, Some((Mode::COMMIT, id)))),
    );
    changes.sort();
    changes.dedup_by(|later, earlier| later.0 == earlier.0 && keep_present(later, earlier));
    drop_indexed(&index, &mut changes);
    dirty::note(repo, root, &scan.submodules, &mut skipped);
    let named = raw
        .iter_mut()
        .chain(skipped.iter_mut().map(|s| &mut s.path));
    recased::rename(index.state(), &scan.recased, &mut changes, named);
    if request.restorable {
        changes.retain(|(path, value)| {
            let is_kept = value.is_none_or(|(mode, _)| fresh::is_restorable(path.as_bstr(), mode));
            if !is_kept {
                skipped.push(Skipped {
                    path: path.clone(),
                    reason: "git writes no such name".to_owned(),
                });
            }
            is_kept
        });
    }
    raw.sort();
    skipped.sort();
    skipped.dedup();

    let basis = Basis::of(index.file_stat(), &changes);
    let usable = basis.as_ref().filter(|_| anchored && !request.readable);
    let tree = match usable.and_then(|basis| basis.tree(old.built.as_ref())) {
        Some(tree) => {
            cache.trees.clone_from(&old.trees);
            tree
        }
        None => {
            let tree = Builder {
                index: index.state(),
                stage: 0,
                sink: &sink,
                repo: repo.gix(),
            }
            .build(&changes)?;
            cache.trees = sink.trees();
            tree
        }
    };
    cache.built = basis.and_then(|basis| basis.built(tree, clock));
    // What is known of files moved from the one to the other, or was compared above.
    old.files.clear();
    old.anchor = None;
    let changed = !(anchored && same_files && cache == old);
    cache.files = files;
    Ok(Snapshot {
        tree,
        changes,
        skipped,
        raw,
        converts: rules.convert,
        included,
        include: declared,
        head,
        index,
        moved: false,
        sink,
        learnt: Learnt {
            cache,
            changed,
            writing: request.writing,
        },
        anchor,
    })
}

/// A path may be both gone (the file) and there (what took its place in the same
/// moment): what is there counts. `None` sorts first.
fn keep_present(later: &Change, earlier: &mut Change) -> bool {
    earlier.1 = later.1;
    true
}

/// Takes out what the index says already. Both are sorted by path, so that each search
/// begins where the one before has ended, in steps that double.
fn drop_indexed(index: &Index, changes: &mut Vec<Change>) {
    let state = index.state();
    let entries = state.entries();
    let mut at = 0;
    changes.retain(|(path, now)| {
        let is_before = |entry: &Entry| entry.path(state) < path.as_bstr();
        let mut step = 1;
        while entries.get(at + step).is_some_and(is_before) {
            at += step;
            step *= 2;
        }
        let end = entries.len().min(at + step + 1);
        at += entries[at.min(end)..end].partition_point(is_before);
        match (entries.get(at), now) {
            // Of a conflict it may be another stage, which the tree will not have.
            (Some(entry), Some((mode, id))) => {
                !(entry.path(state) == path.as_bstr()
                    && entry.stage_raw() == 0
                    && entry.mode == *mode
                    && entry.id == *id
                    && !entry
                        .flags
                        .contains(gix::index::entry::Flags::INTENT_TO_ADD))
            }
            _ => true,
        }
    });
}

/// Our git folders, where they lie in the worktree under another name than `.git`.
pub(super) fn own_folders(repo: &Repo, root: &Root) -> Vec<BString> {
    [repo.git_dir(), repo.common_dir()]
        .iter()
        .filter_map(|folder| folder.strip_prefix(root.path()).ok())
        .map(crate::snapshot::root::bytes_of)
        .filter(|path| !path.is_empty())
        .collect()
}

/// What the file system can be trusted with.
///
/// # Errors
/// When a setting is no boolean.
pub(super) fn trust(repo: &Repo) -> Result<Trust> {
    Ok(Trust {
        executable_bit: repo.config_bool("core.fileMode", true)?,
        links: repo.config_bool("core.symlinks", true)?,
    })
}
