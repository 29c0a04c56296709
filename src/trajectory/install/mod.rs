//! `git trajectory install`: puts the hook into an agent's settings, and takes
//! it out again.

mod change;
mod command;
mod edit;
mod extension;
mod places;
mod settings;

pub(super) use command::{Arguments, run};
pub(super) use places::{Scope, is_installed, place};
