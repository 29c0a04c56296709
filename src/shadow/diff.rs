//! `git shadow diff`: what a shadow changed since its base, committed or not.

use std::ffi::OsString;

use clap::Args;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::task::Task;
use crate::snapshot::apart::Apart;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// Print a summary instead of the patch
    #[arg(long)]
    stat: bool,
    /// Only these paths, from the root of the shadow
    #[arg(last = true, value_name = "pathspec")]
    paths: Vec<OsString>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    let shadow = task.open()?;
    let now = Apart::of_now(&shadow)?;
    ui.flush()?;
    // A patch that 'git apply' takes, whatever the user's diff looks like.
    let mut child = shadow.git([
        "diff",
        "--no-ext-diff",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ]);
    if arguments.stat {
        child = child.arg("--stat");
    }
    let child = child
        .arg(&task.base)
        .arg(now.tree.to_string())
        .arg("--")
        .args(&arguments.paths);
    let status = now.shown_to(child).status()?;
    Ok(match status.code() {
        Some(0) | None => Exit::Done,
        Some(code) => Exit::Code(u8::try_from(code).unwrap_or(128)),
    })
}
