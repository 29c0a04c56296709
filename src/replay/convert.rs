//! `git-replay convert`: another container, or another form of the patches.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Result, hinted};
use crate::git::Repo;
use crate::replay::diffs::{self, Form};
use crate::replay::journal::{Journal, write};
use crate::replay::rebuild::{Wish, replay};
use crate::replay::room::Place;
use crate::replay::{options, output, proof};
use crate::ui::Ui;

/// Write a journal in another form
#[derive(Args)]
pub(super) struct Arguments {
    /// The journal to read: a file, '-', or a storage folder with '#<log>'
    #[arg(value_name = "in")]
    from: PathBuf,
    /// The journal to write: JSON lines if it ends in .jsonl or .ndjson, else an array
    #[arg(value_name = "out")]
    to: PathBuf,
    /// Write the patches in this form; their base must be in this repository
    #[arg(long, value_name = "form")]
    patches: Option<Form>,
    /// Replace the output if it exists
    #[arg(short, long)]
    yes: bool,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// When the journal cannot be read, rebuilt or written.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let repo = match arguments.patches {
        Some(_) => Some(Repo::discover()?),
        None => Repo::discover().ok(),
    };
    let journal = options::open(&arguments.from, options::limits(repo.as_ref())?, ui)?;
    if !output::may_write(&arguments.to, arguments.yes, ui)? {
        return Ok(Exit::No);
    }
    output::check(&arguments.to)?;
    let mut entries: Vec<String> = (0..journal.container.len())
        .map(|index| write::compact(journal.container.entry(index).unwrap_or_default()))
        .collect();
    if let (Some(form), Some(repo)) = (arguments.patches, &repo) {
        other_patches(repo, &journal, form, &mut entries)?;
    }
    let text = write::container(&entries, output::form(&arguments.to));
    if let (Some(_), Some(repo)) = (arguments.patches, &repo) {
        for finding in proof::of(repo, &text, !arguments.quiet)? {
            ui.warn(finding);
        }
    }
    output::write(&arguments.to, &text, ui)?;
    ui.note(format_args!(
        "{}: {} entries",
        arguments.to.display(),
        entries.len()
    ));
    Ok(Exit::Done)
}

fn other_patches(repo: &Repo, journal: &Journal, form: Form, entries: &mut [String]) -> Result<()> {
    let wish = Wish {
        warn: true,
        ..Wish::default()
    };
    let (verdict, mut store) = replay(repo, journal, &wish, Place::Outside)?;
    if let Some(divergence) = verdict.divergences.first().filter(|_| !verdict.is_exact()) {
        return Err(hinted(
            format!("its commits cannot be rebuilt here: {}", divergence.line()),
            "a patch in another form needs the content that it changes",
        ));
    }
    store.show_git()?;
    let pairs: Vec<_> = verdict
        .commits
        .iter()
        .map(|c| (c.parent_tree, c.tree))
        .collect();
    let mut patches = diffs::between(store.room()?, &pairs, form)?.into_iter();
    for workspace in journal
        .turns
        .iter()
        .filter_map(|turn| turn.workspace.as_ref())
    {
        if workspace.commits.is_empty() {
            continue;
        }
        let entry = &mut entries[workspace.entry];
        let commits = write::field(entry, "commits")?.context("a checked entry has commits")?;
        let mut rewritten = Vec::new();
        for commit in write::elements(commits)? {
            let patch = patches.next().context("a patch for each commit")?;
            rewritten.push(write::with(commit, "patch", &write::json(patch))?);
        }
        *entry = write::with(entry, "commits", &format!("[{}]", rewritten.join(",")))?;
    }
    Ok(())
}
