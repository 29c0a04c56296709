//! `git shadow finish`: all work in a shadow as one commit on its branch.

use std::fs;

use clap::Args;
use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::cli::Exit;
use crate::error::{Context, Result, bail, hinted};
use crate::git::Repo;
use crate::git::command::Child;
use crate::shadow::describe::healthy_entry;
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
    if let Some(operation) = shadow.operation() {
        return Err(hinted(
            format!(
                "cannot finish '{}': a {operation} is in progress",
                task.task
            ),
            "end it in the shadow first",
        ));
    }
    if let Some(test) = &arguments.test
        && !running::test(repo, &task, test)?
    {
        ui.say("the test failed; nothing was committed");
        return Ok(Exit::No);
    }
    let Some(commit) = commit(&shadow, &task, arguments, ui)? else {
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
        fs::copy(&index, &beside).context("cannot copy the index")?;
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

/// True when a commit was made, false when nothing was to be committed, none when it was refused.
fn commit_with(
    shadow: &Repo,
    task: &Task,
    arguments: &Arguments,
    index: &std::path::Path,
    ui: &mut Ui,
) -> Result<Option<bool>> {
    let quiet = ["-c", "advice.addEmbeddedRepo=false"];
    let git = |child: Child| child.env("GIT_INDEX_FILE", index);
    git(shadow.git_unhooked(quiet))
        .args(["add", "-A", "--", ":/"])
        .stdout()?;
    let mut paths = Vec::new();
    for made in &task.manifest {
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
    let mut child = git(shadow.git(["commit", "-q", "-m"])).arg(&arguments.message);
    for variable in ["AUTHOR", "COMMITTER"] {
        for part in ["NAME", "EMAIL", "DATE"] {
            child = child.keep_env(&format!("GIT_{variable}_{part}"));
        }
    }
    if arguments.no_verify {
        child = child.arg("--no-verify");
    }
    if child.status_on_stderr()?.success() {
        return Ok(Some(true));
    }
    ui.say(format_args!(
        "git made no commit; '{}' is as it was",
        shown(&task.path)
    ));
    Ok(None)
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
