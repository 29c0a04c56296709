//! `git checkpoint prune`.

use clap::Args;

use crate::checkpoint::removal::{self, Removal};
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::age::Age;
use crate::lane::expire::{self, KEEP, Rule, expired};
use crate::lane::needed::needed;
use crate::lane::{Lane, find, upkeep};
use crate::ui::{Ui, counted};

#[derive(Args)]
pub(super) struct Arguments {
    /// Delete all but the newest <count> of a lane
    #[arg(long, value_name = "count")]
    keep: Option<usize>,
    /// Delete only what is older than this
    #[arg(long, value_name = "age")]
    older_than: Option<String>,
    /// Of every lane, also of worktrees that are gone
    #[arg(long)]
    all: bool,
    /// Do what save does by itself once a day, and pack what is many
    #[arg(long, conflicts_with_all = ["keep", "older_than", "all", "dry_run", "yes"])]
    auto: bool,
    /// Show what would be deleted, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print nothing but errors and questions
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    if arguments.auto {
        upkeep::run(repo)?;
        return Ok(Exit::Done);
    }
    let asked_age = arguments
        .older_than
        .as_deref()
        .map(Age::parse)
        .transpose()?;
    let expire = expire::configured(repo)?;
    let rule = Rule {
        keep: arguments.keep.unwrap_or(match asked_age {
            Some(_) => 0,
            None => KEEP,
        }),
        older_than: match (asked_age, arguments.keep) {
            (None, None) => Some(expire),
            (asked, _) => asked,
        },
        expire,
    };
    let lanes = if arguments.all {
        find::lanes(repo)?
    } else {
        Lane::find(repo)?.map(|l| l.name).into_iter().collect()
    };
    let needed = needed(repo)?;
    let mut going = Vec::new();
    for lane in lanes {
        going.extend(expired(repo, &lane, rule, &needed)?);
    }
    // What is expired would go by itself.
    let by_itself = asked_age.is_none() && arguments.keep.is_none();
    let question = (!by_itself).then(|| {
        format!(
            "this deletes {}. Go on?",
            counted(going.len(), "checkpoint")
        )
    });
    removal::carry_out(
        repo,
        &Removal {
            going: &going,
            word: "pruned",
            would: "would prune",
            question,
            dry_run: arguments.dry_run,
            yes: arguments.yes,
        },
        ui,
    )
}
