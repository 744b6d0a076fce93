use super::*;

const NEVER: RollAt = RollAt { bytes: u64::MAX, age_ms: i64::MAX };

/// The bytes of a batch of so many records and bytes, of which only the header says something.
pub(crate) fn raw(records: i32, max_timestamp: i64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    bytes[8..12].copy_from_slice(&(size as i32 - 12).to_be_bytes());
    bytes[16] = 2;
    bytes[23..27].copy_from_slice(&(records - 1).to_be_bytes());
    bytes[35..43].copy_from_slice(&max_timestamp.to_be_bytes());
    bytes[43..57].fill(0xff);
    bytes
}

pub(crate) fn append(log: &mut Log, batch: &[u8], epoch: i32, now_ms: i64, roll_at: RollAt) -> bool {
    let base_offset = log.end_offset();
    let finish = |bytes: &mut [u8]| -> Result<(), ()> {
        bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
        bytes[12..16].copy_from_slice(&epoch.to_be_bytes());
        Ok(())
    };
    log.append(batch, (epoch, Header(batch).max_timestamp()), now_ms, roll_at, finish).unwrap()
}

/// Batches of three records and 100 bytes each, at these times, in segments of at most so many bytes.
fn log_of(times: &[i64], segment_bytes: u64) -> Log {
    let mut log = Log::default();
    for &time in times {
        append(&mut log, &raw(3, time, 100), 0, 5, RollAt { bytes: segment_bytes, ..NEVER });
    }
    log
}

/// The same log in one segment and in several.
fn both(times: &[i64]) -> [Log; 2] {
    [log_of(times, u64::MAX), log_of(times, 200)]
}

fn bases(log: &Log, offset: i64, max_bytes: usize, whole_first: bool) -> Vec<i64> {
    let run = log.read(offset, i64::MAX, max_bytes, whole_first).unwrap();
    let bases: Vec<i64> = run.batches().map(|batch| batch.base_offset).collect();
    assert_eq!(run.bytes().len(), 100 * bases.len());
    assert_eq!(run.end_offset, bases.last().map(|base| base + 3));
    bases
}

#[test]
fn reading_begins_with_the_batch_that_holds_the_offset() {
    let [whole, parts] = both(&[1, 2, 3]);
    assert_eq!([0, 5].map(|offset| bases(&whole, offset, 1000, false)), [vec![0, 3, 6], vec![3, 6]]);
    // No more than the rest of the segment.
    assert_eq!([0, 5, 6].map(|offset| bases(&parts, offset, 1000, false)), [vec![0, 3], vec![3], vec![6]]);
    for log in [whole, parts] {
        assert_eq!(bases(&log, 9, 1000, false), [0i64; 0]);
        assert_eq!(log.read(10, 99, 1000, false).unwrap_err(), OutOfRange);
        assert_eq!(log.read(-1, 99, 1000, false).unwrap_err(), OutOfRange);
    }
}

#[test]
fn the_limits_count_whole_batches_but_not_the_first() {
    for log in both(&[1, 2, 3]) {
        assert_eq!(bases(&log, 0, 200, false), [0, 3]);
        assert_eq!(bases(&log, 0, 299, true), [0, 3]);
        assert_eq!(bases(&log, 4, 1, true), [3]);
        assert_eq!(bases(&log, 4, 1, false), [0i64; 0]);
        assert_eq!(log.read(0, 5, 1000, true).unwrap().end_offset, Some(3));
        assert_eq!(log.read(0, 2, 1000, true).unwrap().end_offset, None);
    }
}

#[test]
fn bytes_are_counted_from_the_batch_that_holds_the_offset() {
    for log in both(&[1, 2, 3]) {
        let from = |offset| log.bytes_from(offset);
        assert_eq!([0, 2, 3, 8, 9].map(from), [300, 300, 200, 100, 0].map(Ok));
        assert_eq!([-1, 10].map(from), [Err(OutOfRange); 2]);
    }
}

#[test]
fn batches_of_a_full_segment_are_read_without_a_copy() {
    let mut log = log_of(&[1, 2], u64::MAX);
    log.roll();
    let (one, other) = (log.read(0, 99, 1000, true).unwrap(), log.read(0, 99, 1000, true).unwrap());
    assert_eq!((one.bytes().as_ptr(), one.to_copy()), (other.bytes().as_ptr(), 0));
    assert_eq!(log.read(6, 99, 1000, true).unwrap().bytes(), Bytes::new());
}

#[test]
fn times_that_go_back_are_found_all_the_same() {
    for log in both(&[10, 50, 20, 50, 60]) {
        let at = |time| log.at_time(time, 0).map(|batch| batch.base_offset);
        assert_eq!(
            [at(0), at(10), at(11), at(50), at(51), at(61)],
            [Some(0), Some(0), Some(3), Some(3), Some(12), None]
        );
        assert_eq!(log.at_greatest_time().unwrap().base_offset, 12);
    }
    assert!(Log::default().at_greatest_time().is_none());
}

#[test]
fn epochs_end_where_the_next_one_begins() {
    let mut log = Log::default();
    assert_eq!(log.end_of_epoch(0), None);
    for epoch in [0, 0, 3, 7] {
        append(&mut log, &raw(3, 0, 100), epoch, 5, NEVER);
    }
    let end = |epoch| log.end_of_epoch(epoch);
    assert_eq!([end(0), end(2), end(3), end(5), end(7)], [(0, 6), (0, 6), (3, 9), (3, 9), (7, 12)].map(Some));
    assert_eq!([end(8), end(-1)], [None; 2]);
    assert_eq!([log.epoch_at(5), log.epoch_at(6), log.epoch_at(99)], [Some(0), Some(3), Some(7)]);
}

#[test]
fn a_log_is_cut_at_both_ends_in_whole_batches() {
    for segment_bytes in [u64::MAX, 100, 250] {
        let mut log = Log::default();
        for epoch in [0, 1, 2, 3] {
            append(&mut log, &raw(3, 0, 100), epoch, 5, RollAt { bytes: segment_bytes, ..NEVER });
        }
        log.truncate_to(10, 6);
        assert_eq!((log.end_offset(), log.latest_epoch(), log.size_in_bytes()), (9, Some(2), 300));
        log.delete_before(4);
        assert_eq!((log.start_offset(), bases(&log, 4, 1000, true)[0]), (4, 3));
        assert_eq!((log.end_of_epoch(0), log.end_of_epoch(1)), (Some((0, 4)), Some((1, 6))));
        log.delete_before(100);
        assert_eq!((log.start_offset(), log.end_offset()), (9, 9));
        log.truncate_to(0, 7);
        assert_eq!((log.start_offset(), log.end_offset(), log.size_in_bytes()), (9, 9, 0));
        append(&mut log, &raw(3, 0, 100), 4, 5, NEVER);
        assert_eq!(bases(&log, 9, 1000, true), [9]);
    }
}

#[test]
fn a_segment_is_full_by_size_or_by_the_age_of_its_first_batch() {
    let mut log = Log::default();
    let roll_at = RollAt { bytes: 250, age_ms: 1000 };
    let mut add = |time, now_ms| append(&mut log, &raw(1, time, 100), 0, now_ms, roll_at);
    // Timestamps count; without them the time of the clock does.
    assert_eq!([add(5000, 0), add(6000, 9000), add(6000, 0)], [false, false, true]);
    assert_eq!([add(7001, 0), add(-1, 0)], [true, false]);
    assert_eq!([add(-1, 0), add(-1, 1000), add(-1, 0)], [true, false, true]);
    assert!(add(-1, 1001));
    let all: Vec<_> = log.segments().map(Segment::base_offset).collect();
    assert_eq!(all, [0, 2, 3, 5, 7, 8]);
}

const ALL: Keep = Keep { ms: None, bytes: None };

#[test]
fn retention_by_size_leaves_at_least_that_much() {
    let left = |bytes| {
        let mut log = log_of(&[1, 2, 3, 4], 100);
        log.apply_retention(Some(Keep { bytes: Some(bytes), ..ALL }), 0);
        (log.start_offset(), log.size_in_bytes())
    };
    assert_eq!([left(400), left(301), left(300), left(100)], [(0, 400), (0, 400), (3, 300), (9, 100)]);
    assert_eq!(left(0), (12, 0));
}

#[test]
fn retention_by_time_stops_at_the_first_segment_that_is_young_enough() {
    let left = |now_ms| {
        let mut log = log_of(&[1000, 3000, 2000, -1], 100);
        log.apply_retention(Some(Keep { ms: Some(100), ..ALL }), now_ms);
        log.start_offset()
    };
    assert_eq!([left(1100), left(1101), left(2500), left(3100)], [0, 3, 3, 3]);
    // A segment without timestamps is as old as its last batch, which came at 5.
    assert_eq!(left(3101), 12);
    assert_eq!(log_of(&[1, 2], 100).apply_retention(Some(ALL), i64::MAX), 0);
}

#[test]
fn deleted_records_go_with_their_segment_in_any_topic() {
    let mut log = log_of(&[1, 2, 3], 100);
    log.delete_before(5);
    assert_eq!((log.apply_retention(None, 0), log.size_in_bytes(), log.start_offset()), (1, 200, 5));
    log.delete_before(9);
    assert_eq!((log.apply_retention(None, 0), log.size_in_bytes(), log.start_offset()), (1, 100, 9));
}

#[test]
fn small_batches_cost_few_bytes_more_than_their_own() {
    let mut log = Log::default();
    // A batch of one record of 100 bytes.
    for _ in 0..50_000 {
        append(&mut log, &raw(1, 0, 170), 0, 0, RollAt { bytes: 4 << 20, ..NEVER });
    }
    let (size, memory) = (log.size_in_bytes(), log.memory());
    assert!(memory * 100 < size * 108, "{memory} bytes for {size}");
}
