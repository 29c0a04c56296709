//! A few threads for one piece of work. They live as long as the call: a
//! process of a few milliseconds has no use for a pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};

use crate::error::Result;

/// More threads than this only wait for one another in the kernel.
const AT_MOST: usize = 8;

/// How many threads `items` are worth, when one thread does `each` of them in the
/// time that it takes to start another.
pub(super) fn threads_for(items: usize, each: usize) -> usize {
    (1 + items / each).min(cores()).min(AT_MOST)
}

/// How many threads can run at once. Asking the system reads files of the control
/// group, each time.
pub(super) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Work that begets work.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    more: Condvar,
}

struct State<J> {
    jobs: Vec<J>,
    busy: usize,
    idle: usize,
}

impl<J> Queue<J> {
    /// Adds a job; the newest is taken first, so that the memory in use stays that
    /// of a few branches.
    pub(super) fn add(&self, job: J) {
        let mut state = self.state();
        state.jobs.push(job);
        let is_awaited = state.idle > 0;
        drop(state);
        // Waking nobody is a system call all the same.
        if is_awaited {
            self.more.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn next(&self) -> Option<J> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state.idle += 1;
            state = self.more.wait(state).unwrap_or_else(|e| e.into_inner());
            state.idle -= 1;
        }
    }

    fn done(&self) {
        let mut state = self.state();
        state.busy -= 1;
        if state.busy == 0 && state.jobs.is_empty() {
            self.more.notify_all();
        }
    }
}

/// Runs `work` on `first` and on all that it adds; each thread has a worker of its
/// own, and all workers are given back.
pub(super) fn run<J: Send, W: Send>(
    threads: usize,
    first: J,
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, J, &Queue<J>) + Sync,
) -> Vec<W> {
    let queue = Queue {
        state: Mutex::new(State {
            jobs: vec![first],
            busy: 0,
            idle: 0,
        }),
        more: Condvar::new(),
    };
    let one = || {
        let mut own = worker();
        while let Some(job) = queue.next() {
            work(&mut own, job, &queue);
            queue.done();
        }
        own
    };
    side_by_side(threads, one)
}

/// Runs `work` on the numbers below `count`, each once; a thread's share begins
/// with a worker of its own.
///
/// # Errors
/// The first error ends it.
pub(super) fn each<W>(
    threads: usize,
    count: usize,
    worker: impl Fn() -> Result<W> + Sync,
    work: impl Fn(&mut W, usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let one = || -> Result<()> {
        let mut own = worker()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            if let Err(e) = work(&mut own, at) {
                next.store(count, Ordering::Relaxed);
                return Err(e);
            }
        }
    };
    side_by_side(threads, one).into_iter().collect()
}

/// Does two things at once.
pub fn both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(first);
        let second = second();
        match other.join() {
            Ok(first) => (first, second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn side_by_side<T: Send>(threads: usize, one: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&one)).collect();
        let mut all = vec![one()];
        for other in others {
            match other.join() {
                Ok(result) => all.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_begets_work_is_all_done() {
        let sums = run(
            4,
            10_u64,
            || 0_u64,
            |sum, job, queue| {
                *sum += 1;
                for smaller in 0..job {
                    queue.add(smaller);
                }
            },
        );
        assert_eq!(sums.iter().sum::<u64>(), 1 << 10);
    }

    #[test]
    fn an_error_ends_it() {
        let outcome = each(
            2,
            1000,
            || Ok(()),
            |(), at| {
                if at == 500 {
                    crate::error::bail!("enough")
                }
                Ok(())
            },
        );
        assert!(outcome.is_err());
    }
}
