//! `git trajectory ingest`.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::state::lock::PATIENCE;
use crate::trajectory::expire;
use crate::trajectory::import_command::import_known;
use crate::trajectory::mirror::{self, Mirror};
use crate::trajectory::summary;
use crate::ui::{Ui, counted};

#[derive(Args)]
pub(super) struct Arguments {
    /// Read all logs again
    #[arg(long)]
    rebuild: bool,
    /// Only this session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Say nothing, and nothing at all when another ingest runs
    #[arg(short, long)]
    quiet: bool,
    /// In a session of its own, for at most 20 seconds: what a hook starts
    #[arg(long, hide = true)]
    apart: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Leaves the agent's process group, so that what ends the agent does not end
/// us, and sets an end to this process.
fn leave() {
    let _ = rustix::process::setsid();
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(20));
        // Every file we write is replaced whole: being killed costs only this work.
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    if arguments.apart {
        leave();
    }
    let patience = if arguments.quiet {
        Duration::ZERO
    } else {
        PATIENCE
    };
    let stem = match &arguments.session {
        Some(id) => Some(summary::stem(repo, id)?),
        None => None,
    };
    let opened = if arguments.rebuild {
        Mirror::rebuild(repo)
    } else {
        Mirror::open(repo, patience)
    };
    let mut mirror = match opened {
        Err(_) if arguments.quiet => return Ok(Exit::Done),
        opened => opened?,
    };
    if arguments.quiet {
        // At the end of a session, when nobody waits; it must not cost the mirror.
        let _ = expire::daily(repo);
    }
    let failed = import_known(repo, stem.as_deref())?;
    if failed > 0 && !arguments.quiet {
        ui.warn(format_args!(
            "{} could not be read",
            counted(failed, "transcript")
        ));
    }
    let done = mirror::ingest(repo, &mut mirror, stem.as_deref())?;
    if mirror.is_made_anew && !arguments.quiet {
        ui.note("the mirror could not be used and was made anew");
    }
    mirror.publish()?;
    if arguments.json {
        ui.json(&json!({"files": done.files, "events": done.events, "broken": done.broken}))?;
    } else if !arguments.quiet {
        ui.note(format_args!(
            "{} from {}",
            counted(done.events, "new event"),
            counted(done.files, "file")
        ));
        if done.broken > 0 {
            ui.warn(format_args!(
                "{} could not be read",
                counted(done.broken, "line")
            ));
        }
    }
    Ok(Exit::Done)
}
