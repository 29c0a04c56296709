//! `git checkpoint export`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::lane::{find, transfer};
use crate::state::file::{Replacement, Sharing};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The checkpoint
    #[arg(value_name = "N")]
    number: String,
    /// Write into this file instead of standard output
    #[arg(short, long, value_name = "file")]
    output: Option<PathBuf>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let checkpoint = find::by_text(repo, &arguments.number)?;
    if arguments.output.is_none() && ui.is_terminal() {
        return Err(hinted(
            "a bundle is binary, and standard output is a terminal",
            "name a file with '-o', or redirect",
        ));
    }
    let bundle = transfer::bundle(repo, &checkpoint)?;
    let pack = repo
        .git(["pack-objects", "--revs", "--stdout", "-q"])
        .input(bundle.commits);
    match arguments.output {
        Some(path) => {
            let path = std::path::absolute(&path)
                .with_context(|| format!("cannot find '{}'", path.display()))?;
            let mut file = Replacement::of(&path, Sharing::default())?;
            file.file().write_all(bundle.header.as_bytes())?;
            pack.write_to(Some(file.file().try_clone()?))?;
            file.publish(&path, false)?;
        }
        None => {
            ui.out.write_all(bundle.header.as_bytes())?;
            ui.flush()?;
            pack.write_to(None)?;
        }
    }
    Ok(Exit::Done)
}
