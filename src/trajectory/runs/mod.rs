//! Runs and their phases: a pipeline as a shell script.

mod journal;

pub(super) use journal::Journal;
