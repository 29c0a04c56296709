//! `git checkpoint diff`: git's own diff, between two states of the working tree.

use std::ffi::OsString;

use clap::Args;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::find;
use crate::snapshot::apart::Apart;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The earlier state
    #[arg(value_name = "N")]
    from: String,
    /// The later state; without it, the working tree as it is
    #[arg(value_name = "M")]
    to: Option<String>,
    /// Only count the changed lines
    #[arg(long)]
    stat: bool,
    /// Only these paths
    #[arg(last = true, value_name = "pathspec")]
    pathspecs: Vec<OsString>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let from = find::by_text(repo, &arguments.from)?.tree;
    let mut child = repo.git(["diff"]);
    let now;
    let to = match &arguments.to {
        Some(to) => find::by_text(repo, to)?.tree,
        None => {
            now = Apart::of_now(repo)?;
            child = now.shown_to(child);
            now.tree
        }
    };
    if arguments.stat {
        child = child.arg("--stat");
    }
    ui.flush()?;
    let status = child
        .arg(from.to_string())
        .arg(to.to_string())
        .arg("--")
        .args(repo.pathspecs(&arguments.pathspecs))
        .status()?;
    Ok(match status.code() {
        Some(0) => Exit::Done,
        Some(code) => Exit::Code(u8::try_from(code).unwrap_or(128)),
        // Its pager ended first: the reader has seen enough.
        None => Exit::Done,
    })
}
