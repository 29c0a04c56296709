//! Whose change is it? Every step from one snapshot of a lane to the next is
//! either explained (a tool named the path and left those bytes; it happened
//! within a command's window; an undo of ours did it) or it is somebody's.

use std::collections::{BTreeMap, HashMap};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::lane::find::Checkpoint;
use crate::lane::record::Kind;
use crate::lane::wrote::Wrote;
use crate::snapshot::difference::{Trees, Value};

/// Who changed a path since a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// An agent, and how that is known.
    Agent {
        /// No tool said what it left: the next snapshot was believed.
        assumed: bool,
        /// Its session, when it said one.
        session: Option<String>,
    },
    /// An undo of ours.
    Undo,
    /// A person, or nobody knows; and what was going on, if anything was.
    Somebody(Option<String>),
}

/// What a lane knows since one of its checkpoints.
pub struct Evidence {
    changes: BTreeMap<BString, Vec<Change>>,
    /// Whether any tool or command was ever announced.
    pub any: bool,
}

struct Change {
    owner: Owner,
}

/// The longest window of a command that proves anything, in seconds, unless
/// `checkpoint.window` says another.
const WINDOW: u64 = 600;

impl Evidence {
    /// Gathers what is known of the paths that changed from `lane[0]`, the
    /// checkpoint to go back to, through the later ones up to `now`.
    ///
    /// # Errors
    /// When a tree cannot be read.
    pub fn gather(
        repo: &Repo,
        trees: &Trees<'_>,
        lane: &[Checkpoint],
        pending: &[Wrote],
        now: ObjectId,
    ) -> Result<Self> {
        // Nobody else works in a shadow, however long a command takes there.
        let window = match repo.config_size("checkpoint.window", WINDOW)? {
            1.. if repo.is_shadow() => u64::MAX,
            window => window,
        };
        let mut story = Story::new(lane, pending, window);
        let mut changes: BTreeMap<BString, Vec<Change>> = BTreeMap::new();
        for (at, checkpoint) in lane.iter().enumerate() {
            let next = lane.get(at + 1).map_or(now, |next| next.tree);
            if next == checkpoint.tree {
                continue;
            }
            let undone_to = story.undone_to(repo, checkpoint)?;
            for difference in trees.differences(checkpoint.tree, next)? {
                let by_undo = match undone_to {
                    Some(tree) => trees.value(tree, difference.path.as_bstr())? == difference.new,
                    None => false,
                };
                let owner = if by_undo {
                    Owner::Undo
                } else {
                    story.owner(at, difference.path.as_bstr(), &difference.new)
                };
                changes
                    .entry(difference.path)
                    .or_default()
                    .push(Change { owner });
            }
        }
        let any = lane
            .iter()
            .any(|c| matches!(c.record.kind, Kind::BeforeWrite | Kind::BeforeCommand));
        Ok(Evidence { changes, any })
    }

    /// Who changed `path`: the agent only if it made every change of it, and a
    /// session only if no other had a part in it.
    pub fn owner(&self, path: &BStr) -> Owner {
        let Some(changes) = self.changes.get(path.as_bytes().as_bstr()) else {
            return Owner::Somebody(None);
        };
        let mut owner = Owner::Undo;
        for change in changes {
            owner = match (owner, &change.owner) {
                (_, somebody @ Owner::Somebody(_)) => return somebody.clone(),
                (owner, Owner::Undo) => owner,
                (
                    Owner::Agent {
                        assumed: before,
                        session: first,
                    },
                    Owner::Agent { assumed, session },
                ) => Owner::Agent {
                    assumed: before || *assumed,
                    session: first.filter(|first| Some(first) == session.as_ref()),
                },
                (_, agent) => agent.clone(),
            };
        }
        owner
    }
}

/// A tool's announcement that it will write a path.
struct Naming {
    /// Position of its checkpoint in the lane.
    at: usize,
    /// A change was taken for its own because nothing said better.
    assumed: bool,
}

/// A command between its two checkpoints.
struct Window {
    from: usize,
    /// Position of its after-command; `None` while it is open.
    to: Option<usize>,
    what: String,
    seconds: Option<u64>,
    proves: bool,
}

struct Story<'s> {
    lane: &'s [Checkpoint],
    namings: HashMap<&'s BStr, Vec<Naming>>,
    /// What tools said they left, with the position of the checkpoint that has it.
    wrote: HashMap<&'s BStr, Vec<(usize, &'s Wrote)>>,
    windows: Vec<Window>,
}

impl<'s> Story<'s> {
    fn new(lane: &'s [Checkpoint], pending: &'s [Wrote], window: u64) -> Self {
        let mut story = Story {
            lane,
            namings: HashMap::new(),
            wrote: HashMap::new(),
            windows: Vec::new(),
        };
        for (at, checkpoint) in lane.iter().enumerate() {
            let record = &checkpoint.record;
            if record.kind == Kind::BeforeWrite {
                for path in &record.paths {
                    let naming = Naming { at, assumed: false };
                    story
                        .namings
                        .entry(path.as_bstr())
                        .or_default()
                        .push(naming);
                }
            }
            for wrote in &record.wrote {
                story
                    .wrote
                    .entry(wrote.path.as_bstr())
                    .or_default()
                    .push((at, wrote));
            }
            if record.kind == Kind::BeforeCommand {
                story.windows.push(story.window(at, window));
            }
        }
        for wrote in pending {
            story
                .wrote
                .entry(wrote.path.as_bstr())
                .or_default()
                .push((lane.len(), wrote));
        }
        story
    }

    fn window(&self, from: usize, at_most: u64) -> Window {
        let before = &self.lane[from];
        let to = self.lane.iter().position(|c| {
            c.record.kind == Kind::AfterCommand && c.record.after == Some(before.record.number)
        });
        let seconds = to.map(|to| u64::try_from(self.lane[to].time - before.time).unwrap_or(0));
        Window {
            from,
            to,
            what: before
                .record
                .command
                .clone()
                .unwrap_or_else(|| before.record.label.clone()),
            seconds,
            // 0 is how one says that no window proves anything.
            proves: at_most > 0 && seconds.is_some_and(|s| s <= at_most),
        }
    }

    /// The agent that announced itself at position `at`.
    fn agent(&self, at: usize, assumed: bool) -> Owner {
        Owner::Agent {
            assumed,
            session: self.lane[at].record.session.clone(),
        }
    }

    /// The tree that an undo restored right after `checkpoint`, its safety.
    fn undone_to(&self, repo: &Repo, checkpoint: &Checkpoint) -> Result<Option<ObjectId>> {
        let (Kind::BeforeUndo, Some(target)) = (checkpoint.record.kind, &checkpoint.record.target)
        else {
            return Ok(None);
        };
        // Dropped since: then nothing proves that the undo did it.
        Ok(crate::lane::find::by_text(repo, target)
            .ok()
            .map(|t| t.tree))
    }

    /// Who made the change of `path` to `new` between positions `at` and `at + 1`.
    fn owner(&mut self, at: usize, path: &BStr, new: &Value) -> Owner {
        let new = new.map(|(_, id)| id);
        let namings = self
            .namings
            .get_mut(path)
            .map_or(&mut [][..], Vec::as_mut_slice);
        let upto = namings.iter().take_while(|naming| naming.at <= at).count();
        if let Some((naming, earlier)) = namings[..upto].split_last_mut() {
            let left = self.wrote.get(path).map_or(&[][..], Vec::as_slice);
            let mut since = left
                .iter()
                .filter(|(stored, _)| *stored > naming.at)
                .peekable();
            if since.peek().is_some() {
                if let Some((_, wrote)) = since.find(|(_, wrote)| wrote.id == new) {
                    // Of two agents at once, the one that says it was: its own naming
                    // may have been the one before.
                    let is_its = |naming: &&Naming| {
                        wrote.session.is_some()
                            && self.lane[naming.at].record.session == wrote.session
                    };
                    let namings = std::iter::once(&*naming).chain(earlier.iter().rev());
                    let at = namings.clone().find(is_its).unwrap_or(naming).at;
                    return self.agent(at, false);
                }
            } else if !naming.assumed && is_whole(&self.lane[naming.at..], at - naming.at) {
                naming.assumed = true;
                let at = naming.at;
                return self.agent(at, true);
            }
        }
        let mut during = None;
        for window in &self.windows {
            let inside = window.from <= at && window.to.is_none_or(|to| at < to);
            if !inside {
                continue;
            }
            if window.proves {
                return self.agent(window.from, false);
            }
            during = Some(match window.seconds {
                Some(seconds) => format!("during `{}`, {}", window.what, duration(seconds)),
                None => format!("since `{}`, which has not ended", window.what),
            });
        }
        Owner::Somebody(during)
    }
}

/// Whether no checkpoint between the first of `lane` and the one after position
/// `at` was dropped: it may have held what a tool said it left.
fn is_whole(lane: &[Checkpoint], at: usize) -> bool {
    let upto = lane.len().min(at + 2);
    lane[..upto]
        .windows(2)
        .all(|pair| pair[0].record.number + 1 == pair[1].record.number)
}

/// `2 h 10 min`, `45 s`.
fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds % 3600 / 60) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::record::Record;
    use gix::index::entry::Mode;

    fn id(n: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[n; 20])
    }

    fn checkpoint(number: u32, kind: Kind, paths: &[&str]) -> Checkpoint {
        Checkpoint {
            name: String::new(),
            commit: id(0),
            tree: id(0),
            time: i64::from(number) * 60,
            record: Record {
                number,
                kind,
                paths: paths.iter().map(|p| BString::from(*p)).collect(),
                ..Record::default()
            },
        }
    }

    fn agent(assumed: bool) -> Owner {
        Owner::Agent {
            assumed,
            session: None,
        }
    }

    fn wrote(path: &str, id: Option<ObjectId>, session: Option<&str>) -> Wrote {
        Wrote {
            path: path.into(),
            id,
            session: session.map(str::to_owned),
        }
    }

    fn value(n: u8) -> Value {
        Some((Mode::FILE, id(n)))
    }

    #[test]
    fn the_first_change_after_a_naming_is_assumed_and_no_other() {
        let lane = [
            checkpoint(1, Kind::BeforeWrite, &["a"]),
            checkpoint(2, Kind::Save, &[]),
            checkpoint(3, Kind::Save, &[]),
        ];
        let mut story = Story::new(&lane, &[], WINDOW);
        assert_eq!(story.owner(0, "a".into(), &value(1)), agent(true));
        assert_eq!(story.owner(1, "a".into(), &value(2)), Owner::Somebody(None));
        assert_eq!(story.owner(0, "b".into(), &value(1)), Owner::Somebody(None));
    }

    #[test]
    fn what_a_tool_said_it_left_decides() {
        let mut after = checkpoint(2, Kind::Save, &[]);
        after.record.wrote = vec![wrote("a", Some(id(1)), None), wrote("gone", None, None)];
        let lane = [checkpoint(1, Kind::BeforeWrite, &["a", "gone"]), after];
        let mut story = Story::new(&lane, &[], WINDOW);
        assert_eq!(story.owner(0, "a".into(), &value(1)), agent(false));
        assert_eq!(story.owner(1, "a".into(), &value(2)), Owner::Somebody(None));
        assert_eq!(story.owner(0, "gone".into(), &None), agent(false));
    }

    #[test]
    fn of_two_agents_at_once_it_is_the_one_that_says_so() {
        let mut lane = [
            checkpoint(1, Kind::BeforeWrite, &["a"]),
            checkpoint(2, Kind::BeforeWrite, &["a"]),
        ];
        for (at, session) in ["first", "second"].into_iter().enumerate() {
            lane[at].record.session = Some(session.to_owned());
        }
        for (said, whose) in [
            (Some("first"), "first"),
            (Some("second"), "second"),
            (None, "second"),
            (Some("third"), "second"),
        ] {
            let pending = [wrote("a", Some(id(1)), said)];
            let mut story = Story::new(&lane, &pending, WINDOW);
            let owner = Owner::Agent {
                assumed: false,
                session: Some(whose.to_owned()),
            };
            assert_eq!(story.owner(1, "a".into(), &value(1)), owner);
        }
    }

    #[test]
    fn a_window_proves_only_when_it_is_closed_and_short() {
        let mut after = checkpoint(3, Kind::AfterCommand, &[]);
        after.record.after = Some(1);
        let lane = [
            checkpoint(1, Kind::BeforeCommand, &[]),
            checkpoint(2, Kind::Save, &[]),
            after,
        ];
        let mut short = Story::new(&lane, &[], WINDOW);
        assert_eq!(short.owner(1, "a".into(), &value(1)), agent(false));
        assert_eq!(short.owner(2, "a".into(), &value(1)), Owner::Somebody(None));
        let mut long = Story::new(&lane, &[], 60);
        assert!(matches!(
            long.owner(1, "a".into(), &value(1)),
            Owner::Somebody(Some(_))
        ));
        let mut open = Story::new(&lane[..2], &[], WINDOW);
        assert!(matches!(
            open.owner(0, "a".into(), &value(1)),
            Owner::Somebody(Some(_))
        ));
    }
}
