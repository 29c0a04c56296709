//! `git checkpoint save`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use clap::{Args, ValueEnum};

use crate::checkpoint::exposure;
use crate::checkpoint::show_json::checkpoint_json;
use crate::cli::Exit;
use crate::error::Result;
use crate::events::mask::Masked;
use crate::git::Repo;
use crate::git::quote::quoted;
use crate::lane::record::Kind;
use crate::lane::save::{self, Request};
use crate::state::lock::PATIENCE;
use crate::ui::{Ui, listed};
use gix::bstr::ByteSlice;

#[derive(Args)]
pub(super) struct Arguments {
    /// Label of the checkpoint
    #[arg(short, long, value_name = "label")]
    message: Option<String>,
    /// What is about to happen: a write to the named paths, or a command
    #[arg(long, value_name = "what", require_equals = true)]
    before: Option<Before>,
    /// The command that checkpoint <N> was taken before has ended
    #[arg(long, value_name = "N", conflicts_with = "before")]
    after: Option<u32>,
    /// Make no checkpoint when nothing changed since the newest one
    #[arg(long)]
    if_changed: bool,
    /// Name of the tool that is about to write
    #[arg(long, value_name = "name")]
    tool: Option<String>,
    /// Path that is about to be written (may be given more than once)
    #[arg(long = "path", value_name = "path")]
    paths: Vec<OsString>,
    /// The agent's id of the call
    #[arg(long, value_name = "id")]
    call: Option<String>,
    /// The agent's id of the session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Capture these too although they are ignored (may be given more than once)
    #[arg(long, value_name = "pathspec")]
    include: Vec<OsString>,
    /// Do not list what could not be captured
    #[arg(short, long)]
    quiet: bool,
    /// Print the checkpoint as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Before {
    Write,
    Command,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let kind = match (arguments.before, arguments.after) {
        (_, Some(_)) => Kind::AfterCommand,
        (Some(Before::Write), _) => Kind::BeforeWrite,
        (Some(Before::Command), _) => Kind::BeforeCommand,
        (None, None) if arguments.tool.is_some() || !arguments.paths.is_empty() => {
            Kind::BeforeWrite
        }
        (None, None) => Kind::Save,
    };
    let mut paths = Vec::new();
    for path in &arguments.paths {
        match repo.path_in_worktree(path.as_ref())? {
            Some(path) => paths.push(path),
            None => ui.warn(format_args!(
                "'{}' is outside the worktree and not captured",
                path.to_string_lossy()
            )),
        }
    }
    let request = Request {
        kind,
        label: arguments
            .message
            .map(|label| Masked::from_string(label).as_str().to_owned()),
        tool: arguments.tool,
        paths,
        call: arguments.call,
        session: arguments.session,
        after: arguments.after,
        command: None,
        include: repo
            .pathspecs(&arguments.include)
            .into_iter()
            .map(|spec| OsStringExt::into_vec(spec).into())
            .collect(),
        only_if_changed: arguments.if_changed,
    };
    let Some(checkpoint) = save::save(repo, request, PATIENCE)? else {
        if arguments.json {
            ui.json(&serde_json::Value::Null)?;
        }
        return Ok(Exit::Done);
    };
    if checkpoint.record.moved {
        ui.warn("HEAD or the index moved while this was taken: it may mix two states");
    }
    if checkpoint.record.number == 1 {
        for exposure in repo.exposures() {
            exposure::tell(&exposure, ui);
        }
    }
    let skipped: Vec<String> = checkpoint
        .record
        .skipped
        .iter()
        .map(|s| format!("{}: {}", quoted(s.path.as_bstr()), s.reason))
        .collect();
    if !skipped.is_empty() {
        ui.note(format_args!("not captured:\n{}", listed(&skipped)));
    }
    if arguments.json {
        ui.json(&checkpoint_json(&checkpoint))?;
    } else {
        writeln!(ui.out, "{}", checkpoint.number())?;
    }
    Ok(Exit::Done)
}
