//! Where a shadow lives: outside the checkout, in a folder of its repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::shadow::entry::main_worktree;
use crate::shadow::name::short_hash;

/// The link in a repository's folder that says whose it is.
const MARK: &str = ".repository";

/// The path of a shadow by `shadow.path`, not yet made.
///
/// # Errors
/// When there is no HOME, or it would lie inside the checkout unasked.
pub(super) fn default(repo: &Repo, slug: &str, branch: &str) -> Result<PathBuf> {
    let configured = repo.config_text("shadow.path");
    let asked = configured.is_some();
    let mut template = configured.unwrap_or_else(|| "~/.worktrees/{repo}/{task}".to_owned());
    if !template.contains("{task}") {
        template.push_str("/{task}");
    }
    let template = expand_home(&template)?;
    let name = repository_name(repo);
    let with = |name: &str| {
        let now = jiff::Timestamp::now().to_zoned_datetime(jiff::tz::TimeZone::system());
        let date = now.strftime("%Y-%m-%d").to_string();
        template
            .replace("{repo}", name)
            .replace("{task}", slug)
            .replace("{branch}", &branch.replace('/', "-"))
            .replace("{date}", &date)
    };
    let mut path = absolute(repo, Path::new(&with(&name)))?;
    if template.contains("{repo}") && is_foreign(repo, &path) {
        let hash = short_hash(&repo.common_dir().to_string_lossy());
        path = absolute(repo, Path::new(&with(&format!("{name}-{hash}"))))?;
    }
    if !asked && let Some(root) = containing_checkout(repo, &path) {
        return Err(hinted(
            format!(
                "'{}' would lie inside the checkout '{}'",
                path.display(),
                root.display()
            ),
            "say where shadows may live: 'git config shadow.path <folder>'",
        ));
    }
    Ok(path)
}

/// # Errors
/// When `path` is in the repository's own folder.
pub(super) fn require_outside_git(repo: &Repo, path: &Path) -> Result<()> {
    if path.starts_with(repo.common_dir()) {
        return Err(hinted(
            format!("'{}' is in the repository's own folder", path.display()),
            "name another with '--path <folder>'",
        ));
    }
    Ok(())
}

/// The worktree of this repository that `path` is in.
pub(super) fn containing_checkout(repo: &Repo, path: &Path) -> Option<PathBuf> {
    let main = main_worktree(repo).into_iter();
    main.chain(repo.worktree().map(Path::to_owned))
        .find(|root| path.starts_with(root))
}

/// Where the program was started; the folder may be gone or moved by now.
pub(super) fn here() -> &'static Path {
    static HERE: OnceLock<PathBuf> = OnceLock::new();
    HERE.get_or_init(|| std::env::current_dir().unwrap_or_default())
}

/// The repository as the main worktree sees it: no child of ours may start in a
/// folder, or from git's entry of it, that is about to go.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn home(repo: Repo) -> Result<Repo> {
    match repo.is_linked() {
        true => Repo::at(repo.common_dir()),
        false => Ok(repo),
    }
}

/// Makes the folders above `path` and marks the innermost as this repository's.
///
/// # Errors
/// When they cannot be made.
pub(super) fn prepare(repo: &Repo, path: &Path) -> Result<()> {
    let parent = path
        .parent()
        .with_context(|| format!("'{}' has no folder above it", path.display()))?;
    fs::create_dir_all(parent)
        .map_err(|e| crate::state::file::explain(e, parent))
        .with_context(|| format!("cannot make the folder '{}'", parent.display()))?;
    if containing_checkout(repo, parent).is_none() && repo.config("shadow.path").is_none() {
        // A mark that is there already says the same: `default` has looked.
        let _ = symlink(repo.common_dir(), parent.join(MARK));
    }
    Ok(())
}

/// The mark above `path`, when the last shadow of the repository has gone.
pub(super) fn tidy(path: &Path) {
    let Some(parent) = path.parent() else { return };
    let only_mark = fs::read_dir(parent).is_ok_and(|entries| {
        let names: Vec<_> = entries.flatten().map(|e| e.file_name()).collect();
        names.iter().all(|name| name == MARK) && !names.is_empty()
    });
    if only_mark && fs::remove_file(parent.join(MARK)).is_ok() {
        let _ = fs::remove_dir(parent);
    }
}

fn is_foreign(repo: &Repo, path: &Path) -> bool {
    let mark = path.parent().map(|parent| parent.join(MARK));
    mark.and_then(|mark| fs::read_link(mark).ok())
        .is_some_and(|owner| owner != repo.common_dir())
}

/// `project` for `project`, `project/.git`, `project/.bare` and `project.git`.
pub(super) fn repository_name(repo: &Repo) -> String {
    let main = main_worktree(repo);
    let common = repo.common_dir();
    let hidden = common
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let folder = match (&main, hidden) {
        (Some(root), _) => root.as_path(),
        (None, true) => common.parent().unwrap_or(common),
        (None, false) => common,
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".git").unwrap_or(&name).to_owned();
    if name.is_empty() {
        "repository".to_owned()
    } else {
        name
    }
}

fn expand_home(template: &str) -> Result<String> {
    match template.strip_prefix("~/") {
        None => Ok(template.to_owned()),
        Some(rest) => {
            let home = std::env::var("HOME").ok().filter(|home| !home.is_empty());
            let home = home.ok_or_else(|| {
                hinted(
                    "there is no HOME to put shadows in",
                    "say where: 'git config shadow.path <folder>', or '--path <folder>'",
                )
            })?;
            Ok(format!("{home}/{rest}"))
        }
    }
}

/// A relative path starts at the main worktree, wherever we are.
fn absolute(repo: &Repo, path: &Path) -> Result<PathBuf> {
    let start = main_worktree(repo).unwrap_or_else(|| repo.common_dir().to_owned());
    Ok(real(&start.join(path)))
}

/// `path` without links on the way, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(found) = at.canonicalize() {
            return missing
                .iter()
                .rev()
                .fold(found, |path, name| path.join(name));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
