//! The mirror of all logs in SQLite. It can be deleted at any time.

mod apply;
pub(super) mod ingest;
mod local;
mod marks;
mod merge;
mod open;
mod schema;

pub(super) use ingest::ingest;
pub(super) use open::{Mirror, explained, read_only};
