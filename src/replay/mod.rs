//! The program `git-replay`: one file per subcommand.

pub mod journal;
pub mod object;
pub mod patch;

mod apply;
mod base;
mod cause;
mod divergence;
mod fsck;
mod migrate;
mod pack;
mod rebuild;
mod room;
mod store;
mod tree;
