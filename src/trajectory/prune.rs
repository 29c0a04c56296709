//! `git trajectory prune`: old sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;

use crate::cli::Exit;
use crate::error::{Context, Hint, Result};
use crate::events::{Event, Log, Reader, line, session, time};
use crate::git::Repo;
use crate::state::file;
use crate::state::lock::PATIENCE;
use crate::trajectory::record::{State, is_alive};
use crate::ui::{self, Ui};

#[derive(Args)]
pub(super) struct Arguments {
    /// Sessions that nothing was written to for so long; trajectory.expire, or 30 days
    #[arg(long, value_name = "age")]
    older_than: Option<String>,
    /// Keep a line with the sums of each
    #[arg(long)]
    keep_summary: bool,
    /// Show what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let configured = repo.config_text("trajectory.expire");
    let age = arguments
        .older_than
        .clone()
        .or(configured)
        .unwrap_or_else(|| "30d".to_owned());
    let age = time::age(&age)
        .with_context(|| format!("'{age}' is no age"))
        .hint("write 30d, 12h or 2w")?;
    let old = old_sessions(repo, Duration::from_millis(age.unsigned_abs()));
    if old.is_empty() {
        ui.note("nothing is old enough");
        return Ok(Exit::Done);
    }
    for stem in old.keys() {
        writeln!(ui.out, "{stem}")?;
    }
    if arguments.dry_run {
        return Ok(Exit::Done);
    }
    if !arguments.yes {
        if !ui::can_ask() {
            ui.say("nothing was deleted: --yes deletes these sessions");
            return Ok(Exit::No);
        }
        ui.flush()?;
        if !ui::confirm("Delete these sessions? They cannot be brought back.")? {
            return Ok(Exit::No);
        }
    }
    for (stem, files) in &old {
        if arguments.keep_summary {
            summarise(repo, stem)?;
        }
        for path in files {
            let is_live_log = path.extension().is_some_and(|e| e == "jsonl")
                && !path.to_string_lossy().ends_with(".import.jsonl");
            if !(arguments.keep_summary && is_live_log) {
                file::remove(path)?;
            }
        }
    }
    Ok(Exit::Done)
}

/// The files of each session that is older than `age` and whose agent is gone.
fn old_sessions(repo: &Repo, age: Duration) -> BTreeMap<String, Vec<PathBuf>> {
    let mut sessions: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(session::folder(repo))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stem = [".import.jsonl", ".jsonl", ".state"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending));
        if let Some(stem) = stem {
            sessions
                .entry(stem.to_owned())
                .or_default()
                .push(entry.path());
        }
    }
    let now = SystemTime::now();
    let is_old = |path: &PathBuf| {
        let changed = path.metadata().and_then(|found| found.modified());
        changed.is_ok_and(|changed| {
            now.duration_since(changed)
                .is_ok_and(|passed| passed >= age)
        })
    };
    let folder = session::folder(repo);
    sessions.retain(|stem, files| {
        let state = State::load(
            &folder.join(format!("{stem}.state")),
            &folder.join(format!("{stem}.jsonl")),
        );
        let lives = !state.ended && state.pid.is_some_and(|pid| is_alive(pid, state.pid_began));
        files.iter().all(is_old) && !lives
    });
    sessions
}

/// Leaves of a log its first line and one with its sums.
fn summarise(repo: &Repo, stem: &str) -> Result<()> {
    let folder = session::folder(repo);
    let live = folder.join(format!("{stem}.jsonl"));
    let mut found: Option<(String, Option<String>, i64)> = None;
    let (mut turns, mut tools, mut tokens, mut cost) = (0_u64, 0_u64, None::<u64>, None::<f64>);
    for path in [live.clone(), folder.join(format!("{stem}.import.jsonl"))] {
        let Ok(mut reader) = Reader::open(&path, 0) else {
            continue;
        };
        let (mut t, mut u) = (0, 0);
        while let Some(event) = reader.next_event()? {
            found.get_or_insert((
                event.session_id.clone(),
                event.agent.clone(),
                event.ms().unwrap_or(0),
            ));
            let fields = event.fields();
            match event.kind.as_str() {
                "assistant" => {
                    t += 1;
                    if let Some(n) = fields
                        .get("total_tokens")
                        .and_then(serde_json::Value::as_u64)
                    {
                        tokens = Some(tokens.unwrap_or(0) + n);
                    }
                    if let Some(n) = fields.get("cost_usd").and_then(serde_json::Value::as_f64) {
                        cost = Some(cost.unwrap_or(0.0) + n);
                    }
                }
                "tool_end" => u += 1,
                _ => {}
            }
        }
        turns = turns.max(t);
        tools = tools.max(u);
    }
    let Some((id, agent, began)) = found else {
        return Ok(());
    };
    let event = Event::now(&id, "summary", "pruned")
        .with("turns", turns)
        .with("tools", tools)
        .with("tokens", tokens)
        .with("cost_usd", cost);
    let event = Event {
        ts: began,
        agent,
        ..event
    };
    file::remove(&live)?;
    Log::open(&live, repo.sharing(), PATIENCE)?.append(&event.line(line::MAX_FIELD))?;
    Ok(())
}
