//! The numbered checkpoints of one worktree, its lane: what a checkpoint holds,
//! how one is saved and found, and whose change a path is.

pub mod age;
pub mod durability;
pub mod evidence;
pub mod expire;
pub mod find;
pub mod head_restore;
pub mod identity;
pub mod index_restore;
pub mod index_state;
pub mod needed;
pub mod position;
pub mod publish;
pub mod record;
mod refs;
pub mod refused;
pub mod remove;
pub mod save;
mod shadowed;
pub mod trailer;
pub mod transfer;
pub mod upkeep;
mod whole;
pub mod wrote;

pub use find::Checkpoint;
pub use identity::Lane;
pub use record::{Kind, Record};
