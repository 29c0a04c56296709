//! What a hook must know between two events of a session. It lies beside the
//! log, under the same lock; when it is lost it is made again from the log.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;
use crate::events::mask::{MaskedJson, boundary};
use crate::events::{Key, Reader, time};
use crate::state::file::{self, Sharing};
use crate::trajectory::import::canonical;

/// The largest state that is written.
const LARGEST: usize = 64 << 10;

/// How many bytes of paths one checkpoint leaves in it.
const PATH_BYTES: usize = 4 << 10;

/// How many calls are told apart where the agent gives no ids.
const MOST_COUNTED: usize = 1000;

/// A session as the last hook left it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    pub(crate) v: u32,
    /// When the session began, in milliseconds since the epoch.
    pub(crate) began: i64,
    pub(crate) turn: Option<u32>,
    /// The agent's process.
    pub(crate) pid: Option<u32>,
    /// When that process started, as the system counts it.
    pub(crate) pid_began: Option<u64>,
    pub(crate) open: Vec<Open>,
    /// How often a call without an id came.
    pub(crate) counts: BTreeMap<String, u64>,
    pub(crate) loops: Vec<Done>,
    /// Loops that were told.
    pub(crate) told: Vec<String>,
    /// What the last writes of a path left there.
    pub(crate) left: BTreeMap<String, Vec<String>>,
    pub(crate) transcript: Option<String>,
    pub(crate) turns: u64,
    pub(crate) tools: u64,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    /// Model calls that are in the log.
    pub(crate) answers: Vec<String>,
    pub(crate) ended: bool,
    /// The run, the phase and the attempt that were told last.
    pub(crate) run: Value,
    /// What was read of it, under the lock that is held until it is stored.
    #[serde(skip)]
    pub(crate) stored: Option<Vec<u8>>,
}

/// A call that was begun and not closed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Open {
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) args: Value,
    pub(crate) began: i64,
    pub(crate) agent_id: Option<String>,
    pub(crate) turn: Option<u32>,
    /// When a person was asked.
    pub(crate) asked: Option<i64>,
    /// Nobody told of its beginning.
    pub(crate) is_unseen: bool,
    pub(crate) guard: Guarded,
    pub(crate) args_hash: String,
}

/// The checkpoint of an open call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Guarded {
    pub(crate) taken: i64,
    pub(crate) worktree: Option<String>,
    pub(crate) number: Option<u32>,
    #[serde(rename = "ref")]
    pub(crate) name: Option<String>,
    pub(crate) commit: Option<String>,
    /// The first of what will be written; the checkpoint names all of it.
    pub(crate) paths: Vec<String>,
    /// How many there are.
    pub(crate) path_count: usize,
    pub(crate) error: Option<String>,
    /// Why there is none.
    pub(crate) why: Option<String>,
    pub(crate) is_command: bool,
    pub(crate) command: Option<String>,
    /// The call was refused, and the checkpoint is gone.
    pub(crate) is_taken_back: bool,
    /// Those of further worktrees.
    pub(crate) also: Vec<Guarded>,
}

impl Guarded {
    /// This one and those of further worktrees.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Guarded> {
        std::iter::once(self).chain(&self.also)
    }

    /// Keeps as many paths as a state has room for.
    pub(crate) fn keep_first_paths(&mut self) {
        self.path_count = self.paths.len();
        let mut room = PATH_BYTES;
        let kept = self.paths.iter().take_while(|path| {
            let fits = path.len() <= room;
            room = room.saturating_sub(path.len());
            fits
        });
        // The first stays in any case: without a path it would be a command.
        let kept = kept.count().max(1);
        self.paths.truncate(kept);
    }

    /// Why there is no checkpoint where there should be one.
    pub(crate) fn failure(&self) -> Option<&String> {
        self.all().find_map(|one| one.error.as_ref())
    }
}

/// A call that has ended, as far as loops are concerned.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) tool: String,
    pub(crate) args: String,
    pub(crate) result: String,
    pub(crate) failed: bool,
}

impl Open {
    /// Makes its free texts smaller; each tells the size that it had.
    fn shorten(&mut self, limit: usize) {
        let shorter = MaskedJson::new(self.args.take(), limit);
        self.args = serde_json::from_str(shorter.as_str()).unwrap_or_default();
        for text in [&mut self.guard.command, &mut self.guard.error]
            .into_iter()
            .flatten()
        {
            text.truncate(boundary(text, limit.max(100)));
        }
    }
}

impl State {
    /// The state at `path`; made from the end of `log` when it is missing or broken.
    pub(crate) fn load(path: &Path, log: &Path) -> State {
        let stored = file::read(path).ok().flatten();
        let state = stored
            .as_deref()
            .and_then(|bytes| serde_json::from_slice(bytes).ok());
        match state {
            Some(state) => State { stored, ..state },
            None => State::from_log(log),
        }
    }

    fn from_log(log: &Path) -> State {
        let mut state = State {
            v: 1,
            ..State::default()
        };
        let Ok(mut reader) = Reader::open(log, 0) else {
            state.began = time::now();
            return state;
        };
        while let Ok(Some(event)) = reader.next_event() {
            if state.began == 0 {
                state.began = event.ms().unwrap_or(0);
            }
            state.turn = event.turn.or(state.turn);
            match event.kind.as_str() {
                "assistant" => {
                    state.turns += 1;
                    state.answers.extend(event.call_key.clone());
                }
                "tool_end" => state.tools += 1,
                "session_start" => {
                    state.transcript = event
                        .fields()
                        .get("session_file")
                        .and_then(Value::as_str)
                        .map(str::to_owned)
                }
                _ => {}
            }
        }
        if state.began == 0 {
            state.began = time::now();
        }
        state
    }

    /// Writes it beside and renames. When it is too large, the free texts in it are made
    /// smaller first; `limit` is how long one may be.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn store(&mut self, path: &Path, sharing: Sharing, limit: usize) -> Result<()> {
        self.v = 1;
        let keep = |list: &mut Vec<String>, most: usize| {
            let cut = list.len().saturating_sub(most);
            list.drain(..cut);
        };
        keep(&mut self.answers, 200);
        keep(&mut self.told, 50);
        while self.counts.len() > MOST_COUNTED {
            self.counts.pop_first();
        }
        while self.left.len() > 50 {
            self.left.pop_first();
        }
        let largest = LARGEST.max(16 * limit);
        let mut limit = limit;
        loop {
            // Paths and ids are whole, or they are not what they name.
            let json = MaskedJson::new(serde_json::to_value(&*self)?, usize::MAX);
            if json.as_str().len() <= largest || limit < 16 {
                // Most events leave it as it is, and replacing a file costs more than all
                // else that a hook does.
                if self.stored.as_deref() == Some(json.as_str().as_bytes()) {
                    return Ok(());
                }
                return file::replace(path, json.as_str().as_bytes(), sharing, false);
            }
            limit /= 4;
            for open in &mut self.open {
                open.shorten(limit);
            }
        }
    }

    /// The name of a call that the agent gave none: the how manieth it is of its kind.
    pub(crate) fn nth(&mut self, key: &Key, tool: &str, arguments: &Value) -> u64 {
        let hash = key.hash(&[tool, &canonical(arguments)]);
        let count = self.counts.entry(hash).or_insert(0);
        let nth = *count;
        *count += 1;
        nth
    }
}
