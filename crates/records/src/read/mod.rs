//! From bytes to batches, and from batches to records.

pub(crate) mod batch;
pub(crate) mod batches;
pub(crate) mod cursor;
pub(crate) mod legacy;
mod payload;
mod record;
pub(crate) mod records;
