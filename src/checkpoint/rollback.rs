//! The `rollback` event of a session: that something was taken back, and why.

use serde_json::json;

use crate::checkpoint::restore::Restored;
use crate::error::Result;
use crate::events::line::MAX_FIELD;
use crate::events::{Event, Log, Session, session};
use crate::git::Repo;
use crate::git::quote::json_path;
use crate::state::lock::PATIENCE;
use crate::ui::Ui;
use gix::bstr::ByteSlice;

/// Why something was rolled back.
pub(super) struct Reason<'r> {
    /// The test's command.
    pub(super) test: &'r str,
    /// Its exit code.
    pub(super) code: u8,
    /// The session in whose log it belongs.
    pub(super) session: Option<&'r str>,
}

/// Writes the event, when a session is known. The rollback itself stands, so a
/// log that cannot be written is a warning.
pub(super) fn log(repo: &Repo, done: &Restored, reason: &Reason<'_>, ui: &mut Ui) -> Result<()> {
    let Some(id) = reason.session else {
        return Ok(());
    };
    let session = session::find(repo, id).unwrap_or_else(|| Session::new("harness", id));
    let files: Vec<_> = done
        .written
        .iter()
        .chain(&done.deleted)
        .take(100)
        .map(|path| json_path(path.as_bstr()))
        .collect();
    let mut event = Event::now(&session.id, "rollback", "test failed")
        .with("to", done.target.record.number)
        .with("files", json!(files))
        .with("file_count", done.written.len() + done.deleted.len())
        .with("safety", done.safety.record.number)
        .with(
            "reason",
            format!("'{}' ended with {}", reason.test, reason.code),
        );
    event.agent = Some(session.agent.clone());
    let written = Log::open(
        &session.log(&session::folder(repo)),
        repo.sharing(),
        PATIENCE,
    )
    .and_then(|mut log| log.append(&event.line(MAX_FIELD)));
    if let Err(e) = written {
        ui.warn(format_args!("cannot log the rollback: {e:#}"));
    }
    Ok(())
}
