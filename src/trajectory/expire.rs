//! Sessions that are old: which they are, what goes, and what is kept of them.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::error::{Context, Hint, Result};
use crate::events::{Event, Log, Reader, line, session, time};
use crate::git::Repo;
use crate::state::file;
use crate::trajectory::import::UNRECORDED;
use crate::trajectory::record::{State, is_alive};

const DAY: Duration = Duration::from_secs(86_400);

/// When sessions expire, where nothing is configured.
pub(super) const DEFAULT: Duration = Duration::from_secs(30 * 86_400);

/// The name of the summary that stands for a session that has expired.
const PRUNED: &str = "pruned";

/// When sessions expire by `trajectory.expire`; `None` for never.
///
/// # Errors
/// When it is no age.
pub(super) fn configured(repo: &Repo) -> Result<Option<Duration>> {
    match repo.config_text("trajectory.expire").as_deref() {
        None => Ok(Some(DEFAULT)),
        Some("never") => Ok(None),
        Some(text) => age(text).map(Some),
    }
}

/// The age that `text` says.
///
/// # Errors
/// When it says none.
pub(super) fn age(text: &str) -> Result<Duration> {
    let ms = time::age(text)
        .with_context(|| format!("'{text}' is no age"))
        .hint("write 30d, 12h or 2w")?;
    Ok(Duration::from_millis(ms.unsigned_abs()))
}

/// Deletes what has expired, once a day, and keeps the sums; the first day begins
/// now. `trajectory.autoPrune` switches it off.
///
/// # Errors
/// When the configuration is wrong or a file stays.
pub(super) fn daily(repo: &Repo) -> Result<()> {
    let stamp = repo.shared_state().join("trajectory-day");
    let last = std::fs::metadata(&stamp).and_then(|found| found.modified());
    let is_due = match last {
        Ok(last) => last.elapsed().is_ok_and(|passed| passed > DAY),
        Err(_) => false,
    };
    if last.is_ok() && !is_due {
        return Ok(());
    }
    // First: what fails shall not be tried again at each end of a session.
    file::replace(&stamp, b"1\n", repo.sharing(), false)?;
    if !is_due || !repo.config_bool("trajectory.autoPrune", true)? {
        return Ok(());
    }
    if let Some(age) = configured(repo)? {
        for (stem, files) in old_sessions(repo, age, true) {
            // A log that is held is in use, whatever its time says.
            let _ = delete(repo, &stem, &files, true, Duration::ZERO);
        }
    }
    Ok(())
}

/// The files of each session that is older than `age` and whose agent is gone; with
/// `but_summaries` without those of which only the sums are left.
pub(super) fn old_sessions(
    repo: &Repo,
    age: Duration,
    but_summaries: bool,
) -> BTreeMap<String, Vec<PathBuf>> {
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
        if !files.iter().all(is_old) || (but_summaries && is_summary(files)) {
            return false;
        }
        let state = State::load(
            &folder.join(format!("{stem}.state")),
            &folder.join(format!("{stem}.jsonl")),
        );
        state.ended || !state.pid.is_some_and(|pid| is_alive(pid, state.pid_began))
    });
    sessions
}

fn is_summary(files: &[PathBuf]) -> bool {
    let [log] = files else {
        return false;
    };
    let only = Reader::open(log, 0).and_then(|mut reader| {
        let first = reader.next_event()?;
        Ok(first.filter(|_| matches!(reader.next_event(), Ok(None))))
    });
    only.is_ok_and(|only| only.is_some_and(|e| e.kind == "summary" && e.name == PRUNED))
}

/// Deletes the `files` of a session, under the lock of its log; with `keep_summary` a
/// line with its sums stays in their place.
///
/// # Errors
/// When the log is held for longer than `patience`, or a file stays.
pub(super) fn delete(
    repo: &Repo,
    stem: &str,
    files: &[PathBuf],
    keep_summary: bool,
    patience: Duration,
) -> Result<()> {
    let live = session::folder(repo).join(format!("{stem}.jsonl"));
    // Whoever waits for the lock finds the file gone, and makes a new one.
    let held = match live.exists() {
        true => Some(Log::open(&live, repo.sharing(), patience)?),
        false => None,
    };
    let summary = match keep_summary {
        true => summary(repo, stem)?,
        false => None,
    };
    for path in files {
        file::remove(path)?;
    }
    drop(held);
    if let Some(summary) = summary {
        Log::open(&live, repo.sharing(), patience)?.append(&summary.line(line::MAX_FIELD))?;
    }
    Ok(())
}

/// One event with the sums of a session.
fn summary(repo: &Repo, stem: &str) -> Result<Option<Event>> {
    let folder = session::folder(repo);
    let mut sums = Sums::default();
    for name in [format!("{stem}.jsonl"), format!("{stem}.import.jsonl")] {
        let Ok(mut reader) = Reader::open(&folder.join(name), 0) else {
            continue;
        };
        let (mut turns, mut tools, mut unrecorded) = (0, 0, 0);
        while let Some(event) = reader.next_event()? {
            sums.first.get_or_insert((
                event.session_id.clone(),
                event.agent.clone(),
                event.ms().unwrap_or(0),
            ));
            let fields = event.fields();
            let number = |name: &str| fields.get(name).and_then(Value::as_u64);
            let cost = fields.get("cost_usd").and_then(Value::as_f64);
            match event.kind.as_str() {
                // Told by a hook and by the transcript it is one call.
                "assistant" if event.call_key.is_none_or(|key| sums.calls.insert(key)) => {
                    turns += 1;
                    sums.bill(number("total_tokens"), cost);
                }
                "tool_end" => tools += 1,
                "note" if event.name == UNRECORDED => unrecorded += 1,
                // It had expired before, and went on.
                "summary" if event.name == PRUNED => {
                    turns += number("turns").unwrap_or(0);
                    tools += number("tools").unwrap_or(0);
                    unrecorded += number("unrecorded").unwrap_or(0);
                    sums.bill(number("tokens"), cost);
                }
                _ => {}
            }
        }
        sums.turns += turns;
        sums.tools = sums.tools.max(tools);
        sums.unrecorded = sums.unrecorded.max(unrecorded);
    }
    let Some((id, agent, began)) = sums.first else {
        return Ok(None);
    };
    let event = Event::now(&id, "summary", PRUNED)
        .with("turns", sums.turns)
        .with("tools", sums.tools)
        .with("tokens", sums.tokens)
        .with("cost_usd", sums.cost)
        .with("unrecorded", sums.unrecorded);
    Ok(Some(Event {
        ts: began,
        agent,
        ..event
    }))
}

#[derive(Default)]
struct Sums {
    first: Option<(String, Option<String>, i64)>,
    calls: HashSet<String>,
    turns: u64,
    tools: u64,
    unrecorded: u64,
    tokens: Option<u64>,
    cost: Option<f64>,
}

impl Sums {
    fn bill(&mut self, tokens: Option<u64>, cost: Option<f64>) {
        if let Some(tokens) = tokens {
            self.tokens = Some(self.tokens.unwrap_or(0) + tokens);
        }
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }
}
