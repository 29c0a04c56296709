//! One event of an agent: the checkpoint first, then, under the lock of the
//! session's log, the lines and the state.

use std::path::PathBuf;

use crate::error::Result;
use crate::events::{Key, line, session};
use crate::git::Repo;
use crate::trajectory::agent::tools::Doing;
use crate::trajectory::agent::{Call, Moment, Told, Tools};
use crate::trajectory::import::tool_key;
use crate::trajectory::record::entry::Entry;
use crate::trajectory::record::guard::{self, Ask};
use crate::trajectory::record::place;
use crate::trajectory::record::state::{Guarded, State};

/// What the caller must know of an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// The checkpoint before the write.
    pub(crate) checkpoint: Option<u32>,
    /// Why there is none although there should be.
    pub(crate) error: Option<String>,
    /// `checkpoint.onHook=require`, and there is none.
    pub(crate) refuse: bool,
    /// The session has ended: its stem, and the repository it is in.
    pub(crate) ended: Option<(String, PathBuf)>,
}

/// Writes down what was `told`. `None` outside of any repository.
///
/// # Errors
/// When the log cannot be written; a checkpoint may have been taken nevertheless.
pub(crate) fn record(told: &Told) -> Result<Option<Reply>> {
    if told.session.id.is_empty() {
        return Ok(None);
    }
    let Some(repo) = place::repository(told)? else {
        return Ok(None);
    };
    session::require_private(&repo)?;
    let settings = Settings::of(&repo, &told.session.agent)?;
    let guarded = match &told.moment {
        Moment::Before(call) => Some(guarded(&repo, told, call, &settings)),
        _ => None,
    };
    let mut entry = Entry::open(&repo, told, &settings)?;
    let mut reply = Reply::default();
    if let Some((doing, guard)) = &guarded {
        reply.checkpoint = guard.number;
        reply.error = guard.failure().cloned();
        entry.failed.clone_from(&reply.error);
        reply.refuse = settings.require && reply.error.is_some() && *doing != Doing::Reads;
    }
    let outcome = entry.apply(told, guarded.map(|(_, guard)| guard));
    entry.finish()?;
    outcome?;
    if matches!(told.moment, Moment::SessionEnd(_)) {
        let root = repo.worktree().unwrap_or(repo.git_dir());
        reply.ended = Some((told.session.stem(), root.to_owned()));
    }
    Ok(Some(reply))
}

/// What the user's git configuration says of hooks.
pub(super) struct Settings {
    pub(super) limit: usize,
    pub(super) key: Key,
    tools: Tools,
    enabled: bool,
    require: bool,
}

impl Settings {
    fn of(repo: &Repo, agent: &str) -> Result<Self> {
        let (enabled, require) = on_hook(repo)?;
        let also = repo
            .config_all("trajectory.readOnlyTool")
            .iter()
            .map(ToString::to_string)
            .collect();
        Ok(Settings {
            limit: longest_field(repo)?,
            key: Key::of(repo)?,
            tools: Tools::new(agent, also),
            enabled,
            require,
        })
    }
}

/// `checkpoint.onHook`: whether checkpoints are taken, and whether nothing may be written
/// without one.
fn on_hook(repo: &Repo) -> Result<(bool, bool)> {
    const KEY: &str = "checkpoint.onHook";
    match repo.config_text(KEY) {
        Some(text) if text.eq_ignore_ascii_case("require") => Ok((true, true)),
        _ => Ok((repo.config_bool(KEY, true)?, false)),
    }
}

/// Whether `told` may write, and nothing may be written here without a checkpoint: asked
/// when the event could not be recorded.
pub(crate) fn is_required(told: &Told) -> bool {
    let may_write = match &told.moment {
        Moment::Before(call) => {
            let tools = Tools::new(&told.session.agent, Vec::new());
            tools.doing(call, &told.cwd) != Doing::Reads
        }
        Moment::Unreadable => true,
        _ => false,
    };
    may_write && place::is_required(told)
}

/// `trajectory.maxField`.
pub(super) fn longest_field(repo: &Repo) -> Result<usize> {
    let configured = repo.config_size("trajectory.maxField", line::MAX_FIELD as u64)?;
    Ok(usize::try_from(configured).unwrap_or(line::MAX_FIELD))
}

/// The checkpoint before `call`.
fn guarded(repo: &Repo, told: &Told, call: &Call, settings: &Settings) -> (Doing, Guarded) {
    let doing = settings.tools.doing(call, &told.cwd);
    let name = match &call.id {
        Some(id) => id.clone(),
        None => {
            let key = &settings.key;
            // The log is not locked while a checkpoint is taken. Calls that write run one
            // after another in agents without ids, so the count cannot move meanwhile.
            let folder = session::folder(repo);
            let mut state = State::load(&told.session.state(&folder), &told.session.log(&folder));
            let nth = state.nth(key, &call.tool, &call.input);
            tool_key(key, &call.tool, &call.input, nth)
        }
    };
    let ask = Ask {
        here: repo,
        doing: &doing,
        cwd: &told.cwd,
        tool: &call.tool,
        call: &name,
        session: &told.session.id,
        enabled: settings.enabled,
    };
    let guard = guard::before(&ask);
    (doing, guard)
}
