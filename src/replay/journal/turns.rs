//! From entries to turns, in the order of Outpost's own parser, so that both
//! see the same turns in one journal.

use serde_json::Value;

use crate::error::{Result, ensure};
use crate::replay::journal::fields::Fields;
use crate::replay::journal::usage::Usage;
use crate::replay::journal::workspace::Workspace;

/// One prompt and all that came of it.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The index of the entry that opened it, from 0.
    pub entry: usize,
    /// What was asked.
    pub prompt: Prompt,
    /// The entries that a replay emits again, by index from 0.
    pub events: Vec<usize>,
    /// The answer.
    pub text: String,
    /// What it used, when it ended well.
    pub usage: Option<Usage>,
    /// The last conversation id.
    pub conversation: Option<String>,
    /// Its commits.
    pub workspace: Option<Workspace>,
    /// Who took over at its end.
    pub handover: Option<Handover>,
    /// Whether it was opened by the handover of the turn before.
    pub is_handed_over: bool,
    /// Whether a steering message split it here.
    pub is_continued: bool,
    /// Whether it was stopped by a steering message.
    pub is_interrupted: bool,
    /// How it failed.
    pub failure: Option<Failure>,
    /// Names of the tools it called, in order.
    pub tools: Vec<String>,
}

/// A prompt as it was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The recorded text.
    pub text: String,
    /// Why it cannot be compared: it was cut, masked or not recorded.
    pub incomparable: Option<&'static str>,
}

/// A turn that ended by handing over to another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// Who stopped.
    pub from: String,
    /// Who goes on.
    pub to: String,
    /// `quota` or `unavailable`.
    pub failure: String,
    /// What was said.
    pub message: String,
}

/// A recorded failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One of the codes of a journal.
    pub code: String,
    /// What was said.
    pub message: String,
}

/// The codes that a journal knows; any other is read as `process`.
const CODES: &[&str] = &[
    "stuck",
    "rejected",
    "configuration",
    "process",
    "timeout",
    "aborted",
    "workspace",
    "conflict",
    "prompt",
    "response",
    "session",
    "provider",
    "limit",
    "quota",
    "replay",
    "steering",
];

/// Kinds that an agent's turn never holds as events.
const NO_EVENT: &[&str] = &[
    "phase",
    "prompt",
    "summary",
    "fallback",
    "operation",
    "workflow",
    "command-output",
    "candidate",
    "queue",
    "dispatch-start",
    "dispatch-finished",
    "workspace-commits",
    "decision",
    "decision-request",
    "decision-response",
];

/// Collects turns, entry by entry.
#[derive(Debug, Default)]
pub struct Turns {
    turns: Vec<Turn>,
    is_open: bool,
    has_workspace: bool,
    dispatch_error: Option<Failure>,
    answer: Answer,
    /// What earlier parts of a steered turn used.
    used: Usage,
    /// The running counters of the open turn.
    running: Usage,
    last_failure: Option<String>,
    /// The open turn was begun by a steering message.
    is_resumed: bool,
}

/// The pieces of an answer, of which the best kind wins.
#[derive(Debug, Default)]
struct Answer {
    results: Vec<String>,
    pieces: String,
    raws: Vec<String>,
}

impl Answer {
    fn text(self) -> String {
        if !self.results.is_empty() {
            self.results.join("\n")
        } else if !self.pieces.is_empty() {
            self.pieces
        } else {
            self.raws.join("\n")
        }
    }
}

impl Turns {
    /// Takes in the entry at `index`, whose JSON is `fields`.
    ///
    /// # Errors
    /// When a field that matters is missing or of the wrong type.
    pub(super) fn take(&mut self, index: usize, mut fields: Fields) -> Result<()> {
        let kind = fields.require_text("kind")?;
        let source = fields.text("source")?.unwrap_or_default();
        match kind.as_str() {
            "workspace-commits" => return self.workspace(index, fields),
            "dispatch-finished" => return self.dispatch_finished(fields),
            _ if source == "decision" && kind.starts_with("decision") => {
                if let Some(turn) = self.open() {
                    turn.events.push(index);
                }
                return Ok(());
            }
            _ => {}
        }
        if source != "agent" && source != "harness" {
            return Ok(());
        }
        match kind.as_str() {
            "fallback" => self.fallback(index, fields),
            "prompt" => self.prompt(index, fields),
            _ if !self.is_open => Ok(()),
            "summary" => self.summary(fields),
            "steer" => self.steer(index, fields),
            _ if NO_EVENT.contains(&kind.as_str()) => Ok(()),
            _ => self.event(index, &kind, fields),
        }
    }

    /// The turns, when all entries were taken in.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn finish(mut self) -> Result<Vec<Turn>> {
        self.close();
        ensure!(
            !self.turns.is_empty(),
            "it has no agent turn: no prompt of an agent was recorded"
        );
        if !self.has_workspace
            && let Some(last) = self.turns.last_mut()
        {
            last.workspace = Some(Workspace {
                place: "the journal".into(),
                unavailable: Some("the run was recorded without its commits".into()),
                ..Workspace::default()
            });
        }
        Ok(self.turns)
    }

    fn open(&mut self) -> Option<&mut Turn> {
        self.turns.last_mut().filter(|_| self.is_open)
    }

    fn begin(&mut self, turn: Turn) {
        self.close();
        self.turns.push(turn);
        self.is_open = true;
    }

    fn close(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let answer = std::mem::take(&mut self.answer).text();
        let said = self.last_failure.take();
        let error = self.dispatch_error.clone();
        self.is_resumed = false;
        if let Some(turn) = self.turns.last_mut() {
            turn.text = answer;
            let ended_well = turn.usage.is_some() || turn.handover.is_some() || turn.is_continued;
            turn.failure = (!ended_well).then(|| {
                error.unwrap_or_else(|| Failure {
                    code: "process".into(),
                    message: said.unwrap_or_else(|| "the agent did not finish".into()),
                })
            });
        }
    }

    fn workspace(&mut self, index: usize, fields: Fields) -> Result<()> {
        self.has_workspace = true;
        if let Some(turn) = self.turns.last_mut() {
            turn.workspace = Some(Workspace::read(index, fields)?);
        }
        self.close();
        Ok(())
    }

    fn dispatch_finished(&mut self, mut fields: Fields) -> Result<()> {
        if let Some(mut error) = fields.object("error")? {
            let code = error.text("code")?.unwrap_or_default();
            self.dispatch_error = Some(Failure {
                code: if CODES.contains(&code.as_str()) {
                    code
                } else {
                    "process".into()
                },
                message: error.require_text("message")?,
            });
        }
        self.close();
        // The error of the dispatch stands after the commits, which closed the turn.
        if let (Some(error), Some(turn)) = (&self.dispatch_error, self.turns.last_mut())
            && turn.failure.is_some()
        {
            turn.failure = Some(error.clone());
        }
        Ok(())
    }

    fn fallback(&mut self, index: usize, mut fields: Fields) -> Result<()> {
        if !self.is_open {
            return Ok(());
        }
        let mut agent = |key| -> Result<String> {
            let mut agent = fields.require_object(key)?;
            agent.require_count("index")?;
            agent.text("model")?;
            agent.require_text("name")
        };
        let handover = Handover {
            from: agent("from")?,
            to: agent("to")?,
            failure: fields.require_text("failure")?,
            message: fields.require_text("message")?,
        };
        if !matches!(handover.failure.as_str(), "quota" | "unavailable") {
            return Err(fields.error("'failure' is neither 'quota' nor 'unavailable'"));
        }
        if let Some(turn) = self.open() {
            turn.handover = Some(handover);
            turn.events.push(index);
        }
        self.close();
        Ok(())
    }

    fn prompt(&mut self, index: usize, mut fields: Fields) -> Result<()> {
        let is_handed_over = self
            .turns
            .last()
            .is_some_and(|turn| turn.handover.is_some());
        self.used = Usage::default();
        self.running = Usage::default();
        let turn = Turn {
            entry: index,
            prompt: Prompt::read(&mut fields)?,
            is_handed_over,
            ..Turn::default()
        };
        self.begin(turn);
        Ok(())
    }

    fn summary(&mut self, mut fields: Fields) -> Result<()> {
        let tokens = Usage::read(fields.require_object("tokens")?)?;
        let used = self.used;
        if let Some(turn) = self.open() {
            turn.usage = Some(tokens.minus(used));
        }
        self.close();
        Ok(())
    }

    fn steer(&mut self, index: usize, mut fields: Fields) -> Result<()> {
        let text = fields.require_text("text")?;
        if fields.require_text("mode")? != "resumed" {
            return self.event(index, "steer", fields);
        }
        let is_resumed = self.is_resumed;
        let (running, used) = (self.running, self.used);
        let Some(turn) = self.open() else {
            return Ok(());
        };
        if is_resumed && turn.events.is_empty() {
            turn.prompt.text = format!("{}\n\n{text}", turn.prompt.text);
            return Ok(());
        }
        turn.is_continued = true;
        turn.usage = Some(running.minus(used));
        self.used = running;
        self.begin(Turn {
            entry: index,
            prompt: Prompt {
                text,
                incomparable: None,
            },
            ..Turn::default()
        });
        self.is_resumed = true;
        Ok(())
    }

    fn event(&mut self, index: usize, kind: &str, mut fields: Fields) -> Result<()> {
        let is_main = !fields.has("subagentId");
        match kind {
            "text" if is_main => self.answer.pieces.push_str(&fields.require_text("text")?),
            "result" if is_main => self.answer.results.push(fields.require_text("text")?),
            "raw" => match fields.take("value") {
                Some(Value::String(text)) => self.answer.raws.push(text),
                Some(other) => self.answer.raws.push(other.to_string()),
                None => return Err(fields.error("'value' is missing")),
            },
            "failure" => self.last_failure = Some(fields.require_text("message")?),
            "usage" => self.running = Usage::read(fields.require_object("tokens")?)?,
            _ => {}
        }
        let Some(turn) = self.open() else {
            return Ok(());
        };
        match kind {
            "conversation" => turn.conversation = Some(fields.require_text("id")?),
            "stopped" if fields.require_text("reason")? == "steered" => turn.is_interrupted = true,
            "tool" => turn.tools.push(fields.text("name")?.unwrap_or_default()),
            _ => {}
        }
        turn.events.push(index);
        Ok(())
    }
}

impl Prompt {
    fn read(fields: &mut Fields) -> Result<Self> {
        let text = fields.require_text("text")?;
        let mut incomparable = None;
        if let Some(mut x) = fields.object("x")?
            && x.require_count("v")? == 1
            && let Some(mut marks) = x.object("prompt")?
        {
            for (mark, why) in [
                ("absent", "not recorded"),
                ("cut", "recorded cut"),
                ("masked", "recorded masked"),
            ] {
                if marks.boolean(mark)? == Some(true) && incomparable.is_none() {
                    incomparable = Some(why);
                }
            }
        }
        Ok(Prompt { text, incomparable })
    }
}
