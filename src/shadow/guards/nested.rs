//! Repositories inside: someone's clone, another worktree, submodules.

use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::Mode;

use crate::error::Result;
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::quote::quoted;
use crate::shadow::guards::walk::Walked;
use crate::shadow::guards::{Finding, Weight};
use crate::snapshot::index::Index;
use crate::snapshot::root::Root;

/// Repositories that the shadow's index does not know.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn repositories(shadow: &Repo, walk: &Walked) -> Result<Option<Finding>> {
    let index = Index::load(shadow)?;
    let items: Vec<String> = walk
        .nested
        .iter()
        .filter(|path| !is_submodule(&index, path.as_bstr()))
        .map(|path| quoted(path.as_bstr()))
        .collect();
    Ok((!items.is_empty()).then(|| Finding {
        weight: Weight::Ask,
        kind: "repositories",
        what: "repositories or worktrees are inside it; they stay in the trash folder".to_owned(),
        items,
        maker: None,
    }))
}

/// Submodules with work that is nowhere else.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn submodules(shadow: &Repo, walk: &Walked) -> Result<Option<Finding>> {
    let index = Index::load(shadow)?;
    let root = Root::open(shadow.require_worktree()?)?;
    let mut items = Vec::new();
    for path in walk
        .nested
        .iter()
        .filter(|path| is_submodule(&index, path.as_bstr()))
    {
        let folder = root.join(path.as_bstr());
        let dirty = asks(
            &folder,
            &[
                "status",
                "--porcelain",
                "--untracked-files=all",
                "--ignored",
            ],
        );
        let unpushed = asks(
            &folder,
            &[
                "rev-list",
                "-n",
                "1",
                "HEAD",
                "--branches",
                "--not",
                "--remotes",
            ],
        );
        match (dirty, unpushed) {
            (Some(false), Some(false)) => {}
            (Some(true), _) => items.push(format!("{} (changes)", quoted(path.as_bstr()))),
            (_, Some(true)) => {
                items.push(format!("{} (commits on no remote)", quoted(path.as_bstr())));
            }
            _ => items.push(format!("{} (cannot be looked at)", quoted(path.as_bstr()))),
        }
    }
    Ok((!items.is_empty()).then(|| Finding {
        weight: Weight::Ask,
        kind: "submodules",
        what: "submodules have work of their own; they stay in the trash folder".to_owned(),
        items,
        maker: None,
    }))
}

fn is_submodule(index: &Index, path: &BStr) -> bool {
    index
        .state()
        .entry_by_path(path)
        .is_some_and(|entry| entry.mode == Mode::COMMIT)
}

/// Whether git prints anything in `folder`; `None` when it fails. The submodule's own
/// configuration must not start programs: no file system monitor, no hooks.
fn asks(folder: &std::path::Path, arguments: &[&str]) -> Option<bool> {
    let output = Child::git()
        .current_dir(folder)
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(arguments)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| !output.stdout.trim_ascii().is_empty())
}
