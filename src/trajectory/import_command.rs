//! `git trajectory import`: the transcripts that agents wrote themselves.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::{Context, Hint, Result};
use crate::events::{Key, Reader, line, session, time};
use crate::git::Repo;
use crate::trajectory::import::{self, AGENTS, Story};
use crate::trajectory::record::{self, close_orphans, settle};
use crate::ui::{self, Ui};

#[derive(Args)]
pub(super) struct Arguments {
    /// The agent (claude, codex, gemini, opencode, pi), then transcripts; without them what the agents keep of this repository
    #[arg(value_name = "agent or path")]
    what: Vec<PathBuf>,
    /// Only transcripts that changed since: an age such as 2d, or a time
    #[arg(long, value_name = "time")]
    since: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let mut files = arguments.what;
    let named = files
        .first()
        .and_then(|first| AGENTS.iter().find(|agent| first.as_os_str() == **agent));
    if named.is_some() {
        files.remove(0);
    }
    let since = match arguments.since.as_deref() {
        None => None,
        Some(text) => Some(
            instant(text)
                .context("cannot understand --since")
                .hint("an age such as 2d, or a time such as 2026-11-29T12:00:00Z")?,
        ),
    };
    let by_name = !files.is_empty();
    let mut counted = Counted::default();
    for agent in AGENTS
        .iter()
        .filter(|agent| named.is_none_or(|named| named == *agent))
    {
        let of_agent: Vec<PathBuf> = if by_name {
            files
                .iter()
                .filter(|f| named.is_some() || import::agent_of(f) == Some(agent))
                .cloned()
                .collect()
        } else {
            import::of_user(agent)
        };
        let recent: Vec<PathBuf> = of_agent
            .into_iter()
            .filter(|f| since.is_none_or(|since| changed(f) >= since))
            .collect();
        if recent.is_empty() {
            continue;
        }
        for story in import::read(agent, &recent, &Key::of(repo)?)? {
            if by_name || import::of_repository(repo, story.cwd.as_deref()) {
                counted.add(repo, story)?;
            }
        }
    }
    if by_name && counted.sessions == 0 {
        return Err(crate::error::hinted(
            "no transcript was recognised",
            "name the agent before the files",
        ));
    }
    if arguments.json {
        ui.json(&json!({"sessions": counted.sessions, "events": counted.events, "broken": counted.broken}))?;
    } else {
        ui.note(format_args!(
            "{}, {} imported",
            ui::counted(counted.sessions, "session"),
            ui::counted(counted.events, "event")
        ));
        if counted.broken > 0 {
            ui.warn(format_args!(
                "{} could not be read",
                ui::counted(counted.broken, "row")
            ));
        }
    }
    Ok(Exit::Done)
}

#[derive(Default)]
struct Counted {
    sessions: usize,
    events: usize,
    broken: u64,
}

impl Counted {
    fn add(&mut self, repo: &Repo, mut story: Story) -> Result<()> {
        // What is imported in a phase belongs to it.
        let run = record::run();
        if let Some(start) = story.events.first_mut().filter(|_| !run.is_null()) {
            start.payload.insert("run".to_owned(), run);
        }
        self.sessions += 1;
        self.broken += story.broken;
        self.events += import::write(repo, story, limit(repo)?)?;
        Ok(())
    }
}

fn limit(repo: &Repo) -> Result<usize> {
    Ok(
        usize::try_from(repo.config_size("trajectory.maxField", line::MAX_FIELD as u64)?)
            .unwrap_or(line::MAX_FIELD),
    )
}

fn instant(text: &str) -> Option<i64> {
    time::age(text)
        .map(|age| time::now() - age)
        .or_else(|| time::parse(text))
}

fn changed(path: &Path) -> i64 {
    path.metadata()
        .and_then(|m| m.modified())
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|d| i64::try_from(d.as_millis()).ok())
        .unwrap_or(0)
}

/// Imports the transcripts that live sessions named and that changed since;
/// with `only`, that of the log of this stem. One that cannot be read costs no
/// other; the number of those is given.
pub(super) fn import_known(repo: &Repo, only: Option<&str>) -> Result<usize> {
    let folder = session::folder(repo);
    close_orphans(repo, only)?;
    let mut failed = 0;
    let mut done: HashSet<PathBuf> = HashSet::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = name
            .strip_suffix(".jsonl")
            .filter(|stem| !stem.ends_with(".import"))
        else {
            continue;
        };
        if only.is_some_and(|wanted| wanted != stem) {
            continue;
        }
        let Some((agent, transcript)) = transcript_of(&entry.path()) else {
            continue;
        };
        let imported = changed(&folder.join(format!("{stem}.import.jsonl")));
        let files = import::companions(&agent, &transcript);
        if !done.insert(transcript.clone()) || files.iter().all(|f| changed(f) < imported) {
            continue;
        }
        match import::read(&agent, &files, &Key::of(repo)?) {
            Ok(stories) => {
                for story in stories {
                    let refused = refused_calls(&story);
                    settle(repo, &story.session, &refused)?;
                    import::write(repo, story, limit(repo)?)?;
                }
            }
            Err(_) => failed += 1,
        }
    }
    Ok(failed)
}

/// The calls that the transcript proves to have been refused before they ran.
/// Codex gives no such proof: a stopped command looks the same there.
fn refused_calls(story: &Story) -> Vec<String> {
    if !matches!(story.session.agent.as_str(), "claude" | "gemini") {
        return Vec::new();
    }
    let is_denied = |event: &&crate::events::Event| {
        event.kind == "tool_end"
            && event.payload.get("outcome").and_then(Value::as_str) == Some("denied")
    };
    story
        .events
        .iter()
        .filter(is_denied)
        .filter_map(|event| event.tool_call_id.clone())
        .collect()
}

/// The agent and the transcript that the live log at `path` names in its first lines.
fn transcript_of(path: &Path) -> Option<(String, PathBuf)> {
    let mut reader = Reader::open(path, 0).ok()?;
    for _ in 0..4 {
        let event = reader.next_event().ok()??;
        let agent = event.agent.clone()?;
        if let Some(Value::String(file)) = event.fields().get("session_file") {
            if !AGENTS.contains(&agent.as_str()) || agent == "opencode" {
                return None;
            }
            return import::present(PathBuf::from(file)).map(|file| (agent, file));
        }
    }
    None
}
