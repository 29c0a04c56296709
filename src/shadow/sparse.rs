//! The sparse patterns of a removed shadow: kept with it, and given back instead of
//! those that a new worktree inherits.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::git::Repo;
use crate::state::{crash, file};

/// Where git keeps them, in the git folder of the worktree (git-sparse-checkout(1)).
const PATTERNS: &str = "info/sparse-checkout";

/// Sparse patterns as they were.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sparse {
    patterns: String,
    cone: bool,
    /// Whether the index may hold folders as one entry.
    index: bool,
}

/// Those of the shadow, if it has any.
///
/// # Errors
/// When they cannot be read.
pub(super) fn kept(shadow: &Repo) -> Result<Option<Sparse>> {
    if !is_on(shadow)? {
        return Ok(None);
    }
    let patterns = file::read(&shadow.git_dir().join(PATTERNS))?.unwrap_or_default();
    Ok(Some(Sparse {
        patterns: String::from_utf8_lossy(&patterns).into_owned(),
        cone: shadow.config_bool("core.sparseCheckoutCone", true)?,
        index: shadow.config_bool("index.sparse", false)?,
    }))
}

fn is_on(shadow: &Repo) -> Result<bool> {
    shadow.config_bool("core.sparseCheckout", false)
}

/// Makes the worktree a full one, before it has files.
///
/// # Errors
/// When git cannot write its configuration.
pub(super) fn switch_off(shadow: &Repo) -> Result<()> {
    match is_on(shadow)? {
        true => set(shadow, "core.sparseCheckout", false),
        false => Ok(()),
    }
}

/// Gives the patterns back; clean files outside of them go. Says what git says when
/// it cannot take all of them away.
///
/// # Errors
/// When they cannot be written.
pub(super) fn give_back(shadow: &Repo, sparse: &Sparse, warnings: &mut Vec<String>) -> Result<()> {
    crash::point();
    let path = shadow.git_dir().join(PATTERNS);
    file::make_folder(&shadow.git_dir().join("info"), shadow.sharing())?;
    file::replace(&path, sparse.patterns.as_bytes(), shadow.sharing(), false)?;
    set(shadow, "core.sparseCheckoutCone", sparse.cone)?;
    set(shadow, "index.sparse", sparse.index)?;
    set(shadow, "core.sparseCheckout", true)?;
    shadow
        .git_unhooked(["update-index", "-q", "--refresh"])
        .output()?;
    let applied = shadow.git_unhooked(["sparse-checkout", "reapply"]).stdout();
    if let Err(error) = applied {
        warnings.push(format!("the sparse patterns do not hold yet: {error:#}"));
    }
    Ok(())
}

fn set(shadow: &Repo, key: &str, value: bool) -> Result<()> {
    shadow
        .git_unhooked(["config", "--worktree", key])
        .arg(value.to_string())
        .stdout()
        .map(drop)
}
