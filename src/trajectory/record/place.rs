//! Where an event belongs: the repository of the agent's project, of its folder, or of
//! what it writes; the one that the environment names, when it names one.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::Repo;
use crate::git::enclosing::enclosing;
use crate::trajectory::agent::tools::Doing;
use crate::trajectory::agent::{Moment, Told, Tools};

/// Whether the environment says which repository and which worktree is meant.
fn is_redirected() -> bool {
    ["GIT_DIR", "GIT_WORK_TREE"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The repository that the session of `told` is recorded in; `None` outside of any.
pub(super) fn repository(told: &Told) -> Result<Option<Repo>> {
    if is_redirected() {
        return Repo::discover().map(|repo| repo.worktree().is_some().then_some(repo));
    }
    let project = told.project.as_deref().and_then(enclosing);
    let place = project
        .or_else(|| enclosing(&told.cwd))
        .or_else(|| named(told).iter().find_map(|path| enclosing(path)));
    place.map(|place| Repo::at(&place.worktree)).transpose()
}

/// The paths that the call of `told` names as written.
fn named(told: &Told) -> Vec<PathBuf> {
    let (Moment::Before(call) | Moment::After(call, _)) = &told.moment else {
        return Vec::new();
    };
    match Tools::new(&told.session.agent, Vec::new()).doing(call, &told.cwd) {
        Doing::Writes(paths) | Doing::Unknown(paths) => paths,
        _ => Vec::new(),
    }
}

/// The root of the worktree that holds `path`, seen from `here`.
pub(super) fn worktree_of(here: &Repo, path: &Path) -> Option<PathBuf> {
    let found = enclosing(path).map(|place| place.worktree);
    let root = here.worktree().filter(|_| is_redirected());
    let Some(root) = root else { return found };
    let is_inside = path
        .ancestors()
        .find_map(|part| part.canonicalize().ok())
        .is_some_and(|real| real.starts_with(root));
    match found {
        Some(nested) if nested.starts_with(root) => Some(nested),
        _ if is_inside => Some(root.to_owned()),
        other => other,
    }
}

/// Opens the worktree at `root`.
pub(super) fn open(root: &Path) -> Result<Repo> {
    if is_redirected()
        && let Ok(repo) = Repo::discover()
        && repo.worktree() == Some(root)
    {
        return Ok(repo);
    }
    Repo::at(root)
}

/// Whether the user has said that nothing may be written without a checkpoint. Where git's
/// configuration cannot be read, the words of its files count.
pub(super) fn is_required(told: &Told) -> bool {
    let required = |repo: &Repo| {
        repo.config_text(KEY)
            .is_some_and(|value| value.eq_ignore_ascii_case("require"))
    };
    match repository(told) {
        Ok(Some(repo)) => required(&repo),
        Ok(None) => false,
        Err(_) => {
            let home = std::env::home_dir();
            let own = home
                .iter()
                .flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
            let theirs = enclosing(&told.cwd).map(|place| place.common_dir.join("config"));
            own.chain(theirs.filter(|path| is_own(path)))
                .any(|path| says_require(&path))
        }
    }
}

/// `checkpoint.onHook`.
const KEY: &str = "checkpoint.onHook";

/// A file of somebody else decides nothing.
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.metadata()
        .is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw())
}

fn says_require(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .to_ascii_lowercase()
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("onhook")?.split_once('='))
        .any(|(_, value)| value.trim().trim_matches('"').starts_with("require"))
}
