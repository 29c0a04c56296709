//! The branch that a replay makes: chosen before anything is written, and
//! written last, at once, with the old value that was seen.

use std::fs;
use std::path::PathBuf;

use gix::ObjectId;

use crate::error::{Context, Result, hinted};
use crate::git::transaction::RefChange;
use crate::git::{ByteSlice, Repo};
use crate::replay::rebuild::Verdict;
use crate::replay::store::Store;
use crate::state::crash;

/// A branch and what it is now.
#[derive(Debug)]
pub(super) struct Branch {
    /// Without `refs/heads/`.
    pub(super) name: String,
    tip: ObjectId,
    old: Option<ObjectId>,
}

impl Branch {
    /// The branch for `verdict`: `wanted`, else `replay/<journal>-<short tip>`.
    ///
    /// # Errors
    /// When the name is taken by something else, or checked out somewhere.
    pub(super) fn choose(
        repo: &Repo,
        journal: &str,
        wanted: Option<&str>,
        verdict: &Verdict,
        tip: ObjectId,
    ) -> Result<Self> {
        let name = match wanted {
            Some(name) => spelled_out(repo, name)?,
            None => format!("replay/{}-{}", component(journal), tip.to_hex_with_len(7)),
        };
        let full = format!("refs/heads/{name}");
        if repo.is_symbolic_ref(&full)? {
            return Err(hinted(
                format!("the branch '{name}' is a symbolic ref to another one"),
                "name a branch of its own by --branch",
            ));
        }
        let old = repo.find_ref(full.as_str().into())?;
        let branch = Branch { name, tip, old };
        if branch.is_there() {
            return Ok(branch);
        }
        let name = &branch.name;
        if let Some(worktree) = checked_out(repo, &full)? {
            return Err(hinted(
                format!("the branch '{name}' is checked out in '{worktree}'"),
                "replay to another name, then run 'git merge --ff-only <name>' there",
            ));
        }
        if is_in_use(repo, name)? {
            return Err(hinted(
                format!("the branch '{name}' is in the middle of a rebase or bisect"),
                "end that first, or name another one by --branch",
            ));
        }
        match old {
            None => {}
            Some(old) if wanted.is_some() && Some(old) == verdict.base => {}
            Some(old) => {
                return Err(hinted(
                    format!(
                        "the branch '{name}' exists and is neither the base nor the result: it is {old}"
                    ),
                    "name another one by --branch",
                ));
            }
        }
        Ok(branch)
    }

    /// Whether the branch is the result already.
    pub(super) fn is_there(&self) -> bool {
        self.old == Some(self.tip)
    }

    /// Moves the new objects of `store` into the repository and makes the branch.
    /// Whatever can refuse the branch is asked before.
    pub(super) fn publish(&self, repo: &Repo, mut store: Store) -> Result<()> {
        const CANNOT_STORE: &str = "cannot store the rebuilt objects";
        let quarantine = store.quarantine(repo).context(CANNOT_STORE)?;
        let change = RefChange {
            name: &format!("refs/heads/{}", self.name),
            old: self.old,
            new: self.tip,
            reason: "replay: rebuilt from a journal",
        };
        let prepared = repo.prepare_ref(change, &quarantine).map_err(|why| {
            hinted(
                format!("cannot make the branch '{}': {why}", self.name),
                "name another one by --branch",
            )
        })?;
        crash::point();
        store.publish(repo).context(CANNOT_STORE)?;
        crash::point();
        prepared
            .commit()
            .with_context(|| format!("cannot make the branch '{}'", self.name))
    }
}

/// The branch that git means by `name` (`@{-1}` is the one before).
fn spelled_out(repo: &Repo, name: &str) -> Result<String> {
    let output = repo.git(["check-ref-format", "--branch", name]).output()?;
    if !output.status.success() {
        return Err(hinted(
            format!("'{name}' is no name for a branch"),
            "git-check-ref-format(1) says what is one",
        ));
    }
    let line = String::from_utf8(output.stdout).context("a branch name is not UTF-8")?;
    Ok(line.trim_end_matches('\n').to_owned())
}

/// Whether a worktree comes back to the branch `name` at the end of a rebase or a
/// bisect, or a rebase moves it (`prepare_checked_out_branches` in git's branch.c).
fn is_in_use(repo: &Repo, name: &str) -> Result<bool> {
    let full = format!("refs/heads/{name}");
    let mut folders = vec![repo.common_dir().to_owned()];
    if let Ok(entries) = fs::read_dir(repo.common_dir().join("worktrees")) {
        for entry in entries {
            folders.push(entry.context("cannot list the worktrees")?.path());
        }
    }
    let lines = |file: PathBuf| fs::read(file).unwrap_or_default();
    Ok(folders.iter().any(|folder| {
        let names = |file: &str, wanted: &str| {
            let text = lines(folder.join(file));
            text.lines().any(|line| line == wanted.as_bytes())
        };
        names("rebase-merge/head-name", &full)
            || names("rebase-merge/update-refs", &full)
            || names("rebase-apply/head-name", &full)
            || names("BISECT_START", name)
    }))
}

/// The worktree in which the branch `full` is checked out.
fn checked_out(repo: &Repo, full: &str) -> Result<Option<String>> {
    let listed = repo.listed_worktrees()?;
    let wanted = format!("branch {full}");
    let mut worktree = None;
    for field in listed.split(|b| *b == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            worktree = Some(path.to_str_lossy().into_owned());
        } else if field == wanted.as_bytes() {
            return Ok(worktree);
        }
    }
    Ok(None)
}

/// `text` as one part of a ref name (git-check-ref-format(1)).
fn component(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let is_odd = c.is_control() || c.is_whitespace() || "~^:?*[\\/@{".contains(c);
        let c = if is_odd { '-' } else { c };
        if !(name.ends_with('.') && c == '.') {
            name.push(c);
        }
    }
    let name = name.trim_matches(['.', '-']);
    let name = name.strip_suffix(".lock").unwrap_or(name);
    if name.is_empty() {
        "journal".into()
    } else {
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_name_makes_a_ref_name() {
        for (text, wanted) in [
            ("parser-fix", "parser-fix"),
            ("a b~c", "a-b-c"),
            ("..x..y.lock", "x.y"),
            ("@{-1}", "1}"),
            ("gr\u{fc}n", "gr\u{fc}n"),
            ("---", "journal"),
        ] {
            assert_eq!(component(text), wanted);
        }
    }
}
