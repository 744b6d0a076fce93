use std::collections::BTreeMap;

use milena_records::{Codec, Record};
use proptest::prelude::*;

use super::*;
use crate::storage::incoming::IncomingBatch;
use crate::storage::own;
use crate::storage::producer_state::Sequence;

const NOW: i64 = 1_700_000_000_000;

/// A segment that holds these batches, from offset 0 on.
fn segment(base_offset: i64, batches: &[IncomingBatch]) -> Segment {
    let mut segment = Segment::new(base_offset);
    for batch in batches {
        let base = segment.end_offset();
        segment.append(&batch.bytes, 0, |bytes| batch.finish(bytes, base, 0)).unwrap();
    }
    segment
}

fn batch(records: &[Record], codec: Codec, producer: Option<(i64, i16)>, transactional: bool) -> IncomingBatch {
    let mut builder = BatchBuilder::new().codec(codec).transactional(transactional);
    if let Some((id, epoch)) = producer {
        builder = builder.producer(id, epoch, 0);
    }
    records.iter().for_each(|record| builder.push(record).unwrap());
    let bytes = builder.build().unwrap();
    let max_timestamp = records.iter().map(|record| record.timestamp).max().unwrap();
    let kind = if transactional { BatchKind::Transactional } else { BatchKind::Plain };
    let sequence = producer.map(|(producer_id, epoch)| Sequence { producer_id, epoch, first: 0, last: 0 });
    IncomingBatch {
        bytes,
        timestamps: TimestampType::CreateTime,
        max_timestamp,
        log_append_time_ms: -1,
        kind,
        sequence,
    }
}

fn pass(segments: Vec<Segment>) -> Pass {
    let end = segments.last().map_or(0, Segment::end_offset);
    Pass {
        segments,
        first_dirty: 0,
        // One batch more is in the segment that stays, so that the last one here may go.
        end: end + 1,
        generation: 0,
        producers: HashMap::new(),
        aborted: Vec::new(),
        now_ms: NOW,
        delete_retention_ms: 1000,
        segment_bytes: 1 << 20,
    }
}

fn record(key: &str, value: Option<&str>) -> Record {
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    Record { key: Some(bytes(key)), value: value.map(bytes), timestamp: NOW - 500, ..Record::default() }
}

/// Offset, key and value of all records.
fn left(segments: &[Segment]) -> Vec<(i64, String, Option<String>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut all = Vec::new();
    for stored in segments.iter().flat_map(Segment::batches) {
        let batch = Batch::parse(stored.bytes, ReadOptions::default()).unwrap();
        batch.check_crc().unwrap();
        for record in batch.records().map(Result::unwrap) {
            assert_eq!(record.timestamp, NOW - 500);
            all.push((record.offset, text(record.key.unwrap()), record.value.map(text)));
        }
    }
    all
}

#[test]
fn tombstones_stay_until_their_horizon_has_passed() {
    let records = [record("a", Some("1")), record("b", Some("2")), record("a", None)];
    let first = pass(vec![segment(0, &[batch(&records, Codec::None, None, false)])]);
    let once = first.run();
    assert_eq!(left(&once.segments), [(1, "b".into(), Some("2".into())), (2, "a".into(), None)]);
    let stored: Vec<_> = once.segments[0].batches().collect();
    let header = Batch::parse(stored[0].bytes.clone(), ReadOptions::default()).unwrap();
    assert_eq!((header.delete_horizon(), header.base_offset(), header.last_offset()), (Some(NOW + 1000), 0, 2));
    let later = |now_ms| left(&Pass { now_ms, ..pass(once.segments.clone()) }.run().segments).len();
    assert_eq!([later(NOW + 999), later(NOW + 1000)], [2, 1]);
}

#[test]
fn an_empty_batch_keeps_what_producers_and_offsets_need() {
    let old = batch(&[record("a", Some("1"))], Codec::None, Some((7, 0)), false);
    let new = batch(&[record("a", Some("2"))], Codec::None, None, false);
    let run = |producers, end| {
        let pass = Pass { producers, end, ..pass(vec![segment(0, &[new.clone(), old.clone(), new.clone()])]) };
        pass.run().segments[0].batches().map(|batch| (batch.base_offset, batch.bytes.len())).collect::<Vec<_>>()
    };
    let size = new.bytes.len();
    assert_eq!(run(HashMap::new(), 9), [(2, size)]);
    // Its header stays, for the sequence number.
    assert_eq!(run(HashMap::from([(7, LastBatch::Data(1))]), 9), [(1, 61), (2, size)]);
    assert_eq!(run(HashMap::from([(7, LastBatch::Data(5))]), 9), [(2, size)]);
    // The last batch of the pass stays for its offset.
    assert_eq!(run(HashMap::new(), 2), [(1, 61), (2, size)]);
}

#[test]
fn markers_go_after_the_records_of_their_transaction() {
    let marker =
        |control: Control<'_>| own::marker(7, 0, &Record { timestamp: NOW - 500, ..control.to_record() }).unwrap();
    let data = batch(&[record("a", Some("1"))], Codec::None, Some((7, 0)), true);
    let other = batch(&[record("a", Some("2"))], Codec::None, None, false);
    let aborted = Aborted { producer_id: 7, first_offset: 0, last_offset: 1, last_stable_offset: 2 };
    let log = vec![segment(0, &[data, marker(Control::Abort { coordinator_epoch: 0 }), other])];
    let offsets = |segments: &[Segment]| segments[0].batches().map(|batch| batch.base_offset).collect::<Vec<_>>();
    let first = Pass { aborted: vec![aborted], ..pass(log) }.run();
    assert_eq!((offsets(&first.segments), &first.aborted[..]), (vec![1, 2], &[aborted][..]));
    let second = Pass { aborted: first.aborted, ..pass(first.segments) }.run();
    assert_eq!((offsets(&second.segments), &second.aborted[..]), (vec![1, 2], &[][..]));
    let third = Pass { now_ms: NOW + 1000, ..pass(second.segments) }.run();
    assert_eq!(offsets(&third.segments), [2]);
}

fn any_record() -> impl Strategy<Value = Record> {
    (0..6u8, prop::option::of("[a-z]{0,8}")).prop_map(|(key, value)| record(&key.to_string(), value.as_deref()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The model is a map: the last record of each key, and nothing else.
    #[test]
    fn of_each_key_the_last_record_stays(
        batches in prop::collection::vec(prop::collection::vec(any_record(), 1..5), 1..20),
        cut in 1..5usize,
        codec in prop::sample::select(vec![Codec::None, Codec::Lz4, Codec::Gzip]),
        segment_bytes in 1..2000u64,
    ) {
        let mut segments: Vec<Segment> = Vec::new();
        for chunk in batches.chunks(cut) {
            let incoming: Vec<_> = chunk.iter().map(|records| batch(records, codec, None, false)).collect();
            let base = segments.last().map_or(0, Segment::end_offset);
            segments.push(segment(base, &incoming));
        }
        let mut model = BTreeMap::new();
        for (offset, record) in (0..).zip(batches.iter().flatten()) {
            model.insert(record.key.clone().unwrap(), (offset, record.value.clone()));
        }
        let mut wanted: Vec<_> = model.into_iter().map(|(key, (offset, value))| (offset, key, value)).collect();
        wanted.sort();
        let ends: Vec<_> = segments.iter().map(Segment::base_offset).collect();
        let compacted = Pass { segment_bytes, ..pass(segments) }.run();
        let found: Vec<_> = left(&compacted.segments)
            .into_iter()
            .map(|(offset, key, value)| (offset, Bytes::from(key), value.map(Bytes::from)))
            .collect();
        prop_assert_eq!(&found, &wanted);
        prop_assert!(compacted.segments.iter().all(|segment| ends.contains(&segment.base_offset())));
        // Again, with nothing to do but tombstones.
        let again = pass(compacted.segments).run();
        prop_assert_eq!(left(&again.segments).len(), wanted.len());
    }
}
