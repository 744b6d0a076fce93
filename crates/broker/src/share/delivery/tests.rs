//! Share partitions under a clock that the tests move. What is expected follows from KIP-932, KIP-1206 and KIP-1222, and was
//! compared with Kafka 4.4 where a test says so.

use bytes::Bytes;

use super::*;
use crate::group::tests::SHARE_SETTINGS;
use crate::storage::log::{BatchKind, LogBatch};
use crate::storage::producer_state::Sequence;
use crate::storage::transactions::Aborted;

const NOW: i64 = 1_000_000;

/// A partition with batches of ten records, and a share group that begins at 0.
struct Bench {
    share: SharePartition,
    settings: ShareSettings,
    now_ms: i64,
    log: Vec<LogBatch>,
}

fn batch(base_offset: i64, last_offset: i64) -> LogBatch {
    LogBatch { base_offset, last_offset, max_timestamp: 0, kind: BatchKind::Plain, sequence: None, bytes: Bytes::new() }
}

impl Bench {
    fn new() -> Self {
        let share = SharePartition::load(&ShareState::default(), 0, 0).unwrap();
        let log = (0..10).map(|n| batch(10 * n, 10 * n + 9)).collect();
        Self { share, settings: SHARE_SETTINGS, now_ms: NOW, log }
    }

    /// What a member acquires, as (first, last, deliveries).
    fn get(&mut self, member: &str, max_records: i32) -> Vec<(i64, i64, i32)> {
        self.get_with(member, max_records, i32::MAX, false)
    }

    fn get_with(&mut self, member: &str, max: i32, batch_size: i32, strict: bool) -> Vec<(i64, i64, i32)> {
        self.acquire(member, max, batch_size, strict, &[])
    }

    fn acquire(
        &mut self,
        member: &str,
        max_records: i32,
        batch_size: i32,
        strict: bool,
        aborted: &[Aborted],
    ) -> Vec<(i64, i64, i32)> {
        if !self.share.can_acquire(&self.settings) {
            return Vec::new();
        }
        let offset = self.share.next_offset();
        let batches: Vec<LogBatch> = self.log.iter().filter(|batch| batch.last_offset >= offset).cloned().collect();
        let wanted = Acquire {
            member: &member.into(),
            strict,
            batch_size,
            max_records,
            offset,
            batches: &batches,
            aborted,
            settings: &self.settings,
            now_ms: self.now_ms,
        };
        let acquired = self.share.acquire(&wanted);
        acquired.into_iter().map(|range| (range.first, range.last, range.deliveries)).collect()
    }

    /// One verdict on a range; the code, and what has to last.
    fn say(
        &mut self,
        member: &str,
        first: i64,
        last: i64,
        kinds: &[i8],
    ) -> Result<Vec<(i64, i64, i8, i16)>, ErrorCode> {
        let verdict = Acknowledgement { first, last, kinds: kinds.to_vec() };
        let change = self.share.acknowledge(member, &[verdict], &self.settings, self.now_ms);
        change.map(|change| self.keep(change)).map_err(|refusal| refusal.code)
    }

    fn keep(&mut self, change: Change) -> Vec<(i64, i64, i8, i16)> {
        self.share.keep(&change);
        change.batches.iter().map(|batch| (batch.first, batch.last, batch.state, batch.deliveries)).collect()
    }

    fn advance(&mut self, ms: i64) -> Vec<(i64, i64, i8, i16)> {
        self.now_ms += ms;
        let change = self.share.expire(self.now_ms, &self.settings);
        self.keep(change)
    }

    fn offsets(&self) -> (i64, i64, i32) {
        (self.share.start_offset, self.share.end_offset, self.share.complete_count)
    }
}

const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
const RENEW: i8 = 4;

#[test]
fn whole_batches_are_handed_out_once() {
    let mut bench = Bench::new();
    assert_eq!(bench.get("a", 5), [(0, 9, 1)]);
    assert_eq!(bench.get("b", 15), [(10, 29, 1)]);
    assert_eq!(bench.offsets(), (0, 29, 0));
    assert_eq!(bench.say("a", 0, 9, &[ACCEPT]), Ok(vec![(0, 9, 2, 1)]));
    assert_eq!(bench.offsets(), (10, 29, 0));
}

#[test]
fn ranges_are_about_as_large_as_asked_for() {
    let mut bench = Bench::new();
    assert_eq!(bench.get_with("a", 50, 20, false), [(0, 19, 1), (20, 39, 1), (40, 49, 1)]);
    assert_eq!(bench.get_with("a", 15, 1, false), [(50, 59, 1), (60, 69, 1)]);
}

#[test]
fn a_record_limit_leaves_the_rest_of_the_batch_to_others() {
    let mut bench = Bench::new();
    assert_eq!(bench.get_with("a", 4, i32::MAX, true), [(0, 3, 1)]);
    assert_eq!(bench.get_with("b", 4, i32::MAX, true), [(4, 7, 1)]);
    // The next request gets what is left of the batch, and a part of the next one.
    assert_eq!(bench.get_with("a", 4, i32::MAX, true), [(8, 9, 1), (10, 11, 1)]);
    assert_eq!(bench.say("b", 4, 7, &[ACCEPT]).map(|changes| changes.len()), Ok(4));
    assert_eq!(bench.offsets(), (0, 19, 4));
}

#[test]
fn released_records_are_delivered_again_and_counted() {
    let mut bench = Bench::new();
    bench.get("a", 10);
    assert_eq!(bench.say("a", 2, 3, &[RELEASE]), Ok(vec![(2, 2, 0, 1), (3, 3, 0, 1)]));
    assert_eq!(bench.get("b", 1), [(2, 3, 2)]);
    assert_eq!(bench.say("a", 0, 9, &[ACCEPT]), Err(ErrorCode::INVALID_RECORD_STATE), "two of them are with b");
    assert_eq!(bench.share.acquired().len(), 10, "nothing has changed");
    let kinds = [ACCEPT, REJECT, ACCEPT, ACCEPT];
    assert_eq!(bench.say("a", 0, 3, &kinds), Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(bench.say("a", 0, 1, &[ACCEPT, REJECT]), Ok(vec![(0, 0, 2, 1), (1, 1, 4, 1)]));
    assert_eq!(bench.offsets(), (2, 9, 0));
}

#[test]
fn only_the_member_that_has_a_record_says_what_became_of_it() {
    let mut bench = Bench::new();
    bench.get("a", 10);
    assert_eq!(bench.say("b", 0, 9, &[ACCEPT]), Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(bench.say("a", 0, 9, &[RELEASE]), Ok(vec![(0, 9, 0, 1)]));
    assert_eq!(bench.say("a", 0, 9, &[ACCEPT]), Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(bench.say("a", 0, 10, &[ACCEPT]), Err(ErrorCode::INVALID_REQUEST), "10 was never delivered");
    assert_eq!(bench.say("a", 20, 29, &[ACCEPT]), Err(ErrorCode::INVALID_REQUEST));
}

#[test]
fn a_lock_ends_and_a_renewed_one_does_not() {
    let mut bench = Bench::new();
    bench.get("a", 10);
    bench.get("b", 10);
    bench.advance(20_000);
    assert_eq!(bench.say("b", 10, 19, &[RENEW]), Ok(vec![]));
    assert_eq!(bench.advance(9_999), []);
    assert_eq!(bench.share.next_deadline(), Some(NOW + 30_000));
    assert_eq!(bench.advance(1), [(0, 9, 0, 1)]);
    assert_eq!(bench.say("a", 0, 9, &[ACCEPT]), Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(bench.share.next_deadline(), Some(NOW + 50_000));
    bench.settings.may_renew = false;
    assert_eq!(bench.say("b", 10, 19, &[RENEW]), Err(ErrorCode::INVALID_RECORD_STATE));
}

#[test]
fn a_record_that_fails_too_often_is_archived() {
    let mut bench = Bench::new();
    bench.settings.max_deliveries = 2;
    bench.get("a", 10);
    assert_eq!(bench.advance(30_000), [(0, 9, 0, 1)]);
    assert_eq!(bench.get("a", 10), [(0, 9, 2)]);
    assert_eq!(bench.say("a", 0, 9, &[RELEASE]), Ok(vec![(0, 9, 4, 2)]));
    assert_eq!(bench.offsets(), (10, 10, 0));
    assert_eq!(bench.get("a", 10), [(10, 19, 1)]);
}

/// With five deliveries, records are handed out in smaller numbers from the third failure on, and at last alone.
#[test]
fn records_that_failed_often_are_handed_out_in_smaller_numbers() {
    let mut bench = Bench::new();
    let mut sizes = Vec::new();
    for _ in 0..4 {
        let got = bench.get("a", 10);
        sizes.push(got.iter().map(|(first, last, _)| last - first + 1).sum::<i64>());
        bench.advance(30_000);
    }
    assert_eq!(sizes, [10, 10, 10, 5]);
}

#[test]
fn a_group_that_has_too_many_records_out_gets_no_more() {
    let mut bench = Bench::new();
    bench.settings.max_locks = 15;
    assert_eq!(bench.get("a", 100), [(0, 19, 1)], "whole batches");
    assert_eq!(bench.get("b", 100), []);
    bench.say("a", 10, 19, &[RELEASE]).unwrap();
    assert_eq!(bench.get("b", 100), [(10, 19, 2)], "what is in flight already");
    bench.say("a", 0, 9, &[ACCEPT]).unwrap();
    assert_eq!(bench.get("b", 100), [(20, 29, 1)]);
}

#[test]
fn a_member_that_goes_gives_back_what_it_has() {
    let mut bench = Bench::new();
    bench.get("a", 10);
    bench.get("b", 10);
    let change = bench.share.release("a", &bench.settings);
    assert_eq!(bench.keep(change), [(0, 9, 0, 1)]);
    assert_eq!(bench.get("b", 5), [(0, 9, 2)]);
}

#[test]
fn what_cannot_be_kept_did_not_happen() {
    let mut bench = Bench::new();
    bench.get("a", 20);
    let before = bench.share.clone();
    let verdicts = [
        Acknowledgement { first: 0, last: 9, kinds: vec![ACCEPT] },
        Acknowledgement { first: 10, last: 11, kinds: vec![RELEASE, REJECT] },
    ];
    let change = bench.share.acknowledge("a", &verdicts, &bench.settings, NOW).unwrap();
    assert_eq!(bench.share.complete_count, 11);
    bench.share.undo(change);
    assert_eq!(bench.offsets(), (0, 19, 0));
    assert_eq!(bench.share.acquired().iter().map(|(first, last, ..)| last - first + 1).sum::<i64>(), 20);
    assert_eq!(before.start_offset, bench.share.start_offset);
}

#[test]
fn what_a_replay_brought_back_goes_on_with_its_gaps() {
    let batches = vec![
        StateBatch { first: 0, last: 4, state: 2, deliveries: 1 },
        StateBatch { first: 10, last: 14, state: 0, deliveries: 2 },
    ];
    let state = ShareState { batches, state_epoch: 3, ..ShareState::default() };
    let share = SharePartition::load(&state, 1, 0).unwrap();
    let mut bench = Bench { share, ..Bench::new() };
    assert_eq!(bench.offsets(), (5, 14, 0), "the gap at 5 was never delivered");
    assert_eq!(bench.share.next_offset(), 5);
    assert_eq!(bench.get("a", 100), [(5, 9, 1), (10, 14, 3), (15, 99, 1)]);

    let state = |first, last, number| ShareState {
        batches: vec![StateBatch { first, last, state: number, deliveries: 1 }],
        ..ShareState::default()
    };
    for wrong in [state(-1, 4, 0), state(4, 3, 0), state(0, 4, 9)] {
        assert!(SharePartition::load(&wrong, 0, 0).is_err());
    }
}

#[test]
fn records_that_the_log_lost_are_archived() {
    let mut bench = Bench::new();
    bench.get("a", 10);
    bench.get("a", 10);
    bench.say("a", 0, 9, &[RELEASE]).unwrap();
    bench.share.log_starts_at(15);
    assert_eq!(bench.offsets(), (15, 19, 0));
    assert_eq!(bench.say("a", 10, 19, &[ACCEPT]).map(|changes| changes.len()), Ok(5), "those before 15 are gone");
    // Those that are gone hold the start offset back until their locks end, as in Kafka.
    assert_eq!(bench.offsets(), (15, 19, 5));
    assert_eq!(bench.advance(30_000).iter().map(|change| change.2).collect::<Vec<_>>(), [4; 5]);
    assert_eq!(bench.offsets(), (20, 20, 0));
    bench.share.log_starts_at(40);
    assert_eq!(bench.offsets(), (40, 40, 0));
}

#[test]
fn aborted_transactions_are_left_out_for_readers_of_committed_records() {
    let mut bench = Bench::new();
    let sequence = |producer_id| Some(Sequence { producer_id, epoch: 0, first: 0, last: 9 });
    for (number, producer) in [(1, 7), (2, 8)] {
        bench.log[number].kind = BatchKind::Transactional;
        bench.log[number].sequence = sequence(producer);
    }
    let aborted = [Aborted { producer_id: 7, first_offset: 10, last_offset: 40, last_stable_offset: 41 }];
    assert_eq!(bench.acquire("a", 40, i32::MAX, false, &aborted), [(0, 9, 1), (20, 39, 1)]);
    assert_eq!(bench.offsets(), (0, 39, 10));
    bench.say("a", 0, 9, &[ACCEPT]).unwrap();
    assert_eq!(bench.offsets(), (20, 39, 0));
}

/// Random requests never break what holds in any case.
#[test]
fn offsets_and_counts_hold_for_random_requests() {
    let mut random = 12_345u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for _ in 0..200 {
        let mut bench = Bench::new();
        bench.settings.max_deliveries = 3;
        for _ in 0..60 {
            let member = ["a", "b", "c"][next(3) as usize];
            match next(6) {
                0 | 1 => _ = bench.get_with(member, 1 + next(25) as i32, 1 + next(12) as i32, next(2) == 0),
                2 | 3 => {
                    let first = next(100) as i64;
                    let last = (first + next(12) as i64).min(99);
                    _ = bench.say(member, first, last, &[[ACCEPT, RELEASE, REJECT, RENEW][next(4) as usize]]);
                }
                4 => _ = bench.advance(next(40_000) as i64),
                _ => {
                    let change = bench.share.release(member, &bench.settings);
                    bench.keep(change);
                }
            }
            let share = &bench.share;
            assert!(share.start_offset <= share.end_offset + 1);
            let done: i64 = share
                .batches
                .iter()
                .flat_map(|(first, batch)| batch.parts(*first))
                .filter(|(_, last, state)| state.state.is_final() && *last >= share.start_offset)
                .map(|(first, last, _)| last - first.max(share.start_offset) + 1)
                .sum();
            assert_eq!(i64::from(share.complete_count), done);
            let mut end = -1;
            for (first, batch) in &share.batches {
                assert!(*first > end && batch.last >= *first, "batches do not overlap");
                end = batch.last;
            }
            for (_, _, state) in share.batches.iter().flat_map(|(first, batch)| batch.parts(*first)) {
                let out = state.state == RecordState::Acquired;
                assert_eq!((out, out), (state.member.is_some(), state.until.is_some()));
                assert!(state.deliveries <= 3);
            }
        }
    }
}
