//! Patches as git writes them, read and applied in process. Pure: no file, no
//! repository. What is not fully understood is refused, and git is asked.

pub mod base85;
pub mod binary;
pub mod change;
pub mod header;
pub mod parse;
pub mod path;
pub mod text;
pub mod touched;

pub use change::{Body, Change, Refusal};
pub use parse::{mend, parse};
pub use path::danger_in;
pub use touched::touched;
