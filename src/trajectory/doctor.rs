//! `git trajectory doctor`: why is there no record? Silence has causes that
//! nobody tells of: a hook that is not trusted, not found, or killed.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::events::session;
use crate::git::Repo;
use crate::trajectory::agent::AGENTS;
use crate::trajectory::import;
use crate::trajectory::install::{Scope, is_installed, place};
use crate::trajectory::record::{State, is_alive, trouble_path};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

struct Finding {
    agent: &'static str,
    installed: Vec<String>,
    last_event: Option<i64>,
    problems: Vec<String>,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let findings: Vec<Finding> = AGENTS.iter().map(|agent| look(repo, agent)).collect();
    let mut general = Vec::new();
    let on_path = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join("git-trajectory").is_file())
    });
    if !on_path {
        general
            .push("git-trajectory is not on PATH: 'git trajectory' will not be found".to_owned());
    }
    let trouble: Vec<String> = trouble_path(Some(repo.common_dir()))
        .and_then(|path| std::fs::read_to_string(path).ok())
        .map(|text| text.lines().rev().take(5).map(str::to_owned).collect())
        .unwrap_or_default();
    if !trouble.is_empty() {
        general.push(format!("the hook had trouble, last: {}", trouble[0]));
    }
    let is_well = general.is_empty() && findings.iter().all(|f| f.problems.is_empty());
    if arguments.json {
        let agents: Vec<Value> = findings
            .iter()
            .map(|f| json!({"agent": f.agent, "installed": f.installed, "last_event": f.last_event.map(crate::events::time::text), "problems": f.problems}))
            .collect();
        ui.json(&json!({"agents": agents, "problems": general, "trouble": trouble}))?;
    } else {
        for finding in &findings {
            let state = match (finding.installed.is_empty(), finding.last_event) {
                (true, None) => "not installed".to_owned(),
                (true, Some(ms)) => format!(
                    "not installed, last event {}",
                    crate::events::time::text(ms)
                ),
                (false, None) => "installed, no event yet".to_owned(),
                (false, Some(ms)) => {
                    format!("installed, last event {}", crate::events::time::text(ms))
                }
            };
            writeln!(ui.out, "{:9} {state}", finding.agent)?;
            for problem in &finding.problems {
                writeln!(ui.out, "          problem: {problem}")?;
            }
        }
        for problem in &general {
            writeln!(ui.out, "problem: {problem}")?;
        }
    }
    Ok(if is_well { Exit::Done } else { Exit::No })
}

fn look(repo: &Repo, agent: &'static str) -> Finding {
    let mut installed = Vec::new();
    let mut since = None;
    let mut problems = Vec::new();
    for scope in [Scope::User, Scope::Project, Scope::Local] {
        let Ok(path) = place(agent, scope, repo.worktree()) else {
            continue;
        };
        if is_installed(&path, agent) {
            since = since.max(Some(changed(&path)));
            if let Some(missing) = missing_program(&path) {
                problems.push(format!(
                    "'{}' calls '{missing}', which is not there",
                    path.display()
                ));
            }
            installed.push(path.display().to_string());
        }
    }
    let last_event = last_event(repo, agent);
    if let Some(since) = since {
        let ran_since = import::of_user(agent)
            .iter()
            .map(|file| changed(file))
            .max()
            .filter(|ran| *ran > since);
        // A session that ended before its last words were written down lags a little behind.
        let silent = ran_since
            .is_some_and(|ran| last_event.is_none_or(|seen| seen + 60_000 < ran && seen < since));
        if silent && last_event.is_none() {
            problems.push(match agent {
                "codex" => {
                    "it has run since and no event came: type /hooks in codex and trust the hook"
                        .to_owned()
                }
                _ => {
                    "it has run since and no event came (perhaps in another repository)".to_owned()
                }
            });
        }
    }
    problems.extend(unfinished(repo, agent));
    Finding {
        agent,
        installed,
        last_event,
        problems,
    }
}

/// Sessions whose agent is gone without a word: killed, or its hook was.
fn unfinished(repo: &Repo, agent: &str) -> Vec<String> {
    let folder = session::folder(repo);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = name
            .strip_suffix(".state")
            .filter(|stem| stem.starts_with(&format!("{agent}-")))
        else {
            continue;
        };
        let state = State::load(&entry.path(), &folder.join(format!("{stem}.jsonl")));
        let gone = state.pid.is_some_and(|pid| !is_alive(pid, state.pid_began));
        if !state.open.is_empty() && gone {
            found.push(format!(
                "{stem}: {} calls have no end: the agent or its hook was killed",
                state.open.len()
            ));
        }
    }
    found
}

/// A program that the file at `path` calls by absolute path and that is not there.
fn missing_program(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let at = text
        .find("git-trajectory hook")
        .or_else(|| text.find("git-trajectory\";"))
        .or_else(|| text.find("git-trajectory' hook"))?;
    let start = text[..at].rfind(['"', '\'']).map_or(0, |n| n + 1);
    let program = format!("{}git-trajectory", &text[start..at]);
    (program.starts_with('/') && !Path::new(&program).exists()).then_some(program)
}

fn last_event(repo: &Repo, agent: &str) -> Option<i64> {
    std::fs::read_dir(session::folder(repo))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with(&format!("{agent}-"))
                && name.ends_with(".jsonl")
                && !name.ends_with(".import.jsonl")
        })
        .map(|entry| changed(&entry.path()))
        .max()
}

fn changed(path: &Path) -> i64 {
    let modified = path
        .metadata()
        .and_then(|found| found.modified())
        .unwrap_or(SystemTime::UNIX_EPOCH);
    modified
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_millis()).ok())
        .unwrap_or(0)
}
