//! The calls of a session: begun, ended, or left open.

use serde_json::Value;

use crate::error::Result;
use crate::events::mask::MaskedJson;
use crate::events::time;
use crate::trajectory::agent::{Call, End, Told};
use crate::trajectory::import::{canonical, tool_key};
use crate::trajectory::record::closing;
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
            is_unseen: false,
            guard,
            args_hash: self.hash(&canonical(&call.input)),
        });
    }

    /// A person is asked: of that very call, by id or by arguments; of the last of its tool
    /// where no other waits.
    pub(super) fn asked(&mut self, call: &Call) {
        let hash = self.hash(&canonical(&call.input));
        let waits = |open: &Open| open.asked.is_none();
        let of_tool = |open: &Open| waits(open) && open.tool == call.tool;
        let open = &self.state.open;
        let found = match &call.id {
            Some(id) => open.iter().rposition(|o| waits(o) && o.call == *id),
            None => open
                .iter()
                .position(|o| of_tool(o) && o.args_hash == hash)
                .or_else(|| {
                    let only = open.iter().filter(|o| of_tool(o)).count() == 1;
                    only.then(|| open.iter().position(of_tool)).flatten()
                }),
        };
        if let Some(at) = found {
            self.state.open[at].asked = Some(time::now());
        }
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
        let mut open = match self.position(call) {
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
                is_unseen: true,
                guard: Guarded {
                    taken: time::now(),
                    why: Some("its beginning was not seen".to_owned()),
                    ..Guarded::default()
                },
                ..Open::default()
            },
        };
        guard::recall(&mut open.guard);
        let mut left = Vec::new();
        match end.outcome {
            "denied" => {
                let call = open.guard_call();
                if let Err(error) = guard::take_back(&mut open.guard, &call) {
                    self.failed = Some(format!("{error:#}"));
                }
            }
            "unknown" => {}
            _ => match guard::after(&open.guard, &open.tool, &open.call, &self.session.id) {
                Ok(found) => left = found,
                Err(error) => self.failed = Some(format!("{error:#}")),
            },
        }
        self.write_closed(&open, end)?;
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
        for mut open in closed {
            guard::recall(&mut open.guard);
            self.write_closed(
                &open,
                &End {
                    outcome: "unknown",
                    ..End::default()
                },
            )?;
        }
        Ok(())
    }

    fn write_closed(&mut self, open: &Open, end: &End) -> Result<()> {
        self.state.tools += 1;
        for event in closing::events(open, end) {
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
