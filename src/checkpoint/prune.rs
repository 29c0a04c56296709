//! `git checkpoint prune`.

use clap::Args;

use crate::checkpoint::removal::{self, Removal};
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::age::Age;
use crate::lane::expire::{self, KEEP, Rule, expired};
use crate::lane::needed::needed;
use crate::lane::{Lane, find};
use crate::ui::Ui;

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
    let plural = if going.len() == 1 { "" } else { "s" };
    let question =
        (!by_itself).then(|| format!("this deletes {} checkpoint{plural}. Go on?", going.len()));
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
