//! Dependencies: cloned where the file system can, else `node_modules` linked, else
//! left out. Decides; making them is `dress`'s.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::Repo;
use crate::shadow::clone::Clone;
use crate::shadow::ignored::Rules;
use crate::shadow::task::How;

/// What is looked for when `shadow.deps` says nothing.
const DEFAULT: &[&str] = &[
    "node_modules",
    "bower_components",
    ".venv",
    "venv",
    "vendor",
    "target",
    "Pods",
    "_build",
];

/// Folders of artefacts, with locks and the paths of the tree that made them: one
/// folder for two trees is wrong for one of them.
const NEVER_LINKED: &[&str] = &[
    "target", "dist", "build", "out", "_build", ".next", ".nuxt", ".turbo", ".gradle",
];

/// What becomes of a folder.
pub(super) enum Fate {
    Comes(How),
    LeftOut(String),
}

/// The folders that are dependencies of the developer's checkout at `source`, and
/// how each comes to the shadow.
///
/// # Errors
/// When the ignore rules cannot be read.
pub(super) fn plan(repo: &Repo, source: &Path, shadow: &Path) -> Result<Vec<(PathBuf, Fate)>> {
    let mut rules = Rules::of(repo)?;
    let linked = words(repo, "shadow.link").unwrap_or_default();
    let cloner = Clone { source, shadow };
    let mut found = Vec::new();
    let mut names = names(repo);
    names.extend(
        linked
            .iter()
            .filter(|l| !names.contains(l))
            .cloned()
            .collect::<Vec<_>>(),
    );
    for name in names {
        let path = PathBuf::from(&name);
        let from = source.join(&path);
        let there = shadow.join(&path).symlink_metadata().is_ok();
        let inside = path
            .components()
            .all(|c| matches!(c, std::path::Component::Normal(_)));
        if !inside || there || !from.is_dir() || !rules.is_ignored(name.as_bytes().into(), true) {
            continue;
        }
        let fate = fate(&from, &name, source, &cloner, &linked);
        found.push((path, fate));
    }
    Ok(found)
}

fn fate(from: &Path, name: &str, source: &Path, cloner: &Clone<'_>, linked: &[String]) -> Fate {
    let base = name.rsplit('/').next().unwrap_or(name);
    let is_environment = from.join("pyvenv.cfg").exists();
    if is_environment && is_editable(from, source) {
        return Fate::LeftOut("an environment that imports your checkout".to_owned());
    }
    if cloner.is_possible(from) {
        return Fate::Comes(How::Cloned);
    }
    if NEVER_LINKED.contains(&base) {
        return Fate::LeftOut("a build folder, which cannot be shared".to_owned());
    }
    if base == "node_modules" && points_back(from, source) {
        return Fate::LeftOut("a workspace whose links lead into your checkout".to_owned());
    }
    if base == "node_modules" || linked.iter().any(|l| l == name) {
        return Fate::Comes(How::Linked);
    }
    Fate::LeftOut("this file system cannot clone it; 'shadow.link' would share it".to_owned())
}

/// The names that `shadow.deps` gives, or the usual ones.
pub(super) fn names(repo: &Repo) -> Vec<String> {
    words(repo, "shadow.deps").unwrap_or_else(|| DEFAULT.iter().map(|n| (*n).to_owned()).collect())
}

/// All words of a multi-valued setting; `None` when it is not set. An empty value
/// drops those before it.
pub(super) fn words(repo: &Repo, key: &str) -> Option<Vec<String>> {
    let values = repo.config_all(key);
    if values.is_empty() {
        return None;
    }
    let mut words = Vec::new();
    for value in values {
        let value = String::from_utf8_lossy(&value).into_owned();
        if value.trim().is_empty() {
            words.clear();
        }
        words.extend(
            value
                .split_whitespace()
                .map(|w| w.trim_end_matches('/').to_owned()),
        );
    }
    Some(words)
}

/// Whether packages in `node_modules` are links into the checkout itself.
fn points_back(modules: &Path, source: &Path) -> bool {
    let Ok(own) = modules.canonicalize() else {
        return true;
    };
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let scoped = entries(modules)
        .filter(|e| e.file_name().to_string_lossy().starts_with('@'))
        .flat_map(|scope| entries(&scope.path()));
    entries(modules).chain(scoped).any(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_symlink())
            && entry
                .path()
                .canonicalize()
                .is_ok_and(|to| to.starts_with(source) && !to.starts_with(&own))
    })
}

/// Whether a Python environment imports something from the checkout: a `.pth` or
/// `.egg-link` that names it.
fn is_editable(environment: &Path, source: &Path) -> bool {
    let source = source.to_string_lossy().into_owned();
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    entries(environment.join("lib"))
        .flat_map(|python| entries(python.path().join("site-packages")))
        .filter(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            [".pth", ".egg-link"].iter().any(|end| name.ends_with(end))
                || name.starts_with("__editable__")
        })
        .filter_map(|file| fs::read(file.path()).ok())
        .any(|text| String::from_utf8_lossy(&text).contains(&source))
}
