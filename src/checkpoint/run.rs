//! `git checkpoint run`: a command between two checkpoints.

use std::ffi::OsString;

use clap::Args;
use gix::bstr::{BString, ByteSlice};
use serde_json::json;

use crate::checkpoint::fence::{self, Fenced};
use crate::checkpoint::head_check;
use crate::checkpoint::others::Others;
use crate::checkpoint::restore::{Outcome, Restored, Wish, restore};
use crate::checkpoint::rollback::{self, Reason};
use crate::checkpoint::undo::finish;
use crate::cli::Exit;
use crate::error::Result;
use crate::events::mask::Masked;
use crate::git::Repo;
use crate::git::command::Child;
use crate::git::pathspec::Scope;
use crate::git::quote::{json_path, quoted};
use crate::lane::record::Kind;
use crate::lane::save::{self, Request};
use crate::lane::{Checkpoint, find};
use crate::state::lock::PATIENCE;
use crate::ui::{Ui, listed};

#[derive(Args)]
pub(super) struct Arguments {
    /// Label of the checkpoint before
    #[arg(short, long, value_name = "label")]
    message: Option<String>,
    /// Command for a shell that says whether the result is good; if it is not, the
    /// state before comes back
    #[arg(long, value_name = "command")]
    test: Option<String>,
    /// Leave the state after as it is, even when the test fails
    #[arg(long)]
    no_rollback: bool,
    /// Where the command may write; what it wrote elsewhere is put back
    #[arg(long, value_name = "pathspec")]
    allow: Vec<OsString>,
    /// Run the command even when no checkpoint can be taken
    #[arg(long)]
    unprotected: bool,
    /// Print what happened as JSON, after the command's own output
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "command")]
    command: Vec<OsString>,
}

/// What `--json` tells.
#[derive(Default)]
struct Story {
    before: Option<u32>,
    after: Option<u32>,
    test: Option<u8>,
    rolled_back: Vec<BString>,
    fenced: Vec<BString>,
    left_alone: Vec<BString>,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let session = std::env::var("HARNESS_SESSION")
        .ok()
        .filter(|id| !id.is_empty());
    let shown = shown(&arguments.command);
    // A fence that cannot be understood must stop us before the command runs.
    let mut allowed = Scope::of_pathspecs(repo, &arguments.allow)?;
    let mut story = Story::default();
    let before = save::save(
        repo,
        Request {
            kind: Kind::BeforeCommand,
            label: arguments.message.as_deref().map(masked),
            command: Some(shown.clone()),
            session: session.clone(),
            ..Request::default()
        },
        PATIENCE,
    );
    let before = match before {
        Ok(before) => before,
        Err(e) if arguments.unprotected => {
            ui.warn(format_args!("running without a checkpoint: {e:#}"));
            None
        }
        Err(e) => return Err(e),
    };
    story.before = before.as_ref().map(|b| b.record.number);
    ui.flush()?;
    let program = &arguments.command[0];
    let ended = Child::as_called(program)
        .args(&arguments.command[1..])
        .wrapped()?;
    let code = ended.code;
    if let Some(reason) = ended.not_started {
        ui.say(format_args!(
            "error: cannot run '{}': {reason}",
            program.display()
        ));
    }
    let Some(before) = before else {
        return Ok(Exit::Code(code));
    };
    let after = match close(repo, &before, &shown, session.clone()) {
        Ok(after) => after,
        Err(e) if code != 0 => {
            // The command's own code must not be lost over ours.
            ui.say(format_args!(
                "error: no checkpoint after the command: {e:#}"
            ));
            return Ok(Exit::Code(code));
        }
        Err(e) => return Err(e),
    };
    story.after = Some(after.record.number);
    let mut exit = Exit::Code(code);
    if !arguments.allow.is_empty() {
        let fenced = match head_check::allows(repo, &before, ui)? {
            true => fence::put_back(repo, &before, &mut allowed, ui)?,
            false => {
                exit = Exit::No;
                Fenced::default()
            }
        };
        if !fenced.put_back.is_empty() || !fenced.left.is_empty() {
            tell_fence(&fenced, ui);
            exit = Exit::No;
        }
        story.fenced = fenced.put_back;
        story.left_alone = fenced.left;
    }
    if let Some(test) = &arguments.test {
        ui.flush()?;
        let passed = Child::as_called("sh").arg("-c").arg(test).wrapped()?.code;
        story.test = Some(passed);
        if passed != 0 {
            exit = Exit::No;
            if arguments.no_rollback {
                ui.note(format_args!(
                    "the test failed with {passed}; the state before is checkpoint {}",
                    before.number()
                ));
            } else if let Some(restored) = roll_back(repo, &before, &after, ui)? {
                let reason = Reason {
                    test,
                    code: passed,
                    session: session.as_deref(),
                };
                rollback::log(repo, &restored, &reason, ui)?;
                story.rolled_back = [restored.written, restored.deleted].concat();
            }
        }
    }
    if arguments.json {
        tell_json(&story, code, ui)?;
    } else if after.tree != before.tree {
        ui.note(format_args!(
            "the state before is checkpoint {}, the state after {}",
            before.number(),
            after.number()
        ));
    }
    Ok(exit)
}

/// The checkpoint after the command.
fn close(
    repo: &Repo,
    before: &Checkpoint,
    shown: &str,
    session: Option<String>,
) -> Result<Checkpoint> {
    let request = Request {
        kind: Kind::AfterCommand,
        after: Some(before.record.number),
        command: Some(shown.to_owned()),
        session,
        ..Request::default()
    };
    match save::save(repo, request, PATIENCE)? {
        Some(after) => Ok(after),
        None => find::by_text(repo, &before.lane_and_number()),
    }
}

/// Brings back what there is evidence for; the rest is somebody's and stays.
fn roll_back(
    repo: &Repo,
    before: &Checkpoint,
    after: &Checkpoint,
    ui: &mut Ui,
) -> Result<Option<Restored>> {
    if !head_check::allows(repo, before, ui)? {
        ui.say("the test failed; nothing was rolled back");
        return Ok(None);
    }
    let outcome = restore(
        repo,
        Wish {
            others: Others::Keep,
            ..Wish::to(before.clone(), Scope::All)
        },
        ui,
    )?;
    let Outcome::Restored(restored) = outcome else {
        ui.say("the test failed; nothing had changed");
        return Ok(None);
    };
    finish(repo)?;
    let count = restored.written.len() + restored.deleted.len();
    ui.say(format_args!(
        "the test failed: {count} files are as in checkpoint {}; what the command left is {}",
        before.number(),
        match restored.safety.tree == after.tree {
            true => after.number(),
            false => restored.safety.number(),
        }
    ));
    if !restored.kept.is_empty() {
        let lines: Vec<String> = restored.kept.iter().map(|p| quoted(p.as_bstr())).collect();
        ui.say(format_args!(
            "kept, not by the command:\n{}",
            listed(&lines)
        ));
    }
    for left in &restored.left_alone {
        ui.say(format_args!(
            "left alone: {}: {}",
            quoted(left.path.as_bstr()),
            left.reason
        ));
    }
    Ok(Some(*restored))
}

fn tell_fence(fenced: &fence::Fenced, ui: &mut Ui) {
    let lines =
        |paths: &[BString]| -> Vec<String> { paths.iter().map(|p| quoted(p.as_bstr())).collect() };
    if !fenced.put_back.is_empty() {
        ui.say(format_args!(
            "written outside of what was allowed, and put back:\n{}",
            listed(&lines(&fenced.put_back))
        ));
    }
    if !fenced.left.is_empty() {
        ui.say(format_args!(
            "changed outside of what was allowed, not surely by the command, and left:\n{}",
            listed(&lines(&fenced.left))
        ));
    }
}

fn tell_json(story: &Story, code: u8, ui: &mut Ui) -> Result<()> {
    let paths = |all: &[BString]| -> Vec<serde_json::Value> {
        all.iter().map(|p| json_path(p.as_bstr())).collect()
    };
    ui.json(&json!({
        "before": story.before,
        "after": story.after,
        "exit": code,
        "test": story.test,
        "rolled_back": paths(&story.rolled_back),
        "put_back": paths(&story.fenced),
        "left_alone": paths(&story.left_alone),
    }))
}

/// The command line for people, without secrets.
fn shown(command: &[OsString]) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Masked::new(&words.join(" ")).head(500).as_str().to_owned()
}

fn masked(text: &str) -> String {
    Masked::new(text).as_str().to_owned()
}
