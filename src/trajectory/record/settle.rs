//! What only the agent's own record proves, after the fact: calls that were
//! refused without a word to any hook, and calls of an agent that is gone.

use serde_json::Value;

use crate::error::Result;
use crate::events::{Event, Log, Session, line, session, time};
use crate::git::Repo;
use crate::lane::refused;
use crate::state::lock;
use crate::trajectory::agent::End;
use crate::trajectory::record::closing;
use crate::trajectory::record::guard::{self, PATIENCE};
use crate::trajectory::record::process::is_alive;
use crate::trajectory::record::recorder::longest_field;
use crate::trajectory::record::state::State;
use crate::trajectory::record::trouble;

/// Closes the open calls of sessions whose agent is gone, as unknown: after a
/// kill nobody can say what its command still did.
///
/// # Errors
/// When a log cannot be written.
pub(crate) fn close_orphans(repo: &Repo, only: Option<&str>) -> Result<()> {
    let folder = session::folder(repo);
    let limit = longest_field(repo)?;
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".state") else {
            continue;
        };
        if only.is_some_and(|wanted| wanted != stem) {
            continue;
        }
        let path = folder.join(format!("{stem}.jsonl"));
        let state = State::load(&entry.path(), &path);
        let gone = state.pid.is_some_and(|pid| !is_alive(pid, state.pid_began));
        if state.open.is_empty() || !gone || !path.exists() {
            continue;
        }
        let mut log = Log::open(&path, repo.sharing(), lock::PATIENCE)?;
        // Looked at again under the lock.
        let mut state = State::load(&entry.path(), &path);
        let (agent, id) = match stem.split_once('-') {
            Some((agent, id)) => (
                agent.to_owned(),
                first_session(&path).unwrap_or_else(|| id.to_owned()),
            ),
            None => continue,
        };
        for mut open in std::mem::take(&mut state.open) {
            guard::recall(&mut open.guard);
            for event in closing::events(
                &open,
                &End {
                    outcome: "unknown",
                    ..End::default()
                },
            ) {
                let event = Event {
                    session_id: id.clone(),
                    agent: Some(agent.clone()),
                    t_ms: Some((event.ts - state.began).max(0)),
                    ..event
                };
                log.append(&event.line(limit))?;
            }
            state.tools += 1;
        }
        state.store(&entry.path(), repo.sharing(), limit)?;
    }
    Ok(())
}

fn first_session(path: &std::path::Path) -> Option<String> {
    crate::events::Reader::open(path, 0)
        .ok()?
        .next_event()
        .ok()?
        .map(|event| event.session_id)
}

/// Takes back the checkpoints of calls that the transcript proves to have been
/// refused before they ran, and says so in the log. `refused` names calls.
///
/// # Errors
/// When a log cannot be read or written.
pub(crate) fn settle(repo: &Repo, session: &Session, refused: &[String]) -> Result<()> {
    let path = session.log(&session::folder(repo));
    if refused.is_empty() || !path.exists() {
        return Ok(());
    }
    let mut reader = crate::events::Reader::open(&path, 0)?;
    let mut taken: Vec<(String, u32, std::path::PathBuf)> = Vec::new();
    let mut began = 0;
    while let Some(event) = reader.next_event()? {
        if began == 0 {
            began = event.ms().unwrap_or(0);
        }
        let Some(call) = event
            .tool_call_id
            .clone()
            .filter(|call| refused.contains(call))
        else {
            continue;
        };
        let fields = event.fields();
        match event.kind.as_str() {
            "checkpoint" => {
                let worktree = fields.get("worktree").and_then(Value::as_str);
                taken.retain(|(known, _, place)| {
                    *known != call || worktree.is_some_and(|root| place.as_os_str() != root)
                });
                if let (Some(number), Some(worktree)) = (
                    fields.get("number").and_then(Value::as_u64),
                    fields.get("worktree").and_then(Value::as_str),
                ) {
                    taken.push((call, u32::try_from(number).unwrap_or(0), worktree.into()));
                }
            }
            // A call that is known to have run was not refused.
            "tool_end"
                if !matches!(
                    fields.get("outcome").and_then(Value::as_str),
                    Some("unknown" | "denied")
                ) =>
            {
                taken.retain(|(known, _, _)| *known != call);
            }
            _ => {}
        }
    }
    for (call, number, worktree) in taken {
        // A worktree that is gone keeps its lane as it was.
        let Ok(there) = Repo::at(&worktree) else {
            continue;
        };
        match refused::take_back(&there, number, &call, PATIENCE) {
            Ok(true) => {}
            Ok(false) => continue,
            // Another ingest may be at it, or the lane be held: the next one will see.
            Err(error) => {
                trouble::note(
                    Some(repo.common_dir()),
                    &session.agent,
                    &format!("{error:#}"),
                );
                continue;
            }
        }
        let event = Event::now(&session.id, "checkpoint", "dropped")
            .with("number", Value::Null)
            .with("dropped", number)
            .with("tool_call_id", call.as_str())
            .with("why", "the call was refused");
        let event = Event {
            agent: Some(session.agent.clone()),
            tool_call_id: Some(call),
            t_ms: Some((time::now() - began).max(0)),
            ..event
        };
        Log::open(&path, repo.sharing(), lock::PATIENCE)?.append(&event.line(line::MAX_FIELD))?;
    }
    Ok(())
}
