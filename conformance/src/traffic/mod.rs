//! What real clients and real brokers said to each other, frame by frame: see `README.md`.

mod check;
mod oddity;
mod recording;
mod records;
mod summary;

pub use check::{Conversation, Exchange, Strange};
pub use oddity::{Oddities, Oddity};
pub use recording::{Direction, Frame, Recording, read_traffic};
pub use summary::{TrafficReport, run_traffic};
