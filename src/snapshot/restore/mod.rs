//! Bringing a working tree back to a snapshot: plan, stage, apply, verify.
//! Nothing is overwritten or deleted that is not in the plan, and nothing in the
//! plan that is no longer what the plan saw.

pub mod apply;
pub mod journal;
pub mod pause;
pub mod plan;
pub mod seen;
pub mod stage;
mod verify;
