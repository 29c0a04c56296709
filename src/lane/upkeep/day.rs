//! All of it, in order.

use std::time::Duration;

use crate::error::Result;
use crate::git::Repo;
use crate::lane::expire::{self, KEEP, Rule, expired};
use crate::lane::identity::{CHECKPOINTS, INDEXES};
use crate::lane::needed::needed;
use crate::lane::upkeep::start::{is_daily_due, stamp};
use crate::lane::upkeep::{loose, packs};
use crate::lane::{find, remove};
use crate::snapshot::sink::clear_unfinished;
use crate::state::{file, lock};

/// Does what is due. Nothing, while another process does it or a gc of git's runs:
/// the next save comes soon.
///
/// # Errors
/// When a part of it fails; what was done stays good.
pub fn run(repo: &Repo) -> Result<()> {
    let guard = repo.shared_state().join("upkeep.lock");
    let Ok(_alone) = lock::alone(&guard, repo.sharing(), Duration::ZERO) else {
        return Ok(());
    };
    if repo.gc_runs() {
        return Ok(());
    }
    if is_daily_due(repo)? {
        // First: what fails shall not be tried again at each save.
        file::replace(&stamp(repo), b"1\n", repo.sharing(), false)?;
        clear_unfinished(&repo.objects_dir());
        for refs in [CHECKPOINTS, INDEXES] {
            repo.clear_unfinished_refs(refs);
        }
        if repo.config_bool("checkpoint.autoPrune", true)? {
            expire_all(repo)?;
        }
    }
    // Objects must never go from such a repository (git-config(1)).
    if !repo.config_bool("extensions.preciousObjects", false)? {
        loose::pack(repo)?;
        packs::consolidate(repo)?;
    }
    repo.pack_harness_refs()
}

fn expire_all(repo: &Repo) -> Result<()> {
    let expire = expire::configured(repo)?;
    let rule = Rule {
        keep: KEEP,
        older_than: Some(expire),
        expire,
    };
    let needed = needed(repo)?;
    for lane in find::lanes(repo)? {
        remove::remove(repo, &expired(repo, &lane, rule, &needed)?)?;
    }
    Ok(())
}
