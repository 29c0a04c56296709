//! The state of a working tree.
