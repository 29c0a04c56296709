//! The last look before a restore: each path must still be what the safety
//! snapshot has, and its stat data must be able to show any later change.

use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::snapshot::capture::{Capture, Capturer};
use crate::snapshot::clock;
use crate::snapshot::difference::Value;
use crate::snapshot::restore::plan::{LeftAlone, Plan};
use crate::snapshot::root::Root;
use crate::snapshot::scan::Candidate;
use crate::snapshot::sink::{Sink, Writing};
use crate::snapshot::sqlite;
use crate::snapshot::stat::Stat;
use crate::snapshot::take::{Snapshot, trust};

/// A tick of the coarsest clock with which file systems in use stamp files, but for
/// those of whole seconds.
const TICK: Duration = Duration::from_millis(10);

/// Looks at what each step of `plan` is about to change, and takes the steps out
/// that are no longer what `snapshot` has. Gives the stat data of the others, in
/// the order of the steps that remain.
///
/// # Errors
/// When the rules cannot be read or the disk fails.
pub fn look(
    repo: &Repo,
    root: &Root,
    snapshot: &Snapshot,
    plan: &mut Plan,
) -> Result<Vec<Option<Stat>>> {
    leave_open_databases(root, snapshot, plan);
    let trust = trust(repo)?;
    let shared = repo.gix().clone().into_sync();
    let sink = Sink::new(repo, Writing::Nothing);
    let capturer = Capturer {
        root,
        shared: &shared,
        index: snapshot.index.state(),
        convert: snapshot.converts,
        sink: &sink,
        included: &snapshot.included,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let mut candidates = Vec::new();
        let mut stats = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let path = step.path.as_bstr();
            let stat = root.stat(path)?;
            let mode = stat.and_then(|s| s.mode(step.now.map(|(mode, _)| mode), trust));
            if let (Some(stat), Some(mode)) = (stat, mode) {
                candidates.push(candidate(snapshot, path, stat, mode));
            }
            // A folder where the snapshot has nothing is no file of anyone's.
            stats.push(stat.filter(|_| mode.is_some()));
        }
        let mut captures = capturer.all(&candidates)?.into_iter();
        let mut now: Vec<Value> = Vec::with_capacity(stats.len());
        for stat in &stats {
            now.push(match stat {
                Some(_) => captures.next().and_then(|capture| value(&capture)),
                None => None,
            });
        }
        let clock = clock::touch(repo)?;
        let young = stats.iter().flatten().any(|stat| stat.is_racy(clock));
        if young && tries < 3 {
            // A file of this very tick could change again without showing it.
            std::thread::sleep(TICK);
            continue;
        }
        let mut seen = Vec::with_capacity(stats.len());
        let mut at = 0;
        let left_alone = &mut plan.left_alone;
        plan.steps.retain(|step| {
            let same = now[at] == step.now;
            if same {
                seen.push(stats[at]);
            } else {
                left_alone.push(LeftAlone {
                    path: step.path.clone(),
                    reason: "it changed meanwhile".to_owned(),
                    against: true,
                });
            }
            at += 1;
            same
        });
        return Ok(seen);
    }
}

/// A declared database that a process has open must not be replaced under it.
fn leave_open_databases(root: &Root, snapshot: &Snapshot, plan: &mut Plan) {
    let left_alone = &mut plan.left_alone;
    plan.steps.retain(|step| {
        let file = root.join(step.path.as_bstr());
        let is_declared = snapshot.included.contains(&step.path);
        let user = match is_declared && sqlite::is_database_file(&file) {
            true => sqlite::user_of(&file),
            false => None,
        };
        if let Some(user) = &user {
            left_alone.push(LeftAlone {
                path: step.path.clone(),
                reason: format!("it is open in {user}"),
                against: true,
            });
        }
        user.is_none()
    });
}

fn candidate(
    snapshot: &Snapshot,
    path: &BStr,
    stat: Stat,
    mode: gix::index::entry::Mode,
) -> Candidate {
    let entry = snapshot.index.state().entry_index_by_path(path).ok();
    Candidate {
        path: path.to_owned(),
        entry,
        stat,
        mode,
    }
}

fn value(capture: &Capture) -> Option<(gix::index::entry::Mode, ObjectId)> {
    match capture {
        Capture::Blob { mode, id, .. } => Some((*mode, *id)),
        Capture::Gone | Capture::Skipped(_) => None,
    }
}
