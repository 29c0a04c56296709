//! Several journals at a time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gix::ObjectId;

use crate::replay::test::verdict::Tested;

/// Tests all `journals`, `jobs` at a time; the verdicts in their order.
pub(super) fn tested(journals: &[PathBuf], from: Option<ObjectId>, jobs: usize) -> Vec<Tested> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let jobs = if jobs == 0 { processors } else { jobs };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tested = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = journals.get(number) else {
                return tested;
            };
            tested.push((number, Tested::of(path, from)));
        }
    };
    let mut tested: Vec<(usize, Tested)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.min(journals.len()))
            .map(|_| scope.spawn(work))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a verdict does not panic"))
            .collect()
    });
    tested.sort_by_key(|(number, _)| *number);
    tested.into_iter().map(|(_, tested)| tested).collect()
}
