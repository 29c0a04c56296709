//! What keeps thousands of checkpoints cheap for the user's own git, done after
//! a save, in the background: old ones expire, our loose objects go into a
//! pack, our small packs into a larger one, our loose refs into packed-refs.

mod day;
mod loose;
mod packs;
mod start;

pub use day::run;
pub use packs::note;
pub use start::after_save;
