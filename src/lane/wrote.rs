//! What a tool left behind: recorded when it has written, kept beside the lane,
//! and moved into the next checkpoint.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::BString;
use serde_json::{Value, json};

use crate::error::{Context, Result};
use crate::git::Repo;
use crate::git::quote::{json_path, path_of_json};
use crate::state::file::{self, explain};

/// What a tool left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrote {
    /// Where.
    pub path: BString,
    /// The blob; `None` when it left nothing there.
    pub id: Option<ObjectId>,
    /// The agent's id of the session that did it, if one was said.
    pub session: Option<String>,
}

impl Wrote {
    /// What is left, in words: the id of the blob, or `absent`.
    pub fn left(&self) -> String {
        self.id
            .map_or_else(|| "absent".to_owned(), |id| id.to_string())
    }
}

fn path(repo: &Repo) -> PathBuf {
    repo.own_state().join("wrote")
}

/// Remembers `wrote` until the next checkpoint. The caller holds the lane.
///
/// # Errors
/// When the file cannot be written.
pub fn append(repo: &Repo, wrote: &[Wrote]) -> Result<()> {
    let mut lines = String::new();
    for Wrote { path, id, session } in wrote {
        let id = id.map(|id| id.to_string());
        let line = json!({
            "v": 1, "path": json_path(path.as_ref()), "id": id, "session": session,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    let path = path(repo);
    file::make_folder(&repo.own_state(), repo.sharing())?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(lines.as_bytes()))
        .map_err(|e| explain(e, &path))
        .with_context(|| format!("cannot write '{}'", path.display()))
}

/// What has been remembered since the last checkpoint.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn pending(repo: &Repo) -> Result<Vec<Wrote>> {
    let Some(bytes) = file::read(&path(repo))? else {
        return Ok(Vec::new());
    };
    // A line torn by a crash says nothing; the snapshots still do.
    Ok(bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter_map(|line| {
            let id = match line.get("id")? {
                Value::Null => None,
                id => Some(ObjectId::from_hex(id.as_str()?.as_bytes()).ok()?),
            };
            Some(Wrote {
                path: path_of_json(line.get("path")?)?,
                id,
                session: line["session"].as_str().map(str::to_owned),
            })
        })
        .collect())
}

/// Forgets what a checkpoint now holds. The caller holds the lane.
///
/// # Errors
/// When the file cannot be removed.
pub fn clear(repo: &Repo) -> Result<()> {
    file::remove(&path(repo))
}
