//! The branch that a replay makes.
