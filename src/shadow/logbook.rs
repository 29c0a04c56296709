//! The start and the end of a command in a shadow, as events of its session.

use std::time::Duration;

use crate::error::Result;
use crate::events::append::Log;
use crate::events::line::{self, Event, Standing};
use crate::events::session::{self, Session};
use crate::git::Repo;
use crate::shadow::task::{Task, short};
use crate::state::lock::PATIENCE;

/// The log of one run.
pub(super) struct Logbook {
    session: Session,
}

impl Logbook {
    /// That of the session `id`; a fresh one when there is none.
    pub(super) fn of(task: &Task, id: Option<&str>) -> Self {
        let id = id
            .map(str::to_owned)
            .or_else(|| std::env::var("HARNESS_SESSION").ok())
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| {
                let moment = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S").to_string();
                format!("{}-{moment}-{}", task.slug, std::process::id())
            });
        Logbook {
            session: Session::new("shadow", id),
        }
    }

    /// The session's id.
    pub(super) fn id(&self) -> &str {
        &self.session.id
    }

    /// # Errors
    /// When the log cannot be written.
    pub(super) fn started(&self, repo: &Repo, task: &Task, command: &str) -> Result<()> {
        let event = Event::now(&self.session.id, "shadow_start", &task.task);
        self.append(repo, task, event.with("command", command))
    }

    /// # Errors
    /// When the log cannot be written.
    pub(super) fn ended(
        &self,
        repo: &Repo,
        task: &Task,
        exit: u8,
        took: Duration,
        changed: Option<usize>,
    ) -> Result<()> {
        let event = Event::now(&self.session.id, "shadow_end", &task.task)
            .with("exit", exit)
            .with(
                "duration_ms",
                u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            )
            .with("files_changed", changed);
        self.append(repo, task, event)
    }

    fn append(&self, repo: &Repo, task: &Task, mut event: Event) -> Result<()> {
        session::require_private(repo)?;
        let head = task.open().and_then(|shadow| shadow.head()).ok();
        event.agent = Some(self.session.agent.clone());
        event.git = Some(Standing {
            head: head
                .as_ref()
                .and_then(|h| h.commit)
                .map(|id| id.to_string()),
            branch: head
                .and_then(|h| h.branch)
                .map(|branch| short(&branch.to_string()).to_owned()),
            worktree: Some(task.path.to_string_lossy().into_owned()),
        });
        let path = self.session.log(&session::folder(repo));
        Log::open(&path, repo.sharing(), PATIENCE)?.append(&event.line(line::MAX_FIELD))?;
        Ok(())
    }
}
