use milena_records::{
    Batch, BatchBuilder, BatchMut, Batches, Codec, LegacyMessage, MessageSetBuilder, ReadOptions, Record, Result,
    TimestampType,
};
use milena_wire::Bytes;

use crate::vector::to_hex;

/// More than any payload here decompresses to.
const LIMIT: usize = 64 << 20;

/// Reads a set and writes it again with the builders: byte for byte the same when it is not compressed, and the same after
/// decompression, header included, when it is. Gives what is not.
pub fn rewrite(bytes: &Bytes) -> Vec<String> {
    let options = ReadOptions { check_crc: false, ..ReadOptions::default() };
    let batches: Result<Vec<Batch>> = Batches::with_options(bytes.clone(), options).collect();
    let batches = match batches {
        Ok(batches) => batches,
        Err(error) => return vec![error.to_string()],
    };
    batches
        .iter()
        .enumerate()
        .filter_map(|(index, batch)| {
            let outcome = if batch.magic() == 2 { rewrite_batch(batch) } else { rewrite_messages(batch) };
            match outcome {
                Ok(None) => None,
                Ok(Some(difference)) => Some(format!("batches[{index}]: {difference}")),
                Err(error) => Some(format!("batches[{index}]: {error}")),
            }
        })
        .collect()
}

fn compare(what: &str, kafka: &[u8], ours: &[u8]) -> Option<String> {
    let at = kafka.iter().zip(ours).position(|(a, b)| a != b);
    let at = at.or_else(|| (kafka.len() != ours.len()).then(|| kafka.len().min(ours.len())))?;
    let part = |bytes: &[u8]| to_hex(&bytes[at.min(bytes.len())..bytes.len().min(at + 16)]);
    Some(format!("{what}, byte {at}: Kafka {}, milena {}", part(kafka), part(ours)))
}

fn rewrite_batch(batch: &Batch) -> Result<Option<String>> {
    let codec = batch.codec()?;
    let mut builder = BatchBuilder::new()
        .base_offset(batch.base_offset())
        .partition_leader_epoch(batch.partition_leader_epoch())
        .producer(batch.producer_id(), batch.producer_epoch(), batch.base_sequence())
        .transactional(batch.is_transactional())
        .control(batch.is_control())
        .codec(codec)
        .last_offset(batch.last_offset());
    if batch.timestamp_type() == TimestampType::LogAppendTime {
        builder = builder.log_append_time(batch.max_timestamp());
    }
    if let Some(horizon) = batch.delete_horizon() {
        builder = builder.delete_horizon(horizon);
    }
    for record in records_with_create_times(batch)? {
        builder.push_at_offset(&record)?;
    }
    let mut built = builder.build()?.to_vec();
    if batch.count() == Some(0) && batch.timestamp_type() == TimestampType::CreateTime {
        // The greatest timestamp of records that are gone by now.
        let mut emptied = BatchMut::new(&mut built)?;
        emptied.set_timestamps(TimestampType::CreateTime, batch.max_timestamp())?;
        emptied.update_crc();
    }
    let head = 61;
    if codec == Codec::None {
        return Ok(compare("batch", batch.bytes(), &built));
    }
    // Of the header, all but size and checksum has to be the same, and of the payload, what it decompresses to.
    let header = |bytes: &[u8]| [&bytes[..8], &bytes[12..17], &bytes[21..head]].concat();
    let differs = compare("header without size and checksum", &header(batch.bytes()), &header(&built));
    if differs.is_some() {
        return Ok(differs);
    }
    let kafka = codec.decompress(&batch.bytes()[head..], LIMIT)?;
    Ok(compare("decompressed payload", &kafka, &codec.decompress(&built[head..], LIMIT)?))
}

/// The records with the timestamps that they had before the broker's took their place.
fn records_with_create_times(batch: &Batch) -> Result<Vec<Record>> {
    let mut bytes = batch.bytes().to_vec();
    bytes[22] &= !0x08;
    let options = ReadOptions { check_crc: false, ..ReadOptions::default() };
    Batch::parse(bytes.into(), options)?.into_records().collect()
}

fn rewrite_messages(batch: &Batch) -> Result<Option<String>> {
    let (codec, magic) = (batch.codec()?, batch.magic());
    let mut builder = MessageSetBuilder::new(magic)?.codec(codec);
    if batch.timestamp_type() == TimestampType::LogAppendTime {
        builder = builder.log_append_time(batch.max_timestamp());
    }
    let records: Vec<Record> = batch.records().map(|record| Ok(record?.to_owned())).collect::<Result<_>>()?;
    builder = builder.base_offset(records.first().map_or(0, |record| record.offset));
    for record in &records {
        builder.push_at_offset(record)?;
    }
    let built = builder.build()?;
    if codec == Codec::None {
        return Ok(compare("message", batch.bytes(), &built));
    }
    let ours = Batch::parse(built, ReadOptions::default())?;
    let open = |batch: &Batch| -> Result<(Vec<u8>, Vec<u8>)> {
        let Some(message) = batch.message().transpose()? else { return Ok(Default::default()) };
        let value = codec.decompress_message(message.value.unwrap_or_default(), LIMIT, magic)?;
        // The wrapper without what it wraps.
        let mut shell = Vec::new();
        let attributes = batch.attributes() as i8;
        LegacyMessage {
            magic,
            attributes,
            offset: message.offset,
            timestamp: message.timestamp,
            key: message.key,
            value: None,
        }
        .write(&mut shell)?;
        Ok((shell, value))
    };
    let (kafka, ours) = (open(batch)?, open(&ours)?);
    Ok(compare("wrapper", &kafka.0, &ours.0).or_else(|| compare("decompressed set", &kafka.1, &ours.1)))
}
