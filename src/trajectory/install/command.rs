//! The arguments of `install`, what is shown and asked.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Hint, Result};
use crate::git::Repo;
use crate::state::file;
use crate::trajectory::install::change::{Change, backup_of};
use crate::trajectory::install::edit::with_field;
use crate::trajectory::install::extension::{self, MARK};
use crate::trajectory::install::places::{Scope, place};
use crate::trajectory::install::settings::{with_hooks, without_hooks};
use crate::ui::{self, Ui};

#[derive(Args)]
pub(crate) struct Arguments {
    /// claude, codex, gemini, opencode or pi
    #[arg(required = true, value_name = "agent")]
    agents: Vec<String>,
    /// For whom
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Take it out again
    #[arg(long)]
    uninstall: bool,
    /// Show what would change
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let root = Repo::discover()
        .ok()
        .and_then(|repo| repo.worktree().map(Path::to_owned));
    let program = program()?;
    let mut changes = Vec::new();
    for agent in &arguments.agents {
        let path = place(agent, arguments.scope, root.as_deref())?;
        changes.push((
            agent.as_str(),
            change(agent, path, &program, arguments.uninstall)?,
        ));
    }
    let needed: Vec<&(&str, Change)> = changes
        .iter()
        .filter(|(_, change)| change.is_needed())
        .collect();
    if needed.is_empty() {
        let what = if arguments.uninstall {
            "nothing of ours is installed"
        } else {
            "everything is installed already"
        };
        ui.note(what);
        return Ok(Exit::Done);
    }
    for (_, change) in &needed {
        ui.say(change.diff()?.trim_end());
    }
    if arguments.dry_run {
        return Ok(Exit::Done);
    }
    if !arguments.yes {
        if !ui::can_ask() {
            ui.say("nothing was changed: --yes makes these changes");
            return Ok(Exit::No);
        }
        if !ui::confirm("Change these files?")? {
            return Ok(Exit::No);
        }
    }
    for (agent, change) in &needed {
        change.apply()?;
        let shown = change.path.display();
        if arguments.uninstall {
            ui.note(format_args!("{agent}: taken out of '{shown}'"));
        } else {
            ui.note(format_args!("{agent}: installed in '{shown}'"));
            advise(agent, ui);
        }
        if change.before.is_some() && change.after.is_some() && change.has_others {
            ui.note(format_args!(
                "the file as it was: '{}'",
                backup_of(&change.path).display()
            ));
        }
    }
    Ok(Exit::Done)
}

/// What an agent needs beside the file.
fn advise(agent: &str, ui: &mut Ui) {
    match agent {
        "codex" => {
            ui.say(
                "hint: Codex runs a new hook only when you trust it: start codex and type /hooks",
            );
        }
        "opencode" => {
            ui.say("hint: with a plugin, opencode runs npm at each start; without a network that takes a minute:");
            ui.say("hint: 'npm config set fetch-retries 0' makes it give up at once");
        }
        _ => {}
    }
}

/// The program by absolute path, as the user's links name it, so that the
/// command stays the same when a new version is put there.
fn program() -> Result<PathBuf> {
    let here = std::env::current_exe().context("cannot find the program's own path")?;
    let on_path = std::env::var_os("PATH").into_iter().flat_map(|path| {
        std::env::split_paths(&path)
            .map(|folder| folder.join("git-trajectory"))
            .collect::<Vec<_>>()
    });
    let same = |candidate: &PathBuf| {
        candidate.is_absolute() && candidate.canonicalize().ok() == here.canonicalize().ok()
    };
    Ok(on_path.into_iter().find(same).unwrap_or(here))
}

fn change(agent: &str, path: PathBuf, program: &Path, uninstall: bool) -> Result<Change> {
    let before = file::read(&path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if matches!(agent, "pi" | "opencode") {
        let is_ours = before.as_deref().is_none_or(|text| text.starts_with(MARK));
        crate::error::ensure!(is_ours, "'{}' is not ours", path.display());
        let after = (!uninstall).then(|| extension::text(agent, program));
        return Ok(Change {
            path,
            before,
            after,
            has_others: false,
        });
    }
    let settings: Value = match before
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        None => json!({}),
        Some(text) => serde_json::from_str(text)
            .with_context(|| format!("cannot read '{}'", path.display()))
            .hint("nothing was changed; mend the file, or take the comments out of it")?,
    };
    let others = without_hooks(&settings, agent)?;
    let has_others = others != json!({});
    let changed = if uninstall {
        others
    } else {
        with_hooks(
            &settings,
            agent,
            &format!("{} hook {agent}", quoted(program)),
        )?
    };
    let after = if changed == settings {
        before.clone()
    } else if uninstall && !has_others && !backup_of(&path).exists() {
        None // the file was made by us
    } else {
        Some(with_field(
            before.as_deref().unwrap_or(""),
            "hooks",
            changed.get("hooks"),
        )?)
    };
    Ok(Change {
        path,
        before,
        after,
        has_others,
    })
}

/// The path as one word of a shell.
fn quoted(program: &Path) -> String {
    let text = program.to_string_lossy();
    let is_plain = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_' | b'+'));
    if is_plain {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
