//! The calls of a session: begun, ended, or left open.

use serde_json::Value;

use crate::error::Result;
use crate::events::mask::MaskedJson;
use crate::events::time;
use crate::trajectory::agent::{Call, End, Told};
use crate::trajectory::import::{canonical, tool_key};
use crate::trajectory::record::closing::{self, Fate};
use crate::trajectory::record::entry::Entry;
use crate::trajectory::record::guard;
use crate::trajectory::record::loops;
use crate::trajectory::record::state::{Done, Guarded, Open};

impl Entry<'_> {
    pub(super) fn begin(&mut self, told: &Told, call: &Call, guard: Guarded) {
        let nth = if call.id.is_none() {
            self.state.nth(&self.key, &call.tool, &call.input)
        } else {
            0
        };
        let name = call
            .id
            .clone()
            .unwrap_or_else(|| tool_key(&self.key, &call.tool, &call.input, nth));
        self.state.open.retain(|open| open.call != name);
        self.state.open.push(Open {
            call: name,
            tool: call.tool.clone(),
            args: shortened(&call.input, self.limit),
            began: guard.taken,
            agent_id: told.agent_id.clone(),
            turn: self.state.turn,
            asked: None,
            guard,
            args_hash: self.hash(&canonical(&call.input)),
        });
    }

    /// The open call that `call` means: by its id, or the first of its kind.
    pub(super) fn position(&self, call: &Call) -> Option<usize> {
        match &call.id {
            Some(id) => self.state.open.iter().position(|open| open.call == *id),
            None => {
                let hash = self.hash(&canonical(&call.input));
                self.state
                    .open
                    .iter()
                    .position(|open| open.tool == call.tool && open.args_hash == hash)
            }
        }
    }

    /// What stands for `text` in the state.
    fn hash(&self, text: &str) -> String {
        self.key.hash(&[text])
    }

    pub(super) fn end(&mut self, told: &Told, call: &Call, end: &End) -> Result<()> {
        let open = match self.position(call) {
            Some(at) => self.state.open.remove(at),
            // Its beginning was not seen: nothing was guarded, and that is said.
            None => Open {
                call: call
                    .id
                    .clone()
                    .unwrap_or_else(|| tool_key(&self.key, &call.tool, &call.input, 0)),
                tool: call.tool.clone(),
                args: shortened(&call.input, self.limit),
                began: time::now(),
                agent_id: told.agent_id.clone(),
                turn: self.state.turn,
                guard: Guarded {
                    taken: time::now(),
                    why: Some("its beginning was not seen".to_owned()),
                    ..Guarded::default()
                },
                ..Open::default()
            },
        };
        let mut fate = Fate::Kept;
        let mut left = Vec::new();
        match end.outcome {
            "denied" => match guard::take_back(&open.guard, &open.guard_call()) {
                Ok(true) => fate = Fate::TakenBack,
                Ok(false) => {}
                Err(error) => self.failed = Some(format!("{error:#}")),
            },
            "unknown" => {}
            _ if open.guard.number.is_some() => {
                match guard::after(&open.guard, &open.tool, &open.call, &self.session.id) {
                    Ok(found) => left = found,
                    Err(error) => self.failed = Some(format!("{error:#}")),
                }
            }
            _ => {}
        }
        self.write_closed(&open, end, fate)?;
        let done = Done {
            tool: open.tool.clone(),
            args: open.args_hash.clone(),
            result: self.hash(&end.result),
            failed: end.outcome == "error",
        };
        if end.outcome != "unknown"
            && let Some(event) = loops::seen(&mut self.state, done, &left)
        {
            self.write(event, told)?;
        }
        Ok(())
    }

    pub(super) fn close_all(&mut self, is_meant: impl Fn(&Open) -> bool) -> Result<()> {
        let (closed, kept): (Vec<Open>, Vec<Open>) = std::mem::take(&mut self.state.open)
            .into_iter()
            .partition(|o| is_meant(o));
        self.state.open = kept;
        for open in closed {
            self.write_closed(
                &open,
                &End {
                    outcome: "unknown",
                    ..End::default()
                },
                Fate::Kept,
            )?;
        }
        Ok(())
    }

    fn write_closed(&mut self, open: &Open, end: &End, fate: Fate) -> Result<()> {
        self.state.tools += 1;
        for event in closing::events(open, end, fate) {
            self.append(event)?;
        }
        Ok(())
    }
}

impl Open {
    /// What `Harness-Call` of its checkpoint says.
    pub(super) fn guard_call(&self) -> String {
        crate::events::mask::Masked::new(&self.call)
            .cut(200)
            .as_str()
            .to_owned()
    }
}

/// Arguments small enough to be kept between two events, masked before they are cut.
fn shortened(input: &Value, limit: usize) -> Value {
    serde_json::from_str(MaskedJson::new(input.clone(), limit).as_str()).unwrap_or_default()
}
