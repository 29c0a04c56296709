//! `git-replay test`: many journals checked in parallel, one verdict each: a CI gate.

mod junit;
mod lines;
mod verdict;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::cli::Exit;
use crate::error::{Context, Result, ensure};
use crate::git::Repo;
use crate::ui::Ui;
use verdict::Tested;

/// Check many journals in parallel, writing nothing; exit 1 if any diverged
#[derive(Args)]
pub(super) struct Arguments {
    /// Journals, and folders that hold some
    #[arg(required = true, value_name = "journal")]
    journals: Vec<PathBuf>,
    /// Begin each at this commit instead of the recorded one
    #[arg(long, value_name = "base")]
    from: Option<String>,
    /// How many at a time (default: one for each processor)
    #[arg(short, long, value_name = "n", default_value_t = 0)]
    jobs: usize,
    /// How to print the verdicts
    #[arg(long, value_name = "format", default_value = "human")]
    format: Format,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Junit,
    Tap,
}

/// Runs the subcommand.
///
/// # Errors
/// When no journal is found, or the verdicts cannot be printed.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let repo = Repo::discover()?;
    let from = match &arguments.from {
        Some(revision) => Some(super::base::require_commit(&repo, revision)?),
        None => None,
    };
    drop(repo);
    let journals = found(&arguments.journals)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.jobs)
        .build()
        .context("cannot start threads")?;
    let tested: Vec<Tested> = pool.install(|| {
        journals
            .par_iter()
            .map(|path| Tested::of(path, from))
            .collect()
    });
    match arguments.format {
        Format::Human => lines::human(&tested, ui)?,
        Format::Tap => lines::tap(&tested, ui)?,
        Format::Json => ui.json(&verdict::document(&tested))?,
        Format::Junit => junit::write(&tested, ui)?,
    }
    Ok(if tested.iter().all(Tested::has_passed) {
        Exit::Done
    } else {
        Exit::No
    })
}

/// The files that `arguments` name, those in a folder by name.
fn found(arguments: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut journals = Vec::new();
    for path in arguments {
        if !path.is_dir() || path.join("objects/logs").is_dir() {
            journals.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        let entries = std::fs::read_dir(path);
        for entry in entries.with_context(|| format!("cannot list '{}'", path.display()))? {
            let file = entry?.path();
            if is_journal(&file) {
                inside.push(file);
            }
        }
        ensure!(
            !inside.is_empty(),
            "'{}' holds no journals (*.json, *.jsonl)",
            path.display()
        );
        inside.sort();
        journals.append(&mut inside);
    }
    Ok(journals)
}

fn is_journal(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "jsonl" | "ndjson")) && path.is_file()
}
