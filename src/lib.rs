//! Four git extensions that give an AI coding agent what it needs to work
//! safely in a real repository. The map, in reading order:
//!
//! - [`checkpoint`]: the program `git-checkpoint`, one file per subcommand.
//! - [`trajectory`]: the program `git-trajectory`, one file per subcommand.
//! - [`replay`]: the program `git-replay`: the journal's format, patches, rebuilding.
//! - [`shadow`]: the program `git-shadow`, likewise.
//! - [`lane`]: the numbered checkpoints of one worktree: saving, finding, whose change a path is.
//! - [`snapshot`]: the state of a working tree: scan, blobs, tree, and restoring it.
//! - [`events`]: the event log: masking, appending, reading.
//! - [`git`]: the only door to git, gix and the command line behind one face.
//! - [`state`]: our own private files and locks.
//! - [`cli`], [`ui`], [`error`]: arguments to exit code; streams, colour, questions; what, why, hint.
//!
//! Each module knows only those below it.

pub mod checkpoint;
pub mod cli;
pub mod error;
pub mod events;
pub mod git;
pub mod lane;
pub mod replay;
pub mod shadow;
pub mod snapshot;
pub mod state;
pub mod trajectory;
pub mod ui;
