//! Where a test may act in the middle of a restore or a save. A release build has
//! none of this.

/// Runs the script that `HARNESS_TEST_PAUSE` names.
#[inline]
pub fn point() {
    at("HARNESS_TEST_PAUSE");
}

/// Runs the script that the environment variable `moment` names.
#[inline]
pub fn at(moment: &str) {
    // Nobody asks in a release build.
    let _ = moment;
    #[cfg(debug_assertions)]
    if let Some(script) = std::env::var_os(moment) {
        let ran = crate::git::command::Child::new(script).status();
        assert!(ran.is_ok_and(|status| status.success()), "the script runs");
    }
}
