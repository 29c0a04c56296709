//! Several journals at a time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use gix::ObjectId;

use crate::replay::test::verdict::Tested;
use crate::ui::Progress;

/// Tests all `journals`, `jobs` at a time; the verdicts in their order.
pub(super) fn tested(
    journals: &[PathBuf],
    from: Option<ObjectId>,
    jobs: usize,
    quiet: bool,
) -> Vec<Tested> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let jobs = if jobs == 0 { processors } else { jobs };
    let next = AtomicUsize::new(0);
    let (done, verdicts) = mpsc::channel();
    let mut tested: Vec<(usize, Tested)> = Vec::with_capacity(journals.len());
    let mut progress = Progress::of("Testing journals", quiet);
    thread::scope(|scope| {
        for _ in 0..jobs.min(journals.len()) {
            let (done, next) = (done.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = journals.get(number) else {
                        return;
                    };
                    // Nobody waits any more only when we end as well.
                    let _ = done.send((number, Tested::of(path, from)));
                }
            });
        }
        drop(done);
        for verdict in verdicts {
            tested.push(verdict);
            progress.at(tested.len(), journals.len());
        }
    });
    tested.sort_by_key(|(number, _)| *number);
    tested.into_iter().map(|(_, tested)| tested).collect()
}
