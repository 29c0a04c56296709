//! `git-replay record`: a range of commits, or what a command made, as a journal.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use gix::ObjectId;
use serde_json::json;

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::{ByteSlice, Repo};
use crate::replay::around::Ended;
use crate::replay::compose::{self, Commits, Part};
use crate::replay::diffs::{self, Form};
use crate::replay::journal::Failure;
use crate::replay::object::RawCommit;
use crate::replay::plain::{self, Plain};
use crate::replay::prompts::Prompts;
use crate::replay::range::Range;
use crate::replay::store::Store;
use crate::replay::{leaks, options, output, promised, proof, session};
use crate::ui::Ui;

/// What Outpost records at most, in bytes of patches and messages together.
const BUDGET: u64 = 8 << 20;

/// Record commits as a journal, proven to rebuild them with the same ids
#[derive(Args)]
pub(super) struct Arguments {
    /// '<old>..<new>', a revision with all that leads to it, or a shadow
    range: Option<String>,
    /// The journal to write ('-' is standard output; .jsonl gives JSON lines)
    #[arg(short, long, value_name = "journal", required = true)]
    output: PathBuf,
    #[command(flatten)]
    prompts: Prompts,
    /// Record no prompt, and mark that there is none
    #[arg(long, conflicts_with_all = ["prompt", "prompt_file", "session"])]
    no_prompt: bool,
    /// Take prompts, tools, usage and failure from the trajectory of this session
    #[arg(long, value_name = "id", conflicts_with_all = ["prompt", "prompt_file"])]
    session: Option<String>,
    /// The form of the patches
    #[arg(long, value_name = "form", default_value = "binary")]
    patches: Form,
    /// Leave out the raw commits: signatures and unusual headers are lost
    #[arg(long)]
    no_lossless: bool,
    /// Record up to this many bytes of patches and messages
    #[arg(long, value_name = "bytes", default_value_t = BUDGET)]
    max_size: u64,
    /// Replace the journal if it exists
    #[arg(short, long)]
    yes: bool,
    /// Say only what must be seen
    #[arg(short, long)]
    quiet: bool,
    /// Run this command and record what it commits
    #[arg(last = true, value_name = "command")]
    command: Vec<OsString>,
}

/// Runs the subcommand.
///
/// # Errors
/// When the commits cannot be read or the journal cannot be written.
pub(super) fn run(arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    if arguments.prompts.is_empty() && !arguments.no_prompt && arguments.session.is_none() {
        ui.say("fatal: a journal needs a prompt: give --prompt, --prompt-file or --session");
        ui.say("hint: --no-prompt records an empty one and marks it");
        return Ok(Exit::USAGE);
    }
    if arguments.range.is_some() != arguments.command.is_empty() {
        ui.say("fatal: either a range or a command after '--' is expected");
        return Ok(Exit::USAGE);
    }
    let repo = Repo::discover()?;
    if !output::may_write(&arguments.output, arguments.yes, ui)? {
        return Ok(Exit::No);
    }
    output::check(&arguments.output)?;
    let prompts = arguments.prompts.read()?;
    if arguments.command.is_empty() {
        write(&repo, &arguments, prompts, None, ui)?;
        return Ok(Exit::Done);
    }
    // All that can be wrong before the command is found before it: it may take hours.
    if let Some(id) = &arguments.session {
        session::find(&repo, id)?;
    }
    options::limits(Some(&repo))?;
    let ended = Ended::of(&repo, &arguments.command, ui)?;
    if ended.has_run {
        match write(&repo, &arguments, prompts, Some(&ended), ui) {
            // The command's own code must not be lost over ours.
            Err(why) if ended.code != 0 => ui.say(format_args!("error: no journal: {why:#}")),
            written => written?,
        }
    }
    Ok(Exit::Code(ended.code))
}

/// Writes the journal of a range, or of a command that has `ended`.
fn write(
    repo: &Repo,
    arguments: &Arguments,
    prompts: Vec<String>,
    ended: Option<&Ended>,
    ui: &mut Ui,
) -> Result<()> {
    // Opened here: a command may have packed or pruned what was there before.
    let mut store = Store::for_record(repo)?;
    let range = match (ended, &arguments.range) {
        (Some(ended), _) => ended.range(repo, &store, ui)?,
        (None, words) => {
            let words = words.as_deref().context("no range was given")?;
            Range::named(repo, &store, words)?
        }
    };
    let parts = parts(repo, arguments, prompts, ended, ui)?;
    let commits = commits(repo, &mut store, arguments, range)?;
    warn_of_secrets(&mut store, &commits, ui)?;
    drop(store);
    let text = compose::journal(&parts, &commits, output::form(&arguments.output));
    let findings = proof::of(repo, &text, !arguments.quiet)?;
    output::write(&arguments.output, &text, ui)?;
    tell(arguments, &commits, &findings, text.len() as u64, repo, ui)
}

fn parts(
    repo: &Repo,
    arguments: &Arguments,
    prompts: Vec<String>,
    ended: Option<&Ended>,
    ui: &mut Ui,
) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = match &arguments.session {
        Some(id) => match session::parts(repo, id) {
            // What the command did is not thrown away because nobody told of it.
            Err(why) if ended.is_some() => {
                ui.warn(format_args!("recorded without a prompt: {why:#}"));
                vec![no_prompt()]
            }
            parts => parts?,
        },
        None => prompts
            .into_iter()
            .map(|prompt| Part {
                prompt,
                ..Part::default()
            })
            .collect(),
    };
    if arguments.no_prompt {
        parts.push(no_prompt());
    }
    let code = ended.map_or(0, |ended| ended.code);
    if let Some(last) = parts.last_mut().filter(|_| code != 0) {
        last.failure.get_or_insert_with(|| Failure {
            code: "process".into(),
            message: format!("the command ended with exit code {code}"),
        });
    }
    Ok(parts)
}

/// A turn of which only the commits are known.
fn no_prompt() -> Part {
    Part {
        marks: Some(json!({"chars": 0, "cut": false, "masked": false, "absent": true})),
        ..Part::default()
    }
}

fn commits(repo: &Repo, store: &mut Store, arguments: &Arguments, range: Range) -> Result<Commits> {
    let is_lossless = !arguments.no_lossless;
    let pairs = range
        .commits
        .iter()
        .map(|(_, raw)| trees(store, raw))
        .collect::<Result<Vec<_>>>()?;
    promised::by_pairs(store, &pairs)?;
    let patches = diffs::between(store.room()?, &pairs, arguments.patches)?;
    let size: u64 = range
        .commits
        .iter()
        .zip(&patches)
        .map(|((_, raw), patch)| (patch.len() + raw.message.as_ref().map_or(0, Vec::len)) as u64)
        .sum();
    let too_big = size > arguments.max_size;
    let too_big = too_big.then(|| {
        format!(
            "its patches and messages have {size} bytes, more than {}",
            arguments.max_size
        )
    });
    let odd = range
        .commits
        .iter()
        .find_map(|(_, raw)| match plain::outcome(raw) {
            Plain::Unavailable(why) => Some(why),
            _ => None,
        });
    let unavailable = too_big.clone().or(range.bend().or(odd).map(str::to_owned));
    let is_kept = too_big.is_none() && (is_lossless || unavailable.is_none());
    let baseline = match range.baseline {
        Some(commit) => Some((commit, store.tree_of(commit)?)),
        None => None,
    };
    let branch = repo.head()?.branch.map(|name| {
        let name = name.to_str_lossy().into_owned();
        name.strip_prefix("refs/heads/")
            .map(str::to_owned)
            .unwrap_or(name)
    });
    let commits = range.commits.into_iter().zip(patches);
    Ok(Commits {
        baseline,
        commits: match is_kept {
            true => commits.map(|((id, raw), patch)| (id, raw, patch)).collect(),
            false => Vec::new(),
        },
        unavailable,
        is_lossless,
        branch: branch.filter(|_| !arguments.command.is_empty()),
    })
}

/// The tree of the first parent of `raw`, and its own.
fn trees(store: &Store, raw: &RawCommit) -> Result<(ObjectId, ObjectId)> {
    let parent = match raw.parents().first() {
        Some(parent) => store.tree_of(*parent)?,
        None => ObjectId::empty_tree(store.hash()),
    };
    Ok((parent, raw.tree().context("a commit names no tree")?))
}

/// Names what looks like a secret in what the commits add.
fn warn_of_secrets(store: &mut Store, commits: &Commits, ui: &mut Ui) -> Result<()> {
    let pairs = commits
        .commits
        .iter()
        .map(|(_, raw, _)| trees(store, raw))
        .collect::<Result<Vec<_>>>()?;
    let patches = diffs::readable(store.room()?, &pairs)?;
    for ((id, ..), patch) in commits.commits.iter().zip(patches) {
        let found = leaks::of(&patch);
        if !found.is_empty() {
            ui.warn(format_args!(
                "commit {id} adds what looks like a secret, and the journal holds it:\n{}",
                crate::ui::listed(&found)
            ));
        }
    }
    Ok(())
}

fn tell(
    arguments: &Arguments,
    commits: &Commits,
    findings: &[String],
    size: u64,
    repo: &Repo,
    ui: &mut Ui,
) -> Result<()> {
    for finding in findings {
        ui.warn(finding);
    }
    let bound = options::limits(Some(repo))?.bytes;
    if size > bound {
        ui.warn(format_args!(
            "the journal has {size} bytes; readers take {bound} unless journal.maxSize says more"
        ));
    }
    for (id, raw, _) in &commits.commits {
        match plain::outcome(raw) {
            Plain::Same | Plain::Unavailable(_) => {}
            Plain::OtherInOldGits(why) => ui.note(format_args!(
                "commit {id}: a reader of the plain fields with an older git gets another id: {why}"
            )),
            Plain::Other(why) => ui.note(format_args!(
                "commit {id}: a reader of the plain fields gets another id: {why}"
            )),
            Plain::Refused(why) => ui.note(format_args!(
                "commit {id}: a reader of the plain fields cannot make it: {why}"
            )),
        }
    }
    if let Some(why) = &commits.unavailable {
        ui.note(format_args!(
            "a reader of the plain fields rebuilds nothing: {why}"
        ));
    }
    let count = commits.commits.len();
    let proven = match (findings.is_empty(), count) {
        (_, 0) => "no commits",
        (true, 1) => "1 commit, rebuilt once from it with the same tree and id",
        (true, _) => "all rebuilt once from it with the same trees and ids",
        (false, _) => "not all of them can be rebuilt from it",
    };
    let prefix = if count > 1 {
        format!("{count} commits, ")
    } else {
        String::new()
    };
    ui.note(format_args!(
        "{}: {prefix}{proven}",
        arguments.output.display()
    ));
    Ok(())
}
