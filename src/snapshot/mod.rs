//! The state of a working tree: one walk, the blobs of what differs from the
//! user's index, the trees above them; and the way back.

pub mod apart;
pub mod asked;
pub mod attributes;
pub mod built;
pub mod cache;
pub mod capture;
pub mod complete;
pub mod convert;
pub mod difference;
mod dirty;
pub mod fresh;
pub mod glance;
pub mod ignore;
pub mod include;
pub mod index;
pub mod index_file;
mod indexed;
pub mod listed;
mod listing;
mod nested;
mod pack;
mod programs;
mod prove;
mod recall;
mod recased;
mod recent;
mod refuse;
pub mod restore;
pub mod root;
pub mod scan;
pub mod sink;
pub mod sqlite;
pub mod stat;
pub mod take;
pub mod tree;
pub mod workers;
