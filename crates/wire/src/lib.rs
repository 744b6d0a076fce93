//! Kafka's primitive encodings: bytes to values and back.
//!
//! [`Reader`] walks over one [`bytes::Bytes`] and hands out values, [`Writer`] collects them; both know the two dialects
//! of the protocol, the old one with fixed-width lengths and the *flexible* one of KIP-482 with varint lengths and tagged
//! fields. Nothing here knows a message: those live in `milena-messages` and, as values, in `milena-schema`.
//!
//! ```
//! use milena_wire::{Reader, Writer};
//!
//! let mut writer = Writer::new();
//! writer.i32(7);
//! writer.string("milena", true)?;
//!
//! let mut reader = Reader::new(writer.into_bytes());
//! assert_eq!(reader.i32()?, 7);
//! assert_eq!(reader.string(true)?, "milena");
//! assert_eq!(reader.remaining(), 0);
//! # Ok::<(), milena_wire::Error>(())
//! ```
//!
//! | room | what |
//! |---|---|
//! | [`Reader`], [`Writer`] | the two cursors |
//! | [`Fixed`] | runs of values of fixed width, read and written in one step |
//! | [`Limits`] | how much memory hostile bytes may cost |
//! | [`Error`], [`ErrorKind`], [`At`] | what went wrong, at which byte, in which field |
//! | [`Report`] | an error with all its causes in one line |
//! | [`VersionRange`] | `0-3`, `5+`, `none` |
//! | [`Uuid`] | topic ids and the like, in Kafka's 22-character form |
//! | [`UnknownTags`] | tagged fields that no version we know defines |
//! | [`varint`] | variable-length integers on their own |

mod error;
mod fixed;
mod int32s;
mod lossy;
mod reader;
mod report;
mod tag;
mod uuid;
pub mod varint;
mod version;
mod writer;

pub use bytes::Bytes;
pub use bytestring::ByteString;
pub use error::{At, Error, ErrorKind, Result, counted};
pub use fixed::{Fixed, MAX_FIXED_BYTES};
pub use lossy::text_lossy;
pub use reader::{Limits, Reader};
pub use report::Report;
pub use smallvec::{SmallVec, smallvec};
pub use tag::{UnknownTag, UnknownTags};
pub use uuid::{ParseUuidError, Uuid};
pub use version::{ParseVersionRangeError, VersionRange};
pub use writer::{TagWriter, Writer};

/// An array of int32 as most messages carry it: replica lists and partition indexes.
///
/// Four values fit inside, so that the usual replica list costs no allocation; a longer list moves to the heap. The type
/// is no larger than a `Vec`.
pub type Int32s = SmallVec<[i32; 4]>;

/// Longest string, in UTF-8 bytes, that Kafka reads or writes in any version.
pub const MAX_STRING_BYTES: usize = 32_767;
