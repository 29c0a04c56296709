//! Which worktree this is, and which lane is its own.

use std::path::PathBuf;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::quote::quoted;
use crate::lane::record::Kind;
use crate::state::file;
use crate::state::lock::{self, Lock};

/// Where checkpoints are; below it `<lane>/<NNN>`.
pub const CHECKPOINTS: &str = "refs/harness/checkpoints/";
/// Where the index states of checkpoints are, likewise.
pub const INDEXES: &str = "refs/harness/indexes/";

/// The version of both files below.
const VERSION: &str = "1";

/// The lane of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name, one component of a ref.
    pub name: String,
    /// The random id of the worktree that owns it.
    pub worktree: String,
}

impl Lane {
    /// The lane of this worktree, if it has saved before.
    ///
    /// # Errors
    /// When the file that says so cannot be read.
    pub fn find(repo: &Repo) -> Result<Option<Self>> {
        let Some(bytes) = file::read(&id_path(repo))? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut words = text.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(VERSION), Some(worktree), Some(name)) => Ok(Some(Lane {
                name: name.to_owned(),
                worktree: worktree.to_owned(),
            })),
            _ => Ok(None),
        }
    }

    /// The lane of this worktree, made now if this is its first save.
    ///
    /// # Errors
    /// When its files cannot be written.
    pub fn establish(repo: &Repo, patience: Duration) -> Result<Self> {
        if let Some(lane) = Self::find(repo)? {
            return Ok(lane);
        }
        let guard = repo.shared_state().join("lanes.lock");
        let _lock = lock::alone(&guard, repo.sharing(), patience)?;
        if let Some(lane) = Self::find(repo)? {
            return Ok(lane);
        }
        let worktree = random_id()?;
        let wanted = wanted_name(repo);
        let taken = (repo.is_linked() && wanted == "main")
            || file::read(&counter_path(repo, &wanted))?.is_some()
            || !repo
                .refs_below(&format!("{CHECKPOINTS}{wanted}/"))?
                .is_empty();
        let name = if taken {
            format!("{wanted}-{}", &worktree[..6])
        } else {
            wanted
        };
        let lane = Lane { name, worktree };
        crate::state::crash::point();
        let line = format!("{VERSION} {} {}\n", lane.worktree, lane.name);
        file::replace(&id_path(repo), line.as_bytes(), repo.sharing(), true)?;
        Ok(lane)
    }

    /// Holds the lane for this process: numbers are given under this lock.
    ///
    /// # Errors
    /// When another process holds it for longer than `patience`.
    pub fn lock(&self, repo: &Repo, patience: Duration) -> Result<Lock> {
        let path = repo
            .shared_state()
            .join("lanes")
            .join(format!("{}.lock", self.name));
        lock::alone(&path, repo.sharing(), patience)
    }

    /// The highest number ever given in this lane, 0 for none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn highest(&self, repo: &Repo) -> Result<u32> {
        let counted = counter(repo, &self.name)?;
        match counted.get(2).and_then(|number| number.parse().ok()) {
            Some(number) => Ok(number),
            // The counter is lost: the refs that are left say the least it was.
            None => Ok(numbers(repo, &self.name)?.last().map_or(0, |(n, _)| *n)),
        }
    }

    /// Remembers that `number` has been given, to a checkpoint of this `kind`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn count(&self, repo: &Repo, number: u32, kind: Kind) -> Result<()> {
        let agents = is_evidence(kind) || had_agents(repo, &self.name)? == Some(true);
        let who = if agents { AGENTS } else { BY_HAND };
        let line = format!("{VERSION} {} {number} {who}\n", self.worktree);
        file::replace(
            &counter_path(repo, &self.name),
            line.as_bytes(),
            repo.sharing(),
            false,
        )
    }

    /// The ref of checkpoint `number`.
    pub fn checkpoint_ref(&self, number: u32) -> String {
        checkpoint_ref(&self.name, number)
    }

    /// The ref of the index state of checkpoint `number`.
    pub fn index_ref(&self, number: u32) -> String {
        format!("{INDEXES}{}/{number:03}", self.name)
    }
}

/// Whether a tool or a command was ever announced in `lane`, if its counter says so.
///
/// # Errors
/// When it cannot be read.
pub(super) fn had_agents(repo: &Repo, lane: &str) -> Result<Option<bool>> {
    Ok(match counter(repo, lane)?.get(3).map(String::as_str) {
        Some(AGENTS) => Some(true),
        Some(BY_HAND) => Some(false),
        _ => None,
    })
}

/// Whether a checkpoint of this kind says who is about to change something.
pub(super) fn is_evidence(kind: Kind) -> bool {
    matches!(kind, Kind::BeforeWrite | Kind::BeforeCommand)
}

const AGENTS: &str = "agents";
const BY_HAND: &str = "by-hand";

/// The words of a lane's counter: version, worktree id, highest number, and whether
/// agents were ever at work.
fn counter(repo: &Repo, lane: &str) -> Result<Vec<String>> {
    let bytes = file::read(&counter_path(repo, lane))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// The ref of checkpoint `number` of `lane`.
pub fn checkpoint_ref(lane: &str, number: u32) -> String {
    format!("{CHECKPOINTS}{lane}/{number:03}")
}

/// The numbers that exist in `lane`, ascending, with their commits.
///
/// # Errors
/// When the refs cannot be read.
pub fn numbers(repo: &Repo, lane: &str) -> Result<Vec<(u32, ObjectId)>> {
    let prefix = format!("{CHECKPOINTS}{lane}/");
    let mut numbers: Vec<(u32, ObjectId)> = repo
        .refs_below(&prefix)?
        .into_iter()
        .filter_map(|(name, id)| {
            let digits = name.strip_prefix(prefix.as_bytes())?.to_str().ok()?;
            Some((digits.parse().ok()?, id))
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn id_path(repo: &Repo) -> PathBuf {
    repo.own_state().join("id")
}

fn counter_path(repo: &Repo, lane: &str) -> PathBuf {
    repo.shared_state().join("lanes").join(lane)
}

/// `main`, or the name that git gave the linked worktree, as a ref component.
fn wanted_name(repo: &Repo) -> String {
    if !repo.is_linked() {
        return "main".to_owned();
    }
    let folder = repo.git_dir().file_name().unwrap_or_default();
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(folder);
    component(&quoted(bytes.as_bstr()))
}

/// `text` as one component of a ref (git-check-ref-format(1)) and a file name.
fn component(text: &str) -> String {
    let mut name: String = text
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
            '.' => '.',
            _ => '-',
        })
        .take(80)
        .collect();
    while name.contains("..") {
        name = name.replace("..", ".");
    }
    let name = name.trim_matches(|c| c == '.' || c == '-');
    let name = name.strip_suffix(".lock").unwrap_or(name);
    if name.is_empty() {
        "worktree".to_owned()
    } else {
        name.to_owned()
    }
}

fn random_id() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0_u8; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read random bytes")?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_folder_name_makes_a_component() {
        for (text, name) in [
            ("task-42", "task-42"),
            ("a b", "a-b"),
            ("..", "worktree"),
            ("x..y", "x.y"),
            (".hidden", "hidden"),
            ("branch.lock", "branch"),
            ("-", "worktree"),
            ("grün", "gr-n"),
        ] {
            assert_eq!(component(text), name);
        }
    }
}
