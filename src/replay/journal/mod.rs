//! The journal: one file that holds a run. Containers give entries, entries
//! give turns. The format is Outpost's; what it must be is checked here, and
//! every error names the entry and its line.

pub mod container;
pub mod extension;
pub mod fields;
pub mod read;
pub mod storage;
pub mod strict;
pub mod turns;
pub mod usage;
pub mod workspace;
pub mod write;

pub use container::Container;
pub use read::{Journal, Limits};
pub use turns::{Failure, Handover, Prompt, Turn};
pub use usage::Usage;
pub use workspace::{Baseline, Commit, Identity, Workspace};
