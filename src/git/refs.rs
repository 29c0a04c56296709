//! Refs of ours, and the reading of all others. Our own never run a hook,
//! never write a reflog, and go through git where gix cannot (reftable).

use std::io::ErrorKind;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::refs::Target;
use gix::refs::transaction::{Change, PreviousValue, RefEdit, RefLog};

use crate::error::{Context, Result};
use crate::git::Repo;

/// How a repository stores its refs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    Files,
    /// gix opens a reftable repository and then writes loose refs that git never sees.
    Reftable,
}

impl Backend {
    pub(super) fn of(config: &gix::config::Snapshot<'_>) -> Self {
        match config.string("extensions.refStorage") {
            Some(name) if name != "files" => Backend::Reftable,
            _ => Backend::Files,
        }
    }

    pub(super) fn is_files(self) -> bool {
        self == Backend::Files
    }
}

impl Repo {
    /// What the ref called `name` (in full) points at; symbolic refs are followed.
    ///
    /// # Errors
    /// When it exists and cannot be read.
    pub fn find_ref(&self, name: &BStr) -> Result<Option<ObjectId>> {
        if !self.backend().is_files() {
            let argument = name.to_os_str().context("a ref name must be UTF-8")?;
            let line = self
                .git([
                    "rev-parse".as_ref(),
                    "--verify".as_ref(),
                    "-q".as_ref(),
                    argument,
                ])
                .answer()?;
            return line.map(|line| hex(&line)).transpose();
        }
        if let Some(found) = self.of_ours(name) {
            return Ok(found);
        }
        let found = self
            .gix()
            .try_find_reference(name)
            .with_context(|| format!("cannot read the ref '{name}'"))?;
        let Some(mut found) = found else {
            return Ok(None);
        };
        match found.target() {
            gix::refs::TargetRef::Object(id) => Ok(Some(id.to_owned())),
            gix::refs::TargetRef::Symbolic(_) => Ok(found.follow_to_object().ok().map(Into::into)),
        }
    }

    /// Whether the ref called `name` (in full) points at another ref, there or not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_symbolic_ref(&self, name: &str) -> Result<bool> {
        if !self.backend().is_files() {
            let target = self.git(["symbolic-ref", "-q", name]).answer()?;
            return Ok(target.is_some());
        }
        let found = self
            .gix()
            .try_find_reference(name)
            .with_context(|| format!("cannot read the ref '{name}'"))?;
        Ok(found.is_some_and(|found| matches!(found.target(), gix::refs::TargetRef::Symbolic(_))))
    }

    /// A ref of ours; `None` where its file is of another kind than ours. gix looks in six
    /// places for each, several times a save.
    fn of_ours(&self, name: &BStr) -> Option<Option<ObjectId>> {
        if !name.starts_with(OURS.as_bytes()) {
            return None;
        }
        let file = self.common_dir().join(name.to_os_str().ok()?);
        match std::fs::read(file) {
            Ok(line) => Some(Some(ObjectId::from_hex(line.trim_ascii()).ok()?)),
            // Whoever packs a ref removes its file last.
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let Some(packed) = self.gix().refs.cached_packed_buffer().ok()? else {
                    return Some(None);
                };
                let found = packed.try_find(name).ok()?;
                let found = found.filter(|found| found.name.as_bstr() == name);
                Some(found.map(|found| found.target()))
            }
            Err(_) => None,
        }
    }

    /// All refs below `prefix` (which ends with a slash), by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(BString, ObjectId)>> {
        let mut found = Vec::new();
        if self.backend().is_files() {
            let all = self.gix().references()?;
            for reference in all.prefixed(prefix)? {
                let reference = match reference {
                    Ok(reference) => reference,
                    // Deleted while we were listing.
                    Err(_) => continue,
                };
                if let gix::refs::TargetRef::Object(id) = reference.target() {
                    found.push((reference.name().as_bstr().to_owned(), id.to_owned()));
                }
            }
        } else {
            let listed = self
                .git(["for-each-ref", "--format=%(objectname) %(refname)", prefix])
                .stdout()?;
            for line in listed.lines() {
                if let Some((id, name)) = line.split_once_str(" ") {
                    found.push((name.into(), hex(id)?));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Makes the ref `name`, which must not exist. With `synced` it is durable when this
    /// returns, and its value before its name.
    ///
    /// # Errors
    /// When it exists or cannot be written.
    pub fn create_ref(&self, name: &str, target: ObjectId, synced: bool) -> Result<()> {
        let new = self.new_ref(name, target)?;
        if synced {
            new.sync()?;
        }
        new.publish(self, synced)
    }

    /// Deletes the ref `name` if it still points at `expected`.
    ///
    /// # Errors
    /// When it points elsewhere or cannot be deleted.
    pub fn delete_ref(&self, name: &str, expected: ObjectId) -> Result<()> {
        if !self.backend().is_files() {
            return self.update_by_git(format!("delete {name}\0{expected}\0"));
        }
        self.edit_ref(
            name,
            Change::Delete {
                expected: PreviousValue::MustExistAndMatch(Target::Object(expected)),
                log: RefLog::AndReference,
            },
        )
    }

    /// Deletes many refs at once, each only if it still points at its id. Through
    /// git, which rewrites packed refs once for all of them.
    ///
    /// # Errors
    /// When one points elsewhere or cannot be deleted; then all may still be there.
    pub fn delete_refs(&self, refs: &[(String, ObjectId)]) -> Result<()> {
        if refs.is_empty() {
            return Ok(());
        }
        let commands: String = refs
            .iter()
            .map(|(name, expected)| format!("delete {name}\0{expected}\0"))
            .collect();
        self.update_by_git(commands)
    }

    /// Puts our loose refs, when they are many, into packed-refs, and nobody else's.
    /// git can do that since 2.42; an older one leaves them as they are.
    ///
    /// # Errors
    /// When git cannot be started.
    pub fn pack_harness_refs(&self) -> Result<()> {
        if !self.backend().is_files() || count(&self.common_dir().join("refs/harness")) <= MANY {
            return Ok(());
        }
        // An unknown option, or a lock that somebody holds: another time.
        self.git_unhooked(["pack-refs", "--include", "refs/harness/*"])
            .output()
            .map(drop)
    }

    fn edit_ref(&self, name: &str, change: Change) -> Result<()> {
        let edit = RefEdit {
            change,
            name: name
                .try_into()
                .with_context(|| format!("'{name}' is no valid ref name"))?,
            deref: false,
        };
        let mut silent = self.gix().clone();
        // core.logAllRefUpdates=always must not give our refs a reflog.
        silent.refs.write_reflog = gix::refs::store::WriteReflog::Disable;
        silent
            .edit_references_as(Some(edit), None)
            .with_context(|| format!("cannot update the ref '{name}'"))?;
        Ok(())
    }

    pub(super) fn update_by_git(&self, commands: String) -> Result<()> {
        self.git_unhooked(["update-ref", "--stdin", "-z", "--no-deref"])
            .input(commands)
            .stdout()?;
        Ok(())
    }
}

/// What all our refs begin with.
const OURS: &str = "refs/harness/";

/// As few loose refs as this are no burden.
const MANY: usize = 64;

/// The number of files in `folder` and below.
fn count(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            _ => 1,
        })
        .sum()
}

fn hex(line: &[u8]) -> Result<ObjectId> {
    ObjectId::from_hex(line.trim_ascii())
        .with_context(|| format!("git printed no object id but '{}'", line.as_bstr()))
}
