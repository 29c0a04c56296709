//! Reads the transcripts that agents write themselves: one parser a file. What
//! they bring is usage and turns; hooks bring time, permission and checkpoints.

mod archive;
mod call;
mod claude;
mod codex;
mod find;
mod gemini;
mod opencode;
mod pi;
mod rows;
mod story;
mod write;

use std::path::{Path, PathBuf};

pub(super) use archive::present;
pub(super) use call::{Billed, canonical, tool_key};
pub(super) use find::{companions, of_repository, of_user};
pub(super) use opencode::{
    billed as opencode_answer, refusal as opencode_refusal, unquoted as opencode_unquoted,
};
pub(super) use pi::assistant as pi_answer;
pub(super) use story::{Story, UNRECORDED};
pub(super) use write::write;

use crate::error::{Result, bail};
use crate::events::Key;

/// The agents whose transcripts are read.
pub(super) const AGENTS: &[&str] = &["claude", "codex", "gemini", "opencode", "pi"];

/// The sessions in `files` of `agent`, each with its events; `key` is the repository's.
///
/// # Errors
/// When a file cannot be read at all, or the agent is not known.
pub(super) fn read(agent: &str, files: &[PathBuf], key: &Key) -> Result<Vec<Story>> {
    match agent {
        "claude" => claude::read(files),
        "codex" => codex::read(files),
        "gemini" => gemini::read(files, key),
        "opencode" => opencode::read(files),
        "pi" => pi::read(files),
        other => bail!(
            "no importer knows the agent '{other}': one of {} is expected",
            AGENTS.join(", ")
        ),
    }
}

/// The agent that wrote the transcript at `path`, by what is in it.
pub(super) fn agent_of(path: &Path) -> Option<&'static str> {
    rows::agent_of(path)
}
