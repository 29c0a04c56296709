//! `git shadow doctor`: what is wrong, and one question for each thing that can be mended.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::checkup::{self, Ill};
use crate::ui::{self, Ui};

#[derive(Args)]
pub(super) struct Arguments {
    /// Mend what can be mended
    #[arg(long)]
    fix: bool,
    /// Show what would be mended
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Answer every question with yes
    #[arg(short, long)]
    yes: bool,
    /// Print only errors and questions
    #[arg(short, long)]
    quiet: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let found = checkup::look(repo)?;
    let mut left = 0;
    let mut told = Vec::new();
    for ill in &found {
        let mended = arguments.fix && !arguments.dry_run && mend(repo, ill, arguments, ui)?;
        left += usize::from(!mended);
        told.push(json!({
            "kind": ill.kind, "what": ill.what, "cure": ill.cure_words(), "mended": mended,
        }));
        if !arguments.json {
            let state = if mended { "mended: " } else { "" };
            writeln!(ui.out, "{state}{}", ill.what)?;
            if let (false, Some(cure)) = (mended, ill.cure_words()) {
                ui.note(format_args!("  --fix would {cure}"));
            }
        }
    }
    if arguments.json {
        ui.json(&Value::from(told))?;
    } else if found.is_empty() {
        ui.note("nothing is wrong");
    }
    Ok(if left == 0 { Exit::Done } else { Exit::No })
}

fn mend(repo: &Repo, ill: &Ill, arguments: &Arguments, ui: &mut Ui) -> Result<bool> {
    let Some(cure) = ill.cure_words() else {
        return Ok(false);
    };
    if !arguments.yes {
        if !ui::can_ask() {
            ui.say(format_args!("{}\nhint: '--yes' would {cure}", ill.what));
            return Ok(false);
        }
        ui.say(&ill.what);
        if !ui::confirm(&format!("Shall I {cure}?"))? {
            return Ok(false);
        }
    }
    match ill.mend(repo, ui) {
        Ok(()) => Ok(true),
        Err(error) => {
            ui.warn(format_args!("{error:#}"));
            Ok(false)
        }
    }
}
