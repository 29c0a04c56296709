//! The ports of a user's shadows: one ledger for all repositories, so that no two
//! share a block, and a bind before one is given, so that nobody else has it.

use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::shadow::task::{Task, stored_path};
use crate::state::file::{self, Sharing};
use crate::state::lock::{self, Lock, PATIENCE};

const VERSION: u32 = 1;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Ledger {
    v: u32,
    blocks: Vec<Block>,
}

/// A range of ports and whose it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) start: u16,
    pub(super) size: u16,
    #[serde(with = "stored_path")]
    pub(super) repository: PathBuf,
    pub(super) slug: String,
    pub(super) task: String,
}

impl Block {
    fn overlaps(&self, start: u16, size: u16) -> bool {
        u32::from(start) < u32::from(self.start) + u32::from(self.size)
            && u32::from(self.start) < u32::from(start) + u32::from(size)
    }

    /// Whether its shadow is no more. Of a repository that cannot be seen now
    /// (another disk), nothing is known.
    pub(super) fn is_orphan(&self) -> bool {
        let shadows = self.repository.join("harness/shadows");
        self.repository.is_dir() && !shadows.join(format!("{}.json", self.slug)).exists()
    }
}

/// Gives a block to the shadow `task`, which must be stored already.
///
/// # Errors
/// When the settings are no ports, the ledger cannot be written, or none is free.
pub(super) fn allot(repo: &Repo, task: &Task) -> Result<u16> {
    let number = |key: &str, default: u64| -> Result<u16> {
        let value = repo.config_size(key, default)?;
        u16::try_from(value)
            .ok()
            .filter(|n| *n > 0)
            .with_context(|| format!("bad value '{value}' for '{key}'"))
    };
    let (base, size) = (
        number("shadow.portBase", 3001)?,
        number("shadow.portBlock", 10)?,
    );
    let candidates = (base..=u16::MAX - size).step_by(usize::from(size));
    let Some((mut ledger, _lock)) = open()? else {
        return match candidates.into_iter().find(|start| is_free(*start, size)) {
            Some(start) => Ok(start),
            None => bail!("no block of {size} ports is free from {base} up"),
        };
    };
    ledger.blocks.retain(|block| !block.is_orphan());
    for start in candidates {
        if !ledger.blocks.iter().any(|b| b.overlaps(start, size)) && is_free(start, size) {
            ledger.blocks.push(Block {
                start,
                size,
                repository: repo.common_dir().to_owned(),
                slug: task.slug.clone(),
                task: task.task.clone(),
            });
            store(&ledger)?;
            return Ok(start);
        }
    }
    bail!("no block of {size} ports is free from {base} up")
}

/// Takes the block of the shadow back.
///
/// # Errors
/// When the ledger cannot be written.
pub(super) fn release(repo: &Repo, slug: &str) -> Result<()> {
    let Some((mut ledger, _lock)) = open()? else {
        return Ok(());
    };
    let before = ledger.blocks.len();
    ledger
        .blocks
        .retain(|b| !(b.slug == slug && b.repository == repo.common_dir()));
    if ledger.blocks.len() == before {
        return Ok(());
    }
    store(&ledger)
}

/// The blocks that nobody holds any more.
///
/// # Errors
/// When the ledger cannot be read.
pub(super) fn orphans() -> Result<Vec<Block>> {
    Ok(match open()? {
        Some((ledger, _lock)) => ledger.blocks.into_iter().filter(Block::is_orphan).collect(),
        None => Vec::new(),
    })
}

/// Takes those back.
///
/// # Errors
/// When the ledger cannot be written.
pub(super) fn release_orphans() -> Result<()> {
    let Some((mut ledger, _lock)) = open()? else {
        return Ok(());
    };
    ledger.blocks.retain(|block| !block.is_orphan());
    store(&ledger)
}

fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".local/state")))?;
    Some(state.join("git-harness/ports.json"))
}

/// The ledger under its lock; `None` without a HOME.
fn open() -> Result<Option<(Ledger, Lock)>> {
    let Some(path) = path() else { return Ok(None) };
    let lock = lock::alone(&path.with_extension("lock"), Sharing::default(), PATIENCE)?;
    let read = file::read(&path)?.and_then(|bytes| serde_json::from_slice::<Ledger>(&bytes).ok());
    // Broken or of another version, the binds still tell what is taken.
    let ledger = read.filter(|l| l.v == VERSION).unwrap_or(Ledger {
        v: VERSION,
        blocks: Vec::new(),
    });
    Ok(Some((ledger, lock)))
}

fn store(ledger: &Ledger) -> Result<()> {
    crate::state::crash::point();
    let Some(path) = path() else { return Ok(()) };
    let bytes = serde_json::to_vec_pretty(ledger).context("cannot write the ports as JSON")?;
    file::replace(&path, &bytes, Sharing::default(), false)
}

/// Whether every port of the block can be bound now.
fn is_free(start: u16, size: u16) -> bool {
    (start..start + size).all(|port| {
        let any = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port));
        // A machine without IPv6 refuses for another reason than "in use".
        let six = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
        let in_use = |e: &std::io::Error| e.kind() == std::io::ErrorKind::AddrInUse;
        any.is_ok() && !six.is_err_and(|e| in_use(&e))
    })
}
