//! Where a test may kill us. A release build has none of this.

/// The program ends here, at once, when this is the n-th point of the run and
/// `HARNESS_TEST_CRASH=n` is set; placed before each step that changes a disk.
#[inline]
pub fn point() {
    #[cfg(debug_assertions)]
    {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU32, Ordering};
        static LIMIT: OnceLock<u32> = OnceLock::new();
        static PASSED: AtomicU32 = AtomicU32::new(0);
        let limit = *LIMIT.get_or_init(|| {
            std::env::var("HARNESS_TEST_CRASH")
                .ok()
                .and_then(|n| n.parse().ok())
                .unwrap_or(0)
        });
        if limit > 0 && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == limit {
            // Not `abort`: no core dump, and as sudden as a kill.
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .ok();
        }
    }
}
