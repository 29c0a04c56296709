//! What survives a loss of power: `checkpoint.fsync`, and the user's `core.fsync`.

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::sink::Writing;

/// What `checkpoint.fsync` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is synced.
    None,
    /// No power loss leaves a ref without its objects, or without its value.
    Ordered,
    /// And the checkpoint is on disk when we say its number.
    Full,
}

impl Durability {
    /// As configured.
    ///
    /// # Errors
    /// When the setting is none of its words.
    pub fn of(repo: &Repo) -> Result<Self> {
        Ok(
            match repo.config_word("checkpoint.fsync", &["auto", "always", "never"])? {
                "always" => Durability::Full,
                "never" => Durability::None,
                _ if core_fsync_covers_objects(repo.config_text("core.fsync").as_deref()) => {
                    Durability::Ordered
                }
                _ => Durability::None,
            },
        )
    }

    /// The same for a checkpoint right after which files are overwritten: some file
    /// systems bring those to disk before a name that nobody waited for.
    pub(super) fn of_safety(self) -> Self {
        match self {
            Durability::None => Durability::None,
            Durability::Ordered | Durability::Full => Durability::Full,
        }
    }

    /// How objects are written.
    pub fn writing(self) -> Writing {
        match self {
            Durability::None => Writing::Fast,
            Durability::Ordered | Durability::Full => Writing::Synced,
        }
    }
}

/// Whether a user who has set `core.fsync` (git-config(1)) wants new objects
/// synced; unset, we do it.
fn core_fsync_covers_objects(value: Option<&str>) -> bool {
    let Some(value) = value else { return true };
    let mut covers = false;
    for word in value.split(',').map(str::trim) {
        match word {
            "none" => covers = false,
            "loose-object" | "objects" | "added" | "all" => covers = true,
            "-loose-object" | "-objects" | "-added" | "-all" => covers = false,
            _ => {}
        }
    }
    covers
}

/// How objects are written in `repo`.
///
/// # Errors
/// When the setting is none of its words.
pub fn writing(repo: &Repo) -> Result<Writing> {
    Ok(Durability::of(repo)?.writing())
}
