//! Frames in bytes of unknown origin: one or many, with their sizes in front or without, of one direction or both.
//!
//! ```
//! use milena_inspect::stream::{Assume, Reading, read};
//!
//! // ApiVersions version 0 and its response, one after the other.
//! let bytes = b"\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff\0\0\0\x0a\0\0\0\x07\0\0\0\0\0\0";
//! let found = read(&bytes[..].into(), Assume::Nothing);
//! assert!(matches!(found[0].reading, Reading::Request));
//! assert!(matches!(found[1].reading, Reading::Response));
//! assert_eq!(found[1].frame.json()?["errorCode"], 0);
//! # Ok::<(), milena_inspect::Unreadable>(())
//! ```

mod guess;
mod read;
mod split;

pub use guess::{Guess, guess};
pub use read::{Assume, FoundFrame, Reading, read};
pub use split::{Piece, is_request, split};
