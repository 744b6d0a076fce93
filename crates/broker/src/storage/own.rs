//! Batches that the broker writes by itself: records of coordinators, and markers that end transactions.

use milena_records::{AsRecord, Batch, BatchBuilder, Error, ReadOptions, TimestampType};

use crate::storage::incoming::IncomingBatch;
use crate::storage::log::BatchKind;
use crate::storage::producer_state::Sequence;

/// These records as one batch that only lacks its offset; with a producer (id and epoch) as a part of its transaction.
/// Each record has its timestamp already.
///
/// # Errors
/// A record is too large for a batch.
pub(crate) fn batch<'a, R: AsRecord + 'a>(
    records: impl IntoIterator<Item = &'a R>,
    producer: Option<(i64, i16)>,
) -> Result<IncomingBatch, Error> {
    let mut builder = BatchBuilder::new();
    if let Some((id, epoch)) = producer {
        builder = builder.producer(id, epoch, -1).transactional(true);
    }
    for record in records {
        builder.push(record)?;
    }
    let Some((producer_id, epoch)) = producer else { return finish(builder, BatchKind::Plain, None) };
    finish(builder, BatchKind::Transactional, Some(Sequence { producer_id, epoch, first: -1, last: -1 }))
}

/// A control batch by a producer, with one record.
///
/// # Errors
/// The record is too large for a batch.
pub(crate) fn marker(producer_id: i64, epoch: i16, record: &impl AsRecord) -> Result<IncomingBatch, Error> {
    let mut builder = BatchBuilder::new().producer(producer_id, epoch, -1).transactional(true).control(true);
    builder.push(record)?;
    finish(builder, BatchKind::Control, Some(Sequence { producer_id, epoch, first: -1, last: -1 }))
}

fn finish(builder: BatchBuilder, kind: BatchKind, sequence: Option<Sequence>) -> Result<IncomingBatch, Error> {
    let bytes = builder.build()?;
    let batch = Batch::parse(bytes.clone(), ReadOptions::default())?;
    Ok(IncomingBatch {
        max_timestamp: batch.max_timestamp(),
        timestamps: TimestampType::CreateTime,
        log_append_time_ms: -1,
        kind,
        sequence,
        bytes,
    })
}
