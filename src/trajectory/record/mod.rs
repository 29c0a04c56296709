//! Writes down what hooks tell, and guards what is about to be written.

mod calls;
mod closing;
mod entry;
mod guard;
mod loops;
mod place;
mod process;
mod recorder;
mod settle;
mod state;
mod trouble;

pub(super) use process::{is_alive, run};
pub(super) use recorder::{Reply, is_required, record};
pub(super) use settle::{close_orphans, settle};
pub(super) use state::{Open, State};
pub(super) use trouble::{note as note_trouble, path as trouble_path};
