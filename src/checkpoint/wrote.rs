//! `git checkpoint wrote`: what a tool has just left behind.

use std::ffi::OsString;

use clap::Args;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::Lane;
use crate::lane::wrote::{self, Wrote};
use crate::snapshot::asked::ids_of;
use crate::state::lock::PATIENCE;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The agent's id of the session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Path that was written, or deleted
    #[arg(required = true, value_name = "path")]
    paths: Vec<OsString>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let mut paths = Vec::new();
    for path in &arguments.paths {
        match repo.path_in_worktree(path.as_ref())? {
            Some(path) => paths.push(path),
            None => ui.warn(format_args!(
                "'{}' is outside the worktree",
                path.to_string_lossy()
            )),
        }
    }
    let Some(lane) = Lane::find(repo)? else {
        ui.say("there is no checkpoint yet that this could belong to");
        return Ok(Exit::No);
    };
    let ids = ids_of(repo, &paths)?;
    let _lock = lane.lock(repo, PATIENCE)?;
    let wrote = |(path, id)| Wrote {
        path,
        id,
        session: arguments.session.clone(),
    };
    let left: Vec<Wrote> = paths.into_iter().zip(ids).map(wrote).collect();
    wrote::append(repo, &left)?;
    Ok(Exit::Done)
}
