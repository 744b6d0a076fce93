//! What a producer sent, checked as Kafka checks it before it goes into a log.

use bytes::Bytes;
use milena_messages::ErrorCode;
use milena_records::{Batch, BatchMut, Batches, Codec, ErrorKind, ReadOptions, TimestampType};

use crate::cluster::topic_config::TopicConfig;
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::storage::legacy::{refusal, up_convert};
use crate::storage::log::BatchKind;
use crate::storage::producer_state::Sequence;

/// A batch that only lacks its offset.
#[derive(Clone, Debug)]
pub(crate) struct IncomingBatch {
    /// As the producer sent it.
    pub(crate) bytes: Bytes,
    /// What the header will say of timestamps.
    pub(crate) timestamps: TimestampType,
    pub(crate) max_timestamp: i64,
    /// -1 when the timestamps are the producer's.
    pub(crate) log_append_time_ms: i64,
    pub(crate) kind: BatchKind,
    /// `None` when the producer is not idempotent.
    pub(crate) sequence: Option<Sequence>,
}

impl IncomingBatch {
    /// Sets in these bytes, a copy of the batch, what the header lacks.
    ///
    /// # Errors
    /// They are no batch, which was checked before.
    pub(crate) fn finish(&self, bytes: &mut [u8], base_offset: i64, leader_epoch: i32) -> Result<(), Refusal> {
        let mut header = BatchMut::new(bytes).map_err(|error| corrupt(&error))?;
        header.set_base_offset(base_offset);
        header.set_partition_leader_epoch(leader_epoch);
        // Some producers get the greatest timestamp wrong, and searching by time relies on it.
        header.set_timestamps(self.timestamps, self.max_timestamp).map_err(|error| corrupt(&error))
    }
}

/// Why records are not appended.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) refusal: Refusal,
    /// The records at fault by their place in the batch, when it is not the batch as a whole (KIP-467).
    pub(crate) records: Vec<(i32, String)>,
    /// Kafka refuses it before it looks at the transaction and at the acks of the request.
    pub(crate) early: bool,
    /// The first offset of the log, when Kafka says it; -1 when not.
    pub(crate) log_start_offset: i64,
}

impl Rejected {
    fn early(refusal: Refusal) -> Self {
        Self { early: true, ..refusal.into() }
    }
}

impl From<Refusal> for Rejected {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, records: Vec::new(), early: false, log_start_offset: -1 }
    }
}

/// What the header of a batch says about its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) is_transactional: bool,
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
}

impl Head {
    /// Of the first batch, which is not checked in any way.
    pub(crate) fn of(records: Option<&Bytes>) -> Option<Self> {
        let first = Batches::new(records?.clone()).next()?.ok()?;
        Some(Self {
            is_transactional: first.is_transactional(),
            producer_id: first.producer_id(),
            epoch: first.producer_epoch(),
            sequence: first.base_sequence(),
        })
    }
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(ErrorCode::INVALID_RECORD, message)
}

/// Checks the records of one partition. `version` is that of the Produce request: from 3 on it takes exactly one batch of
/// magic 2. Older versions take message sets, which become a batch here.
///
/// # Errors
/// The code that Kafka gives for it.
pub(crate) fn check(
    records: Option<Bytes>,
    version: i16,
    config: &TopicConfig,
    now_ms: i64,
    cost: &mut Cost,
) -> Result<Vec<IncomingBatch>, Rejected> {
    let size = records.as_ref().map_or(0, Bytes::len);
    let mut walk = Batches::new(records.unwrap_or_default());
    let mut entries = Vec::new();
    for entry in walk.by_ref() {
        entries.push(entry.map_err(|error| Rejected::early(corrupt(&error)))?);
    }
    if version < 3 {
        if entries.iter().any(|entry| entry.magic() < 2) {
            if size > config.max_message_bytes as usize && entries.iter().any(|entry| too_large(entry, config)) {
                return Err(message_too_large(size, config).into());
            }
            let Some(bytes) = up_convert(&entries, cost)? else { return Ok(Vec::new()) };
            let batch = Batch::parse(bytes, ReadOptions::default()).map_err(|error| refusal(&error))?;
            return Ok(vec![check_batch(&batch, version, config, now_ms, cost)?]);
        }
        return entries.iter().map(|entry| check_batch(entry, version, config, now_ms, cost)).collect();
    }
    match &entries[..] {
        // A batch that is cut off is no batch.
        [] => Err(Rejected::early(invalid(format!(
            "Produce version {version} takes at least one record batch per partition"
        )))),
        [entry] if entry.magic() == 2 => {
            if walk.partial().is_some() {
                return Err(Refusal::new(ErrorCode::CORRUPT_MESSAGE, "There are bytes after the record batch").into());
            }
            if version < 7 && matches!(entry.codec(), Ok(Codec::Zstd)) {
                let message = "zstd needs Produce version 7";
                return Err(Rejected::early(Refusal::new(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, message)));
            }
            Ok(vec![check_batch(entry, version, config, now_ms, cost)?])
        }
        [entry] => Err(Rejected::early(invalid(format!(
            "Produce version {version} takes record batches of magic 2 only, this one has magic {}",
            entry.magic()
        )))),
        _ => Err(Rejected::early(invalid(format!(
            "Produce version {version} takes exactly one record batch per partition"
        )))),
    }
}

/// Bytes that are no entry are corrupt, whatever it is about them.
fn corrupt(error: &milena_records::Error) -> Refusal {
    Refusal::new(ErrorCode::CORRUPT_MESSAGE, error.to_string())
}

fn too_large(batch: &Batch, config: &TopicConfig) -> bool {
    batch.size_in_bytes() > config.max_message_bytes as usize
}

fn message_too_large(size: usize, config: &TopicConfig) -> Refusal {
    let message = format!("The record batch has {size} bytes, max.message.bytes allows {}", config.max_message_bytes);
    Refusal::new(ErrorCode::MESSAGE_TOO_LARGE, message)
}

fn check_batch(
    batch: &Batch,
    version: i16,
    config: &TopicConfig,
    now_ms: i64,
    cost: &mut Cost,
) -> Result<IncomingBatch, Rejected> {
    check_header(batch, version, config)?;
    let greatest = check_records(batch, config, now_ms, cost)?;
    let (timestamps, max_timestamp) = if config.log_append_time {
        (TimestampType::LogAppendTime, now_ms)
    } else {
        (TimestampType::CreateTime, greatest)
    };
    let sequence = (batch.producer_id() >= 0).then(|| Sequence {
        producer_id: batch.producer_id(),
        epoch: batch.producer_epoch(),
        first: batch.base_sequence(),
        last: batch.last_sequence(),
    });
    Ok(IncomingBatch {
        bytes: batch.bytes().clone(),
        timestamps,
        max_timestamp,
        log_append_time_ms: if config.log_append_time { now_ms } else { -1 },
        // Kafka takes a transactional batch of no producer, and it is no part of any transaction.
        kind: if batch.is_transactional() && sequence.is_some() { BatchKind::Transactional } else { BatchKind::Plain },
        sequence,
    })
}

fn check_header(batch: &Batch, version: i16, config: &TopicConfig) -> Result<(), Refusal> {
    if too_large(batch, config) {
        return Err(message_too_large(batch.size_in_bytes(), config));
    }
    batch.check_crc().map_err(|error| corrupt(&error))?;
    match batch.codec() {
        Err(error) => return Err(Refusal::new(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, error.to_string())),
        Ok(Codec::Zstd) if version < 7 => {
            return Err(Refusal::new(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7"));
        }
        Ok(_) => {}
    }
    if batch.base_offset() != 0 {
        return Err(invalid(format!("The base offset of a batch should be 0, it is {}", batch.base_offset())));
    }
    let count = batch.count().unwrap_or_default();
    if count <= 0 || batch.last_offset_delta() != count - 1 {
        return Err(invalid(format!(
            "The batch says it has {count} records, and its last offset delta is {}",
            batch.last_offset_delta()
        )));
    }
    if batch.is_control() {
        return Err(invalid("Clients may not write control records"));
    }
    if batch.producer_id() >= 0 && (batch.base_sequence() < 0 || batch.producer_epoch() < 0) {
        return Err(invalid("A batch with a producer id needs an epoch and a sequence number"));
    }
    Ok(())
}

/// Reads every record, as Kafka does, so that nothing gets into a log that cannot be read out of it. Returns the greatest
/// timestamp.
fn check_records(batch: &Batch, config: &TopicConfig, now_ms: i64, cost: &mut Cost) -> Result<i64, Rejected> {
    if !config.log_append_time && batch.timestamp_type() == TimestampType::LogAppendTime {
        let message = "A producer may not mark its timestamps as those of the broker";
        return Err(Refusal::new(ErrorCode::INVALID_TIMESTAMP, message).into());
    }
    // The checksum was right in the header check.
    let batch = cost.open(batch.bytes(), false).map_err(|error| refusal(&error))?;
    let mut greatest = -1;
    let (mut keyless, mut untimely) = (Vec::new(), Vec::new());
    for (index, record) in (0..).zip(batch.records()) {
        let record = match record {
            Ok(record) => record,
            // This build cannot look inside; the batch passes as it is.
            Err(error) if error.kind() == ErrorKind::UnsupportedCodec => return Ok(batch.max_timestamp()),
            Err(error) => return Err(refusal(&error).into()),
        };
        if record.offset != i64::from(index) {
            return Err(invalid(format!("Record {index} of the batch has offset delta {}", record.offset)).into());
        }
        greatest = greatest.max(record.timestamp);
        // All faults are found, but only so many are listed.
        if config.compacted && record.key.is_none() && (cost.entries(1) || keyless.is_empty()) {
            keyless.push((index, "A compacted topic takes no record without a key".to_owned()));
        }
        if is_untimely(record.timestamp, config, now_ms) && (cost.entries(1) || untimely.is_empty()) {
            let (before, after) = (config.timestamp_before_max_ms, config.timestamp_after_max_ms);
            let timestamp = record.timestamp;
            let fault =
                format!("Timestamp {timestamp} is not between {before} ms before and {after} ms after {now_ms}");
            untimely.push((index, fault));
        }
    }
    if !keyless.is_empty() {
        let refusal = invalid("One or more records have been rejected");
        return Err(Rejected { records: keyless, ..refusal.into() });
    }
    if !untimely.is_empty() {
        let message = "One or more records have been rejected due to invalid timestamp";
        let refusal = Refusal::new(ErrorCode::INVALID_TIMESTAMP, message);
        return Err(Rejected { records: untimely, ..refusal.into() });
    }
    Ok(greatest)
}

fn is_untimely(timestamp: i64, config: &TopicConfig, now_ms: i64) -> bool {
    let (ahead, behind) = (timestamp.saturating_sub(now_ms), now_ms.saturating_sub(timestamp));
    let wrong = ahead > config.timestamp_after_max_ms || behind > config.timestamp_before_max_ms;
    !config.log_append_time && timestamp >= 0 && wrong
}

#[cfg(test)]
mod tests {
    use milena_records::{BatchBuilder, ReadOptions, Record, encode};

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn config(pairs: &[(&str, &str)]) -> TopicConfig {
        TopicConfig::new(pairs.iter().map(|(name, value)| (*name, Some(*value))), 1_048_588).unwrap()
    }

    fn records() -> Vec<Record> {
        vec![Record::new("k", "v").with_timestamp(NOW + 5), Record::from_value("w").with_timestamp(NOW)]
    }

    /// With the budget of a large request.
    fn check(
        records: Option<Bytes>,
        version: i16,
        config: &TopicConfig,
        now_ms: i64,
    ) -> Result<Vec<IncomingBatch>, Rejected> {
        super::check(records, version, config, now_ms, &mut Cost::full(0))
    }

    fn code(bytes: impl Into<Bytes>, version: i16, config: &TopicConfig) -> ErrorCode {
        check(Some(bytes.into()), version, config, NOW).unwrap_err().refusal.code
    }

    #[test]
    fn a_good_batch_of_any_codec_passes_unchanged() {
        for codec in Codec::ALL {
            let sent = encode(&records(), codec).unwrap();
            let batches = check(Some(sent.clone()), 7, &config(&[]), NOW).unwrap();
            assert_eq!(batches.len(), 1);
            let mut stored = batches[0].bytes.to_vec();
            batches[0].finish(&mut stored, 0, -1).unwrap();
            assert_eq!(stored, sent);
            assert_eq!((batches[0].max_timestamp, batches[0].log_append_time_ms), (NOW + 5, -1));
        }
    }

    #[test]
    fn a_damaged_batch_is_corrupt() {
        let good = encode(&records(), Codec::None).unwrap().to_vec();
        for at in [17, 25, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(code(bad, 3, &config(&[])), ErrorCode::CORRUPT_MESSAGE, "{at}");
        }
        let mut longer = good.clone();
        longer.extend_from_slice(&[0; 5]);
        assert_eq!(code(longer, 3, &config(&[])), ErrorCode::CORRUPT_MESSAGE);
        let mut size = good.clone();
        size[8..12].copy_from_slice(&1i32.to_be_bytes());
        assert_eq!(code(size, 3, &config(&[])), ErrorCode::CORRUPT_MESSAGE);
    }

    #[test]
    fn from_version_3_on_it_is_exactly_one_batch() {
        let batch = encode(&records(), Codec::None).unwrap();
        assert_eq!(code([&batch[..], &batch[..]].concat(), 3, &config(&[])), ErrorCode::INVALID_RECORD);
        assert_eq!(code(Bytes::new(), 3, &config(&[])), ErrorCode::INVALID_RECORD);
        assert_eq!(code(batch.slice(..40), 3, &config(&[])), ErrorCode::INVALID_RECORD);
        assert_eq!(check(None, 9, &config(&[]), NOW).unwrap_err().refusal.code, ErrorCode::INVALID_RECORD);
    }

    #[test]
    fn zstd_needs_version_7() {
        let batch = encode(&records(), Codec::Zstd).unwrap();
        assert_eq!(code(batch, 6, &config(&[])), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    }

    #[test]
    fn the_header_has_to_fit_the_records() {
        let with = |change: &dyn Fn(&mut [u8])| {
            let mut bytes = encode(&records(), Codec::None).unwrap().to_vec();
            change(&mut bytes);
            BatchMut::new(&mut bytes).unwrap().update_crc();
            code(bytes, 3, &config(&[]))
        };
        assert_eq!(with(&|bytes| bytes[60] = 3), ErrorCode::INVALID_RECORD);
        assert_eq!(with(&|bytes| bytes[26] = 2), ErrorCode::INVALID_RECORD);
        assert_eq!(with(&|bytes| (bytes[60], bytes[26]) = (3, 2)), ErrorCode::INVALID_RECORD);
        assert_eq!(with(&|bytes| bytes[22] = 0x20), ErrorCode::INVALID_RECORD);
        assert_eq!(with(&|bytes| bytes[22] = 0x07), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
        assert_eq!(with(&|bytes| bytes[22] = 0x08), ErrorCode::INVALID_TIMESTAMP);
        assert_eq!(with(&|bytes| bytes[7] = 1), ErrorCode::INVALID_RECORD);
    }

    #[test]
    fn a_topic_with_log_append_time_gets_the_clock_of_the_broker() {
        let sent = encode(&records(), Codec::Gzip).unwrap();
        let config = config(&[("message.timestamp.type", "LogAppendTime")]);
        let batches = check(Some(sent), 8, &config, NOW + 77).unwrap();
        assert_eq!(batches[0].log_append_time_ms, NOW + 77);
        let mut stored = batches[0].bytes.to_vec();
        batches[0].finish(&mut stored, 0, 0).unwrap();
        let batch = Batch::parse(stored.into(), ReadOptions::default()).unwrap();
        batch.check_crc().unwrap();
        assert!(batch.records().all(|record| record.unwrap().timestamp == NOW + 77));
    }

    #[test]
    fn topics_limit_size_keys_and_timestamps() {
        let batch = encode(&records(), Codec::None).unwrap();
        assert_eq!(code(batch.clone(), 3, &config(&[("max.message.bytes", "60")])), ErrorCode::MESSAGE_TOO_LARGE);
        let compacted = config(&[("cleanup.policy", "compact")]);
        let rejected = check(Some(batch), 8, &compacted, NOW).unwrap_err();
        assert_eq!(rejected.refusal.code, ErrorCode::INVALID_RECORD);
        assert_eq!(rejected.records[0].0, 1);
        let late = encode(&[Record::from_value("x").with_timestamp(NOW + 3_600_001)], Codec::None).unwrap();
        assert_eq!(code(late, 8, &config(&[])), ErrorCode::INVALID_TIMESTAMP);
    }

    #[test]
    fn idempotent_producers_name_epoch_and_sequence() {
        let build = |id, epoch, sequence| {
            let mut builder = BatchBuilder::new().producer(id, epoch, sequence);
            records().iter().for_each(|record| builder.push(record).unwrap());
            builder.build().unwrap()
        };
        let batches = check(Some(build(9, 2, i32::MAX)), 3, &config(&[]), NOW).unwrap();
        let sequence = Sequence { producer_id: 9, epoch: 2, first: i32::MAX, last: 0 };
        assert_eq!(batches[0].sequence, Some(sequence));
        assert_eq!(code(build(9, 2, -1), 3, &config(&[])), ErrorCode::INVALID_RECORD);
    }

    #[test]
    fn fifty_bombs_are_decompressed_up_to_the_budget_and_no_further() {
        let bomb = encode(&[Record::from_value(vec![0; 20 << 20])], Codec::Zstd).unwrap();
        assert!(bomb.len() < 4096);
        let mut cost = Cost::full(50 * bomb.len());
        let codes: Vec<_> = (0..50)
            .map(|_| match super::check(Some(bomb.clone()), 7, &config(&[]), NOW, &mut cost) {
                Ok(_) => ErrorCode::NONE,
                Err(rejected) => rejected.refusal.code,
            })
            .collect();
        // 6 x 20 MiB are within 128 MiB.
        assert_eq!(codes[..6], [ErrorCode::NONE; 6]);
        assert_eq!(codes[6..], [ErrorCode::MESSAGE_TOO_LARGE; 44]);
        assert_eq!(cost.decompress_left(), 0);
    }

    #[test]
    fn bombs_in_a_message_set_share_the_budget_too() {
        let mut set = milena_records::MessageSetBuilder::new(1).unwrap().codec(Codec::Gzip);
        set.push(&Record::from_value(vec![0; 20 << 20])).unwrap();
        let bomb = set.build().unwrap();
        let mut cost = Cost::full(0);
        let set = [&bomb[..], &bomb[..]].concat();
        let rejected = super::check(Some(set.into()), 2, &config(&[]), NOW, &mut cost).unwrap_err();
        assert_eq!(rejected.refusal.code, ErrorCode::MESSAGE_TOO_LARGE);
    }

    #[test]
    fn a_fault_in_every_record_lists_only_so_many() {
        let mut builder = BatchBuilder::new().codec(Codec::Zstd);
        (0..300_000).for_each(|_| builder.push(&Record::from_value("")).unwrap());
        let batch = builder.build().unwrap();
        let compacted = config(&[("cleanup.policy", "compact")]);
        let rejected = check(Some(batch), 8, &compacted, NOW).unwrap_err();
        assert_eq!(rejected.refusal.code, ErrorCode::INVALID_RECORD);
        assert_eq!(rejected.records.len(), 200_000);
    }
}
