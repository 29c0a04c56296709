//! Where a test may act in the middle of a restore. A release build has none of this.

/// Runs the script that `HARNESS_TEST_PAUSE` names.
#[inline]
pub fn point() {
    #[cfg(debug_assertions)]
    if let Some(script) = std::env::var_os("HARNESS_TEST_PAUSE") {
        let ran = crate::git::command::Child::new(script).status();
        assert!(ran.is_ok_and(|status| status.success()), "the script runs");
    }
}
