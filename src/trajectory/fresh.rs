//! A mirror that has what the logs have, before anything reads it.

use clap::Args;
use rusqlite::Connection;

use crate::error::{Hint, Result};
use crate::git::Repo;
use crate::state::lock::PATIENCE;
use crate::trajectory::import_command::import_known;
use crate::trajectory::mirror::{self, Mirror};
use crate::ui::{Ui, counted};

#[derive(Args)]
pub(super) struct Freshness {
    /// Read the mirror as it is
    #[arg(long)]
    no_ingest: bool,
}

impl Freshness {
    /// The mirror for reading, brought up to date unless the user said not to.
    pub(super) fn mirror(&self, repo: &Repo, ui: &mut Ui) -> Result<Connection> {
        if !self.no_ingest {
            let failed = import_known(repo, None)?;
            if failed > 0 {
                ui.warn(format_args!(
                    "{} could not be read",
                    counted(failed, "transcript")
                ));
            }
            let mut mirror = Mirror::open(repo, PATIENCE)?;
            let done = mirror::ingest(repo, &mut mirror, None)?;
            if mirror.is_made_anew {
                ui.note("the mirror could not be used and was made anew");
            }
            if done.broken > 0 {
                ui.warn(format_args!(
                    "{} of the logs could not be read",
                    counted(done.broken, "line")
                ));
            }
        }
        mirror::read_only(repo).hint("run 'git trajectory ingest' to make it")
    }
}
