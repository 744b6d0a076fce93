//! What members of a group send each other through the broker, as bytes that it does not look into.
//!
//! Nothing in such bytes says what they are. [`read`] takes them for what the caller says, [`guess`] tries everything and
//! says what fits, the best first, with its reasons.
//!
//! ```
//! use milena_inspect::blob::{Kind, guess, read};
//!
//! let bytes = b"\0\x01\0\0\0\x01\0\x07letters\xff\xff\xff\xff\0\0\0\0";
//! let blob = read(Kind::Subscription, bytes[..].into())?;
//! assert_eq!((blob.version, blob.json["topics"][0].as_str()), (1, Some("letters")));
//!
//! assert_eq!(guess(bytes[..].into())[0].kind, Kind::Subscription);
//! # Ok::<(), milena_wire::Error>(())
//! ```

mod guess;
mod kind;
mod plausible;
mod read;

pub use guess::{CutOff, guess, guess_cut_off};
pub use kind::Kind;
pub use read::{Blob, encode, part, read};
