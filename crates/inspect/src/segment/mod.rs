//! Log folders and the files in them, offline.
//!
//! [`read`] gives what a file, the folder of a partition or a whole log folder holds, [`Item`] by item, and [`JsonLines`]
//! writes that down. The readers beneath can be used alone: [`LogReader`] for batches, [`IndexReader`] for indexes,
//! [`read_producers`] for snapshots of producers, [`read_epochs`] and its neighbours for text.
//!
//! All of them take any bytes: what cannot be read is a [`Fault`] with its place, and reading goes on behind it.
//!
//! # Limits
//!
//! Memory does not grow with the file. It is bounded by the largest batch, at most [`LogOptions::max_batch`], and by what
//! that decompresses to, at most [`ReadOptions::limit`](milena_records::ReadOptions::limit); both are 128 MiB by default.
//! Snapshots of producers and files of text are read at once, up to 64 MiB.

mod control;
mod fault;
mod folder;
mod index;
mod item;
mod json;
mod log;
mod name;
mod read;
mod selection;
mod snapshot;
mod text;
mod verify;
mod window;

pub use control::control_json;
pub use fault::Fault;
pub use index::{IndexEntry, IndexKind, IndexPart, IndexReader, OffsetEntry, TimeEntry};
pub use item::{File, Item};
pub use json::JsonLines;
pub use log::{Content, LogEntry, LogOptions, LogReader};
pub use name::{FileKind, FileName, PartitionName};
pub use read::{SegmentOptions, Summary, read, read_log};
pub use selection::Selection;
pub use snapshot::{Producers, read_producers};
pub use text::{EpochEntry, OffsetOf, read_epochs, read_offsets, read_properties, read_quorum_state};
pub use verify::Verified;
