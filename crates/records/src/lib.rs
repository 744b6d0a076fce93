//! Kafka's record formats: what stands in the `records` of Produce and Fetch, in log segments and in snapshots.
//!
//! [`Batches`] walks over any mix of record batches (magic 2) and old message sets (magic 0 and 1) in one buffer, and
//! each [`Batch`] gives its records as borrowed views, without an allocation per record. [`BatchBuilder`] writes batches,
//! [`BatchMut`] changes their headers as a broker does.
//!
//! ```
//! use milena_records::{BatchBuilder, Batches, Codec, Record};
//!
//! let mut builder = BatchBuilder::new().codec(Codec::Lz4);
//! builder.push(&Record::new("k", "v").with_timestamp(1_700_000_000_000).with_header("trace", "7f"))?;
//! let bytes = builder.build()?;
//!
//! for batch in Batches::new(bytes) {
//!     let batch = batch?;
//!     println!("{} at {}..={}", batch.codec()?, batch.base_offset(), batch.last_offset());
//!     for record in batch.records() {
//!         let record = record?;
//!         assert_eq!(record.value, Some(&b"v"[..]));
//!         assert_eq!(record.headers().next().unwrap().key_str(), "trace");
//!     }
//! }
//! # Ok::<(), milena_records::Error>(())
//! ```
//!
//! | room | what |
//! |---|---|
//! | [`Batches`], [`Partial`] | from entry to entry, up to the one that is cut off |
//! | [`Batch`], [`TimestampType`] | one entry: header, exact bytes, checksum |
//! | [`Records`], [`RecordRef`], [`Headers`], [`HeaderRef`] | the records where they stand |
//! | [`IntoRecords`], [`Record`], [`Header`] | the records as values |
//! | [`Control`] | what the records of control batches say |
//! | [`BatchBuilder`], [`AsRecord`], [`encode`] | writing magic 2 |
//! | [`MessageSetBuilder`], [`LegacyMessage`] | writing magic 0 and 1 |
//! | [`down_convert`], [`up_convert`], [`recompress`] | from one format, or codec, to another |
//! | [`BatchMut`] | offsets, leader epoch and timestamps set in place |
//! | [`Codec`] | gzip, snappy, lz4, zstd, each a cargo feature |
//! | [`ReadOptions`], [`Mode`] | strict or tolerant, checksums, limits |
//! | [`Error`], [`ErrorKind`], [`BatchPlace`] | what went wrong, and what to skip to go on |
//!
//! # Limits
//!
//! Reading allocates nothing for batches that are not compressed. A compressed payload is decompressed at once, into at
//! most [`ReadOptions::limit`] bytes, and never into more than its codec could have made of its size where the codec has
//! such a bound.

mod codec;
mod control;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod layout;
mod options;
mod read;
mod record;
mod view;
mod write;

pub use codec::Codec;
pub use control::Control;
pub use error::{BatchPlace, Error, ErrorKind, Result};
pub use options::{Mode, ReadOptions};
pub use read::batch::{Batch, TimestampType};
pub use read::batches::{Batches, Partial};
pub use read::records::{IntoRecords, Records};
pub use record::{Header, Record};
pub use view::{HeaderRef, Headers, RecordRef};
pub use write::append::AsRecord;
pub use write::builder::{BatchBuilder, encode};
pub use write::convert::{down_convert, recompress, up_convert};
pub use write::message::LegacyMessage;
pub use write::message_set::MessageSetBuilder;
pub use write::rewrite::BatchMut;
