//! Record sets: what Kafka's classes wrote and read, compared with `milena-records`.

pub(crate) mod check;
mod ours;
mod read;
mod rebuild;
mod vector;
mod write;

pub use check::{Outcomes, RecordsReport, record_differences};
pub use ours::{Ours, our_sets};
pub use read::read_set;
pub(crate) use rebuild::rebuild_records;
pub use vector::{RecordVector, read_record_vectors};
pub use write::rewrite;
