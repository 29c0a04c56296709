//! Our own private files and locks, inside git's folders and the user's state folder.

pub mod crash;
pub mod file;
pub mod lock;
