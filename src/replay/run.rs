//! `git-replay run`: rebuilds the commits of one journal, or only checks that it could.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::replay::prompts::Prompts;
use crate::replay::publish::Branch;
use crate::replay::rebuild::{Verdict, Wish, replay};
use crate::replay::report::{self, Made};
use crate::replay::room::Place;
use crate::replay::store::Store;
use crate::replay::{base, emit, options, quarantine};
use crate::ui::Ui;

/// Rebuild the commits of a journal with the same ids, and say where the run departs from its record
#[derive(Args)]
pub(super) struct Arguments {
    /// A journal: a file, '-', or a storage folder with '#<log>'
    journal: PathBuf,
    /// Begin at this commit instead of the recorded one
    #[arg(long, value_name = "base")]
    from: Option<String>,
    /// Make or advance this branch instead of replay/<journal>-<id>
    #[arg(long, value_name = "name", conflicts_with = "check")]
    branch: Option<String>,
    /// Only check: write nothing at all
    #[arg(long, conflicts_with = "session")]
    check: bool,
    #[command(flatten)]
    prompts: Prompts,
    /// What {{WORK_BRANCH}} in a prompt stands for
    #[arg(long, value_name = "name")]
    work_branch: Option<String>,
    /// Whether a divergence ends the replay
    #[arg(long, value_name = "policy", default_value = "fail")]
    divergence: Policy,
    /// Replay this many turns at most
    #[arg(long, value_name = "turns")]
    stop_after: Option<usize>,
    /// Emit the recorded events again, as JSON lines on standard output
    #[arg(long)]
    events: bool,
    /// Append the events to the trajectory of this session instead
    #[arg(long, value_name = "id", requires = "events")]
    session: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Policy {
    Fail,
    Warn,
}

/// Runs the subcommand.
///
/// # Errors
/// When the journal is malformed, or the repository cannot take the result.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    if arguments.events && arguments.json && arguments.session.is_none() {
        ui.say("fatal: --events and --json cannot both have standard output");
        ui.say("hint: --session takes the events into a trajectory");
        return Ok(Exit::USAGE);
    }
    let repo = Repo::discover()?;
    let journal = options::open(&arguments.journal, options::limits(Some(&repo))?, ui)?;
    let wish = Wish {
        prompts: arguments.prompts.read()?,
        from: match &arguments.from {
            Some(revision) => Some(base::require_commit(&repo, revision)?),
            None => None,
        },
        work_branch: arguments.work_branch.clone(),
        warn: arguments.divergence == Policy::Warn,
        stop_after: arguments.stop_after,
        shows_progress: !arguments.quiet,
    };
    let place = if arguments.check {
        Place::Outside
    } else {
        quarantine::refuse(&repo)?;
        Place::InStore
    };
    let session = arguments.session.as_deref();
    let trajectory = match session {
        Some(id) => Some(emit::Trajectory::of(&repo, id)?),
        None => None,
    };
    let (verdict, store) = replay(&repo, &journal, &wish, place)?;
    let made = make_branch(&repo, &journal.name, &arguments, &verdict, store)?;
    match trajectory {
        Some(trajectory) => trajectory.take(&repo, &journal, verdict.turns)?,
        None if arguments.events => emit::to_output(&journal, verdict.turns, ui)?,
        None => {}
    }
    if arguments.json {
        ui.json(&report::document(&journal, &verdict, &made))?;
    } else {
        report::tell(
            &journal,
            &verdict,
            &made,
            !arguments.events || arguments.session.is_some(),
            ui,
        )?;
    }
    let is_well = !verdict.has_ended && verdict.failures.is_empty();
    Ok(if is_well { Exit::Done } else { Exit::No })
}

fn make_branch(
    repo: &Repo,
    journal: &str,
    arguments: &Arguments,
    verdict: &Verdict,
    store: Store,
) -> Result<Made> {
    if verdict.has_ended {
        return Ok(Made::Nothing);
    }
    if arguments.check {
        return Ok(Made::Checked);
    }
    let Some(tip) = verdict.tip.filter(|_| !verdict.has_gap) else {
        return Ok(Made::Nothing);
    };
    if verdict.commits.is_empty() && arguments.branch.is_none() {
        return Ok(Made::Nothing);
    }
    let branch = Branch::choose(repo, journal, arguments.branch.as_deref(), verdict, tip)?;
    if branch.is_there() {
        return Ok(Made::Already(branch.name));
    }
    branch.publish(repo, store)?;
    Ok(Made::Branch(branch.name))
}
