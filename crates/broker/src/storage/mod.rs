//! What partitions hold: the log with its batches, who leads, producers, transactions; and how records get in and out.

pub(crate) mod batch;
pub(crate) mod cleanable;
pub(crate) mod compaction;
pub(crate) mod incoming;
pub(crate) mod leadership;
pub(crate) mod legacy;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod own;
pub(crate) mod partition;
pub(crate) mod producer_state;
pub(crate) mod segment;
pub(crate) mod transactions;
pub(crate) mod waiter;
