//! Kafka's log folders: the files in which a broker keeps its partitions.
//!
//! [`read`] walks over a file, the folder of a partition or a whole log folder and gives what is there, [`Item`] by item;
//! [`verify`] checks the files of each partition against each other. The readers for single files can be used alone:
//! [`LogReader`] for batches, [`IndexReader`] for indexes, [`read_producers`] for snapshots of producers, [`read_epochs`],
//! [`read_offsets`] and [`read_properties`] for text.
//!
//! ```
//! use milena_records::{Codec, Record, encode};
//! use milena_storage::{Item, Options, read_log};
//!
//! let file = encode(&[Record::new("k", "v"), Record::new("k", "w")], Codec::Lz4)?;
//! let mut values = Vec::new();
//! let summary = read_log(&file[..], &Options::default(), &mut |item| {
//!     if let Item::Record { record, .. } = item {
//!         values.push(record.value.unwrap_or_default().to_vec());
//!     }
//!     Ok(None)
//! })?;
//! assert_eq!(values, [b"v", b"w"]);
//! assert_eq!((summary.batches, summary.records, summary.faults), (1, 2, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a broker writes beside its batches is made by [`IndexEntry::push`], [`write_producers`], [`write_epochs`],
//! [`write_offsets`] and [`write_partition_metadata`].
//!
//! All readers take any bytes: what cannot be read is a [`Fault`] with its place, and reading continues after it.
//!
//! | item | what |
//! |---|---|
//! | [`read`], [`read_log`], [`Options`], [`Selection`], [`Summary`] | what folders and files hold |
//! | [`verify`], [`Verified`], [`Skipped`] | whether the files of a partition agree |
//! | [`list`], [`Folder`], [`File`], [`FileName`], [`FileKind`], [`FileState`], [`PartitionName`] | which files there are, by their names |
//! | [`LogReader`], [`LogEntry`], [`LogContent`], [`LogOptions`] | batches of a segment or a KRaft snapshot |
//! | [`IndexReader`], [`IndexEntry`] | `.index`, `.timeindex` and `.txnindex` |
//! | [`Producers`], [`read_producers`] | `.snapshot` |
//! | [`EpochEntry`], [`OffsetOf`] | checkpoints |
//! | [`Fault`] | something that is not as Kafka writes it |
//!
//! # Limits
//!
//! Memory does not grow with the file. It is bounded by the largest batch, at most [`LogOptions::max_batch`], and by what
//! that decompresses to, at most [`ReadOptions::limit`](milena_records::ReadOptions::limit); both are 128 MiB by default.
//! Snapshots of producers and text files are read whole, up to 64 MiB.

mod checkpoint;
mod fault;
mod folder;
mod head;
mod index;
mod item;
mod log;
mod name;
mod number;
mod property;
mod read;
mod resync;
mod selection;
mod snapshot;
mod verify;
mod walk;
mod window;

pub use checkpoint::{EpochEntry, OffsetOf, read_epochs, read_offsets, write_epochs, write_offsets};
pub use fault::Fault;
pub use folder::{File, Folder, list};
pub use index::{IndexEntry, IndexKind, IndexPart, IndexReader, OffsetEntry, OutOfSegment, TimeEntry};
pub use item::{Item, Skipped, Verified};
pub use log::{LogContent, LogEntry, LogOptions, LogReader};
pub use name::{FileKind, FileName, FileState, PartitionName};
pub use property::{read_properties, write_partition_metadata};
pub use read::{read, read_log};
pub use selection::Selection;
pub use snapshot::{Producers, read_producers, write_producers};
pub use verify::verify;
pub use walk::{Options, Summary, Visit};
