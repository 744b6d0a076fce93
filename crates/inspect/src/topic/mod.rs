//! The records of Kafka's own topics: what coordinators and controllers write down.
//!
//! ```
//! use milena_inspect::topic::TopicReader;
//!
//! let reader = TopicReader::for_topic("__consumer_offsets").unwrap();
//! let key = b"\0\x01\0\x07readers\0\x07letters\0\0\0\x03";
//! let value = b"\0\0\0\0\0\0\0\0\0\x2a\0\0\0\0\0\0\0\0\0\x01";
//!
//! let record = reader.decode(Some(key), Some(value));
//! assert_eq!(record.name, Some("OffsetCommit"));
//! assert_eq!(record.key.json().unwrap()["group"], "readers");
//! assert_eq!(record.value.json().unwrap()["offset"], 42);
//! assert!(reader.decode(Some(key), None).is_deletion());
//! ```

mod group;
mod reader;
mod record;

pub use reader::TopicReader;
pub use record::{RecordContent, TopicRecord};
