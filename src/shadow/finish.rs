//! `git shadow finish`: all work in a shadow as one commit on its branch.

use std::fs;
use std::path::Path;

use clap::Args;
use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::cli::Exit;
use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::git::command::Child;
use crate::shadow::describe::{healthy_entry, require_own_branch};
use crate::shadow::lease::Lease;
use crate::shadow::removal::{self, Wish};
use crate::shadow::task::{BranchFate, Leaving, Task, shown};
use crate::shadow::{remove, run as running};
use crate::snapshot::root::bytes_of;
use crate::state::crash;
use crate::ui::{Ui, listed};

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// Message of the commit
    #[arg(short, long, value_name = "message")]
    message: String,
    /// Run this by the shell first; nothing is done when it fails
    #[arg(long, value_name = "command")]
    test: Option<String>,
    /// Skip the hooks pre-commit and commit-msg
    #[arg(long)]
    no_verify: bool,
    /// Keep the folder
    #[arg(long)]
    keep: bool,
    /// Answer every question with yes
    #[arg(short, long)]
    yes: bool,
    /// Print only errors and questions
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let task = Task::require(repo, &arguments.task)?;
    if task.was_leaving().is_some_and(|leaving| leaving.finished) && !task.path.exists() {
        // A 'finish' that was killed on its way out.
        if let Some(branch) = &task.branch
            && let Some(commit) = repo.find_ref(branch.as_str().into())?
        {
            writeln!(ui.out, "{commit}")?;
        }
        let outcome = remove::remove_any(repo, &task, wish(arguments), ui)?;
        return Ok(match remove::tell(repo, &task, &outcome, false, ui)? {
            true => Exit::Done,
            false => Exit::No,
        });
    }
    healthy_entry(repo, &task).with_context(|| format!("cannot finish '{}'", task.task))?;
    let shadow = task.open()?;
    require_own_branch(&task, "finish")?;
    if let Some(test) = &arguments.test
        && !running::test(repo, &task, test)?
    {
        ui.say("the test failed; nothing was committed");
        return Ok(Exit::No);
    }
    let commit = {
        let Ok(_bar) = Lease::bar(repo, &task)? else {
            ui.say(format_args!(
                "a command runs in '{}'; nothing was committed",
                task.task
            ));
            return Ok(Exit::No);
        };
        commit(&shadow, &task, arguments, ui)?
    };
    let Some(commit) = commit else {
        return Ok(Exit::No);
    };
    writeln!(ui.out, "{commit}")?;
    if arguments.keep {
        return Ok(Exit::Done);
    }
    let outcome = removal::remove(repo, &task, wish(arguments), ui)?;
    Ok(match remove::tell(repo, &task, &outcome, false, ui)? {
        true => Exit::Done,
        false => Exit::No,
    })
}

fn wish(arguments: &Arguments) -> Wish {
    Wish {
        leaving: Leaving {
            branch: BranchFate::Keep,
            finished: true,
            merged: false,
        },
        yes: arguments.yes,
        ..Wish::default()
    }
}

/// The commit with all work; the present one when all is committed. `None` when there
/// is nothing, or git refused in its own words.
fn commit(
    shadow: &Repo,
    task: &Task,
    arguments: &Arguments,
    ui: &mut Ui,
) -> Result<Option<ObjectId>> {
    // An index of its own: a hook that says no leaves the shadow's as it was.
    let index = shadow.index_path();
    let beside = shadow.git_dir().join("index.finish");
    // A 'finish' that was killed may have committed and not put its index in place.
    let was_cut = beside.exists();
    crash::point();
    if index.exists() {
        copy_index(&index, &beside).context("cannot copy the index")?;
    }
    let done = commit_with(shadow, task, arguments, &beside, ui);
    crash::point();
    if matches!(done, Ok(Some(made)) if made || was_cut) {
        fs::rename(&beside, &index).context("cannot replace the index")?;
    } else {
        let _ = fs::remove_file(&beside);
    }
    let head = shadow.head()?.commit;
    match done? {
        Some(true) => Ok(head),
        Some(false) if head == Some(task.base_commit()?) => {
            ui.say(format_args!("'{}' has changed nothing", task.task));
            Ok(None)
        }
        Some(false) => Ok(head),
        None => Ok(None),
    }
}

/// Copies an index with its time: by that git knows which files may have changed in
/// the second in which it was written (git's `racy-git` document).
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to)?;
    let written = fs::metadata(from)?.modified()?;
    fs::File::options()
        .write(true)
        .open(to)?
        .set_modified(written)
}

/// True when a commit was made, false when nothing was to be committed, none when it was refused.
fn commit_with(
    shadow: &Repo,
    task: &Task,
    arguments: &Arguments,
    index: &Path,
    ui: &mut Ui,
) -> Result<Option<bool>> {
    let quiet = ["-c", "advice.addEmbeddedRepo=false"];
    let git = |child: Child| child.env("GIT_INDEX_FILE", index);
    let flags = Flags::lift(shadow, index)?;
    // To look into a repository inside, git would start what that one's own
    // configuration names. Only its HEAD counts here.
    let inside = repositories(&git, shadow)?;
    let mut all = b":/\0".to_vec();
    for path in &inside {
        all.extend_from_slice(&[b":(top,exclude,literal)", path.as_slice(), b"\0"].concat());
    }
    git(shadow.git_unhooked(quiet))
        .args([
            "add",
            "-A",
            "--sparse",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ])
        .input(all)
        .stdout()?;
    if !inside.is_empty() {
        git(shadow.git_unhooked(["update-index", "-z", "--stdin"]))
            .input(inside.join(&0))
            .stdout()?;
    }
    let head = shadow.head()?.commit.context("the shadow has no commit")?;
    let head = shadow.gix().find_tree(shadow.tree_of(head)?)?;
    let mut paths = Vec::new();
    for made in &task.manifest {
        // What the branch has meanwhile is its own.
        if head.lookup_entry_by_path(&made.path)?.is_some() {
            continue;
        }
        paths.extend_from_slice(&bytes_of(&made.path));
        paths.push(0);
    }
    if !paths.is_empty() {
        git(shadow.git_unhooked(["rm", "-r", "--cached", "-q", "--ignore-unmatch"]))
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(paths)
            .stdout()?;
    }
    let changed =
        git(shadow.git_unhooked(["diff-index", "--cached", "--raw", "-z", "HEAD"])).stdout()?;
    if changed.is_empty() {
        return Ok(Some(false));
    }
    let repositories = new_repositories(&changed);
    if !repositories.is_empty() {
        let list = listed(&repositories);
        bail!("repositories of their own cannot be committed as files:\n{list}");
    }
    crash::point();
    // A maintenance in the background would work in the folder that shall go.
    let alone = ["-c", "maintenance.auto=false", "commit", "-q", "-m"];
    let mut child = git(shadow.git(alone)).arg(&arguments.message);
    for variable in ["AUTHOR", "COMMITTER"] {
        for part in ["NAME", "EMAIL", "DATE"] {
            child = child.keep_env(&format!("GIT_{variable}_{part}"));
        }
    }
    if arguments.no_verify {
        child = child.arg("--no-verify");
    }
    if child.status_on_stderr()?.success() {
        flags.set_again(shadow, index)?;
        return Ok(Some(true));
    }
    ui.say(format_args!(
        "git made no commit; '{}' is as it was",
        shown(&task.path)
    ));
    Ok(None)
}

/// Paths behind skip-worktree and assume-unchanged, each ended by NUL: an edit of
/// theirs is work as any other.
#[derive(Default)]
struct Flags {
    skipped: Vec<u8>,
    assumed: Vec<u8>,
}

impl Flags {
    const NAMES: [&str; 2] = ["skip-worktree", "assume-unchanged"];

    /// Takes the flags of all files that are there out of `index`. A file that sparse
    /// patterns left out is not there, and no deletion.
    fn lift(shadow: &Repo, index: &Path) -> Result<Self> {
        let root = shadow.require_worktree()?;
        let listed = shadow
            .git_unhooked(["ls-files", "-v", "-z", "--full-name", ":/"])
            .env("GIT_INDEX_FILE", index)
            .stdout()?;
        let mut flags = Flags::default();
        for line in listed.split(|b| *b == 0).filter(|line| line.len() > 2) {
            let (tag, path) = (line[0], &line[2..]);
            let on_disk = root.join(path.to_path_lossy());
            if !matches!(tag, b'S' | b'a'..=b'z') || on_disk.symlink_metadata().is_err() {
                continue;
            }
            let add = |to: &mut Vec<u8>| {
                to.extend_from_slice(path);
                to.push(0);
            };
            if tag.eq_ignore_ascii_case(&b'S') {
                add(&mut flags.skipped);
            }
            if tag.is_ascii_lowercase() {
                add(&mut flags.assumed);
            }
        }
        flags.update(shadow, index, "--no-")?;
        Ok(flags)
    }

    fn set_again(&self, shadow: &Repo, index: &Path) -> Result<()> {
        self.update(shadow, index, "--")
    }

    fn update(&self, shadow: &Repo, index: &Path, prefix: &str) -> Result<()> {
        for (name, paths) in Self::NAMES.iter().zip([&self.skipped, &self.assumed]) {
            if !paths.is_empty() {
                shadow
                    .git_unhooked(["update-index"])
                    .env("GIT_INDEX_FILE", index)
                    .args([format!("{prefix}{name}").as_str(), "-z", "--stdin"])
                    .input(paths.clone())
                    .stdout()?;
            }
        }
        Ok(())
    }
}

/// Paths that the index has as commits, and that are repositories on disk.
fn repositories(git: &impl Fn(Child) -> Child, shadow: &Repo) -> Result<Vec<Vec<u8>>> {
    let root = shadow.require_worktree()?;
    let listed = git(shadow.git_unhooked(["ls-files", "-s", "-z"])).stdout()?;
    Ok(listed
        .split(|b| *b == 0)
        .filter_map(|line| line.strip_prefix(b"160000 ")?.split_once_str(b"\t"))
        .map(|(_, path)| path.to_vec())
        .filter(|path| root.join(path.to_path_lossy()).join(".git").exists())
        .collect())
}

/// Paths that are new and repositories: `:000000 160000 … A NUL path NUL`.
fn new_repositories(raw: &[u8]) -> Vec<String> {
    let mut fields = raw.split(|b| *b == 0);
    let mut found = Vec::new();
    while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
        if change.starts_with(b":000000 160000 ") {
            found.push(crate::git::quote::quoted(path.as_bstr()));
        }
    }
    found
}
