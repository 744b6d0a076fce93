//! A batch as it is in a log.

use bytes::Bytes;

use crate::storage::producer_state::Sequence;
use crate::storage::segment::Header;

/// What a batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchKind {
    Plain,
    Transactional,
    /// The marker that ends a transaction.
    Control,
}

/// A batch at its place in the log, as it goes out to consumers, with what its header says.
#[derive(Clone, Debug)]
pub(crate) struct LogBatch {
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) kind: BatchKind,
    /// The producer with its epoch and sequence numbers; `None` when the batch names none.
    pub(crate) sequence: Option<Sequence>,
    pub(crate) bytes: Bytes,
}

impl LogBatch {
    /// A batch of magic 2 that was checked before.
    pub(crate) fn of(bytes: Bytes) -> Self {
        let header = Header(&bytes);
        let (transactional, control) = (header.attributes() & 0x10 != 0, header.attributes() & 0x20 != 0);
        let (base_offset, last_offset) = (header.base_offset(), header.last_offset());
        let first = header.base_sequence();
        // Sequence numbers begin again at 0 after the greatest one.
        let last = first.checked_add((last_offset - base_offset) as i32);
        let last = last.unwrap_or_else(|| (last_offset - base_offset) as i32 - (i32::MAX - first) - 1);
        let sequence = Sequence { producer_id: header.producer_id(), epoch: header.producer_epoch(), first, last };
        Self {
            base_offset,
            last_offset,
            max_timestamp: header.max_timestamp(),
            kind: match (control, transactional) {
                (true, _) => BatchKind::Control,
                (false, true) => BatchKind::Transactional,
                (false, false) => BatchKind::Plain,
            },
            sequence: (sequence.producer_id >= 0)
                .then_some(Sequence { last: if first < 0 { -1 } else { last }, ..sequence }),
            bytes,
        }
    }
}
