//! Where a test may act in the middle of a restore. A release build has none of this.

/// Runs the script that `HARNESS_TEST_PAUSE` names.
#[inline]
pub fn point() {
    #[cfg(debug_assertions)]
    if let Some(script) = std::env::var_os("HARNESS_TEST_PAUSE") {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test's own script, in debug builds only"
        )]
        let _ = std::process::Command::new(script).status();
    }
}
