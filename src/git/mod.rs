//! The only door to git: gix where it is right, the command line where it is
//! not, behind one face. Nothing above this module knows which of the two ran.

pub mod command;
pub mod config;
pub mod enclosing;
pub mod guard;
pub mod head;
pub mod locate;
pub mod new_ref;
pub mod object;
pub mod pack;
pub mod path;
pub mod pathspec;
pub mod promised;
pub mod quote;
pub mod refs;
pub mod remote;
pub mod talk;
pub mod transaction;
mod worktrees;
pub mod wrapped;

pub use gix::ObjectId;
pub use gix::bstr::{BStr, BString, ByteSlice, ByteVec};
pub use gix::objs::Kind;
pub use gix::objs::tree::{EntryKind, EntryMode};
pub use locate::Repo;
