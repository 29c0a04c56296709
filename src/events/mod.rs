//! What happened, one JSON line an event: masked, appended under a lock, read
//! back past what is broken.

pub mod append;
pub mod id;
pub mod key;
pub mod line;
pub mod lines;
pub mod mask;
pub mod read;
pub mod session;
pub mod time;

pub use append::Log;
pub use key::Key;
pub use line::{Event, Line};
pub use lines::Lines;
pub use read::{Reader, Stored};
pub use session::Session;
