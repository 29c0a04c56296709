//! What a recorded patch makes of a tree: in process where it is fully
//! understood, else by git. Both are compared with the record, so that the
//! fast way cannot be wrong silently.

use std::collections::VecDeque;

use gix::ObjectId;

use crate::error::{Context, Result, bail};
use crate::git::quote::quoted;
use crate::git::{ByteSlice, Kind};
use crate::replay::journal::Commit;
use crate::replay::patch::{self, Body, Change, binary, text};
use crate::replay::store::Store;
use crate::replay::tree::{Blocked, Leaf, Objects, Tree};
use crate::replay::{batch, promised};

const GITLINK: u32 = 0o160_000;

/// How many patches git is given at once, at most: each is two words of its
/// command line.
const MOST: usize = 4096;
/// By how much more git gets each time it is needed: where it is needed once,
/// one patch, and where it is needed always, soon all of them.
const GROWTH: usize = 8;

/// Applies patches one after the other.
pub(super) struct Applier {
    /// The tree that was made last, with what was read of it.
    last: Option<(ObjectId, Tree)>,
    /// Whether only git may apply from now on: a tree has left the record.
    pub(super) only_git: bool,
    /// What git has made already of the commits that come next: the recorded
    /// commit, the tree before, the tree after.
    ahead: VecDeque<(ObjectId, ObjectId, ObjectId)>,
    /// How many patches git gets next time.
    reach: usize,
}

/// What a patch made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Applied {
    /// This tree.
    Tree(ObjectId),
    /// Nothing: git refused it, in these words.
    Rejected(String),
}

/// Why the fast way was not gone.
enum Stop {
    /// Git may know more.
    AskGit,
    /// The patch writes through this link.
    Link(Vec<u8>),
}

impl Applier {
    pub(super) fn new() -> Self {
        Applier {
            last: None,
            only_git: false,
            ahead: VecDeque::new(),
            reach: 1,
        }
    }

    /// Applies the patch of the first of `commits` to the tree `base`. Those
    /// behind it are next, as far as they stand on each other.
    pub(super) fn apply(
        &mut self,
        store: &mut Store,
        base: ObjectId,
        commits: &[Commit],
    ) -> Result<Applied> {
        let commit = commits.first().context("there is a commit to make")?;
        if let Some((oid, before, tree)) = self.ahead.pop_front()
            && oid == commit.oid
            && before == base
        {
            return Ok(Applied::Tree(tree));
        }
        self.ahead.clear();
        let (patch, recorded) = (commit.patch.as_str(), commit.tree);
        if patch.is_empty() {
            return Ok(Applied::Tree(base));
        }
        if !self.only_git {
            let mut tree = match self.last.take() {
                Some((id, tree)) if id == base => tree,
                _ => Tree::at(base),
            };
            match natively(store, &mut tree, patch)? {
                Ok(id) if id == recorded => {
                    store.settle()?;
                    self.last = Some((id, tree));
                    return Ok(Applied::Tree(id));
                }
                Err(Stop::Link(link)) => {
                    bail!(
                        "its patch writes through the link '{}'",
                        quoted(link.as_bstr())
                    )
                }
                Ok(_) | Err(Stop::AskGit) => store.discard(),
            }
        }
        self.by_git(store, base, commits)
    }

    /// Gives git as many patches at once as go together.
    fn by_git(&mut self, store: &mut Store, base: ObjectId, commits: &[Commit]) -> Result<Applied> {
        let reach = if self.only_git { MOST } else { self.reach };
        let line = &commits[..line(commits).min(reach)];
        let touched = batch::readable(line.iter().map(|commit| commit.patch.as_str()));
        let all = line
            .iter()
            .map(|commit| commit.patch.as_str())
            .zip(&touched);
        let all: Vec<_> = all.collect();
        promised::for_git(store, base, &touched)?;
        let mut count = all.len();
        // Where git stops, at a patch or at what was said of it, it is told less.
        while count > 1 {
            if let Some(trees) = batch::trees(store, base, &all[..count])? {
                self.reach = (reach * GROWTH).min(MOST);
                let before = std::iter::once(base).chain(trees.iter().copied());
                let made = line.iter().zip(before).zip(&trees);
                self.ahead = made
                    .map(|((c, before), tree)| (c.oid, before, *tree))
                    .collect();
                let (.., first) = self.ahead.pop_front().context("a tree was made")?;
                return Ok(Applied::Tree(first));
            }
            count /= 2;
        }
        self.reach = (reach * GROWTH).min(MOST);
        alone(store, base, &commits[0].patch)
    }
}

/// How many of the first of `commits` each have the one before as first parent.
fn line(commits: &[Commit]) -> usize {
    let stands = |pair: &&[Commit]| match &pair[1].extension {
        Some(extension) => extension.parents.first() == Some(&pair[0].oid),
        None => true,
    };
    1 + commits.windows(2).take_while(stands).count()
}

fn alone(store: &mut Store, base: ObjectId, patch: &str) -> Result<Applied> {
    store.show_git()?;
    store
        .room()?
        .git(&["read-tree", &base.to_string()])
        .stdout()?;
    let output = store
        .room()?
        .git(&["apply", "--cached", "--binary", "--whitespace=nowarn", "-"])
        .input(patch)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("beyond a symbolic link") {
            bail!("its patch writes through a link: {}", said.trim());
        }
        return Ok(Applied::Rejected(said.trim().to_owned()));
    }
    let tree = store
        .room()?
        .git(&["write-tree", "--missing-ok"])
        .stdout()?;
    store.see_git()?;
    Ok(Applied::Tree(ObjectId::from_hex(tree.trim_ascii())?))
}

fn natively(
    store: &mut Store,
    tree: &mut Tree,
    patch: &str,
) -> Result<std::result::Result<ObjectId, Stop>> {
    let Ok(changes) = patch::parse(patch) else {
        return Ok(Err(Stop::AskGit));
    };
    let mut leaves = Vec::with_capacity(changes.len());
    for change in &changes {
        match leaf(store, tree, change)? {
            Some(leaf) => leaves.push(leaf),
            None => return Ok(Err(Stop::AskGit)),
        }
    }
    // All that goes first: a file may become a folder, and a folder a file.
    for change in changes.iter().filter(|change| change.is_deleted) {
        if !tree.remove(&change.path, store)? {
            return Ok(Err(Stop::AskGit));
        }
    }
    for (change, leaf) in changes.iter().zip(leaves) {
        let Some(leaf) = leaf else {
            continue;
        };
        if change.is_new && tree.leaf(&change.path, store)?.is_some() {
            return Ok(Err(Stop::AskGit));
        }
        match tree.put(&change.path, leaf, store)? {
            Ok(()) => {}
            Err(Blocked::ByLink(link)) => return Ok(Err(Stop::Link(link))),
            Err(Blocked::ByOther) => return Ok(Err(Stop::AskGit)),
        }
    }
    tree.write(store).map(Ok)
}

/// What `change` puts in its place, `Some(None)` for nothing; `None` when that
/// is not certain.
fn leaf(store: &mut Store, tree: &mut Tree, change: &Change<'_>) -> Result<Option<Option<Leaf>>> {
    let old = match change.is_new {
        true => None,
        false => match tree.leaf(&change.path, store)? {
            Some(old) => Some(old),
            None => return Ok(None),
        },
    };
    let is_recorded = match (old, change.ids) {
        (Some(old), Some((id, _))) => old.id == id,
        (Some(_), None) => matches!(change.body, Body::None),
        (None, Some((id, _))) => id.is_null(),
        (None, None) => false,
    };
    let is_mode_right = match (old, change.old_mode) {
        (Some(old), Some(mode)) => old.mode == mode,
        _ => true,
    };
    if !is_recorded || !is_mode_right {
        return Ok(None);
    }
    if change.is_deleted {
        return Ok(Some(None));
    }
    let Some(mode) = change.new_mode.or(old.map(|old| old.mode)) else {
        return Ok(None);
    };
    let Some((_, id)) = change.ids else {
        return Ok(old.map(|old| Some(Leaf { mode, id: old.id })));
    };
    let links = old.iter().map(|old| old.mode).chain([mode]);
    if links.clone().any(|mode| mode == GITLINK) {
        let is_plain = links.clone().all(|mode| mode == GITLINK) && names_commit(&change.body, id);
        return Ok(is_plain.then_some(Some(Leaf { mode, id })));
    }
    let before = |store: &Store| match old {
        Some(old) => store.content(old.id, Kind::Blob),
        None => Ok(Vec::new()),
    };
    let content = match &change.body {
        Body::None if old.is_none() => Some(Vec::new()),
        Body::None => None,
        Body::Text(hunks) => text::apply(&before(store)?, hunks),
        Body::Literal(size, lines) => binary::inflated(*size, lines),
        Body::Delta(size, lines) => match binary::inflated(*size, lines) {
            Some(delta) => binary::apply_delta(&before(store)?, &delta),
            None => None,
        },
    };
    let Some(content) = content.filter(|_| !is_odd(change, mode)) else {
        return Ok(None);
    };
    if store.id_of(Kind::Blob, &content)? != id {
        return Ok(None);
    }
    store.keep(Kind::Blob, content)?;
    Ok(Some(Some(Leaf { mode, id })))
}

/// A link in the place of a file that git reads itself: git refuses some of these.
fn is_odd(change: &Change<'_>, mode: u32) -> bool {
    let name = change
        .path
        .rsplit(|b| *b == b'/')
        .next()
        .unwrap_or_default();
    mode == 0o120_000 && name.to_ascii_lowercase().starts_with(b".git")
}

/// Whether a submodule's text hunk names the commit of its index line.
fn names_commit(body: &Body<'_>, id: ObjectId) -> bool {
    let Body::Text(hunks) = body else {
        return false;
    };
    let wanted = format!("Subproject commit {id}");
    let mut added = hunks
        .iter()
        .flat_map(|hunk| &hunk.lines)
        .filter(|line| line.tag == text::Tag::Add);
    added.next().is_some_and(|line| line.text == wanted) && added.next().is_none()
}
