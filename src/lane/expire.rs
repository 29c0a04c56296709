//! Which checkpoints are old enough to go.

use std::time::SystemTime;

use crate::error::Result;
use crate::git::Repo;
use crate::lane::age::Age;
use crate::lane::find::Checkpoint;
use crate::lane::identity;
use crate::lane::needed::Needed;
use crate::lane::record::Kind;

/// How many of a lane stay, whatever their age, unless the user says another number.
pub const KEEP: usize = 20;

/// What may go.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The newest of a lane that stay.
    pub keep: usize,
    /// What is younger stays; `None` when age does not count.
    pub older_than: Option<Age>,
    /// The way back from an undo stays until it is this old.
    pub expire: Age,
}

/// `checkpoint.expire`: 30 days.
///
/// # Errors
/// When it is no age.
pub fn configured(repo: &Repo) -> Result<Age> {
    let text = repo.config_text("checkpoint.expire");
    Age::parse(text.as_deref().unwrap_or("30.days"))
}

/// What of `lane` may go by `rule`, ascending. What `needed` names stays. A
/// checkpoint whose commit is gone cannot say its age and stays, for `fsck` to tell.
///
/// # Errors
/// When the refs cannot be read.
pub fn expired(repo: &Repo, lane: &str, rule: Rule, needed: &Needed) -> Result<Vec<Checkpoint>> {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_secs()).ok())
        .unwrap_or(0);
    let cutoff = match rule.older_than {
        Some(age) => match age.before(now) {
            Some(moment) => moment,
            None => return Ok(Vec::new()),
        },
        None => i64::MAX,
    };
    let young_undo = rule.expire.before(now).unwrap_or(i64::MIN);
    let mut numbers = identity::numbers(repo, lane)?;
    numbers.truncate(numbers.len().saturating_sub(rule.keep));
    let mut found = Vec::new();
    for (number, commit) in numbers {
        if needed.contains(&(lane.to_owned(), number)) {
            continue;
        }
        let name = identity::checkpoint_ref(lane, number);
        let Ok(checkpoint) = Checkpoint::read(repo, &name, commit) else {
            continue;
        };
        if checkpoint.time > cutoff {
            // Numbers follow time: what comes later is younger still.
            break;
        }
        if checkpoint.record.kind == Kind::BeforeUndo && checkpoint.time > young_undo {
            continue;
        }
        found.push(checkpoint);
    }
    Ok(found)
}
