use std::collections::HashMap;
use std::collections::hash_map::Entry;

use milena_messages::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use milena_messages::list_offsets::response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use milena_messages::{ErrorCode, ListOffsetsRequest, ListOffsetsResponse};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::Operation;
use crate::storage::legacy::refusal;
use crate::storage::log::{Log, LogBatch};
use crate::storage::partition::Partition;
use crate::storage::segment::Segment;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const GREATEST_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

/// The lowest version in which a timestamp below zero means something; `None` for those that never do.
fn since(timestamp: i64) -> Option<i16> {
    match timestamp {
        LATEST | EARLIEST => Some(0),
        GREATEST_TIMESTAMP => Some(7),
        EARLIEST_LOCAL => Some(8),
        LATEST_TIERED => Some(9),
        EARLIEST_PENDING_UPLOAD => Some(11),
        _ => None,
    }
}

fn is_known(timestamp: i64, version: i16) -> bool {
    timestamp >= 0 || version == 0 || since(timestamp).is_some_and(|since| version >= since)
}

pub(super) fn handle(context: &Context, request: ListOffsetsRequest, cost: &mut Cost) -> ListOffsetsResponse {
    let mut times: HashMap<_, u32> = HashMap::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            *times.entry((topic.name.clone(), partition.partition_index)).or_default() += 1;
        }
    }
    if !matches!(request.isolation_level, 0 | 1) {
        return failed(&request);
    }
    let committed = request.isolation_level == 1;
    let mut topics = Vec::new();
    for wanted in request.topics {
        let topic = context.topic(Operation::Describe, TopicRef::Name(&wanted.name));
        let mut partitions = Vec::new();
        for partition in &wanted.partitions {
            let index = partition.partition_index;
            // One that is listed more than once is an error, and in the response once, as in Kafka.
            let repeated = match times.entry((wanted.name.clone(), index)) {
                Entry::Occupied(times) if *times.get() == 0 => continue,
                Entry::Occupied(mut times) => times.insert(0) > 1,
                Entry::Vacant(_) => false,
            };
            let found = topic.as_deref().map_or(None, |topic| topic.partition(index));
            let result = match found {
                _ if topic.as_ref().err() == Some(&ErrorCode::TOPIC_AUTHORIZATION_FAILED) => {
                    Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED)
                }
                _ if repeated => Err(ErrorCode::INVALID_REQUEST),
                _ if !is_known(partition.timestamp, context.version) => Err(ErrorCode::UNSUPPORTED_VERSION),
                Some(found) => look_up(context, &found, partition, committed, cost),
                None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            };
            let mut response =
                result.unwrap_or_else(|error_code| ListOffsetsPartitionResponse { error_code, ..Default::default() });
            response.partition_index = index;
            partitions.push(response);
        }
        if !partitions.is_empty() {
            topics.push(ListOffsetsTopicResponse { name: wanted.name, partitions, ..Default::default() });
        }
    }
    ListOffsetsResponse { topics, ..Default::default() }
}

/// The response of Kafka when it fails: each partition as it was listed.
fn failed(request: &ListOffsetsRequest) -> ListOffsetsResponse {
    let partition = |partition: &ListOffsetsPartition| ListOffsetsPartitionResponse {
        partition_index: partition.partition_index,
        error_code: ErrorCode::UNKNOWN_SERVER_ERROR,
        ..Default::default()
    };
    let topic = |topic: &ListOffsetsTopic| ListOffsetsTopicResponse {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(partition).collect(),
        ..Default::default()
    };
    ListOffsetsResponse { topics: request.topics.iter().map(topic).collect(), ..Default::default() }
}

fn look_up(
    context: &Context,
    partition: &Partition,
    wanted: &ListOffsetsPartition,
    committed: bool,
    cost: &mut Cost,
) -> Result<ListOffsetsPartitionResponse, ErrorCode> {
    let version = context.version;
    let (end, start) = partition.with(|partition| {
        partition.leadership.check_epoch(wanted.current_leader_epoch)?;
        partition.leadership.check_leader(context.node.id)?;
        let end = if committed { partition.last_stable_offset() } else { partition.log.high_watermark() };
        Ok((end, partition.log.start_offset()))
    })?;
    let timestamp = wanted.timestamp;
    if version == 0 {
        let now_ms = context.state.now_ms();
        let old_style_offsets = partition.with_log(|log| old_style(log, timestamp, wanted.max_num_offsets, now_ms));
        return Ok(ListOffsetsPartitionResponse { old_style_offsets, ..Default::default() });
    }
    let timestamp_is_end = timestamp == LATEST;
    let (timestamp, offset) = match timestamp {
        LATEST => (-1, end),
        EARLIEST | EARLIEST_LOCAL => (-1, start),
        // Nothing is ever moved to another tier.
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => return Ok(ListOffsetsPartitionResponse::default()),
        GREATEST_TIMESTAMP => match partition.with_log(Log::at_greatest_time) {
            Some(batch) => first_record_at(&batch, batch.max_timestamp, 0, cost)?.unwrap_or((-1, -1)),
            None => return Ok(ListOffsetsPartitionResponse::default()),
        },
        time => {
            let mut from = start;
            loop {
                let Some(batch) = partition.with_log(|log| log.at_time(time, from)) else {
                    return Ok(ListOffsetsPartitionResponse::default());
                };
                // In the batch that holds the first offset only records before it may have such a time.
                if let Some(found) = first_record_at(&batch, time, start, cost)? {
                    break found;
                }
                from = batch.last_offset + 1;
            }
        }
    };
    let epoch = || partition.with_log(|log| if timestamp_is_end { log.latest_epoch() } else { log.epoch_at(offset) });
    let leader_epoch = if version >= 4 { epoch().unwrap_or(-1) } else { -1 };
    Ok(ListOffsetsPartitionResponse { timestamp, offset, leader_epoch, ..Default::default() })
}

/// Timestamp and offset of the first record of a batch that is not before the time and the offset.
fn first_record_at(stored: &LogBatch, time: i64, start: i64, cost: &mut Cost) -> Result<Option<(i64, i64)>, ErrorCode> {
    let batch = cost.open(&stored.bytes, false).map_err(|error| refusal(&error).code)?;
    for record in batch.records() {
        let record = record.map_err(|error| refusal(&error).code)?;
        if record.timestamp >= time && record.offset >= start {
            return Ok(Some((record.timestamp, record.offset)));
        }
    }
    Ok(None)
}

/// What version 0 lists: where the segments of the log begin that are not younger than the time, and its end, newest
/// first.
fn old_style(log: &Log, timestamp: i64, max: i32, now_ms: i64) -> Vec<i64> {
    let segments = || log.segments().map(|segment| (segment.base_offset().max(log.start_offset()), segment));
    let has_end = log.segments().next_back().is_some_and(|active| active.size() > 0);
    let end = has_end.then(|| log.end_offset());
    let bases = |wanted: &dyn Fn(&Segment) -> bool| -> Vec<i64> {
        segments().filter(|(_, segment)| wanted(segment)).map(|(base, _)| base).rev().collect()
    };
    let mut offsets: Vec<i64> = match timestamp {
        EARLIEST => segments().map(|(base, _)| base).take(1).collect(),
        LATEST => end.into_iter().chain(bases(&|_| true)).collect(),
        time => {
            let last = segments().rfind(|(_, segment)| segment.modified_ms() <= time).map(|(base, _)| base);
            let end = end.filter(|_| time >= now_ms);
            let last = end.or(last).unwrap_or(-1);
            end.into_iter().chain(bases(&|segment| segment.base_offset() <= last)).collect()
        }
    };
    offsets.truncate(usize::try_from(max).unwrap_or(0));
    offsets
}

#[cfg(test)]
mod tests {
    use milena_messages::list_offsets::request::ListOffsetsTopic;
    use milena_records::{Codec, Record};

    use super::*;
    use crate::handler::tests::{Fixture, append_records, create, state};

    fn ask(state: &Fixture, timestamp: i64, version: i16) -> ListOffsetsPartitionResponse {
        ask_partition(state, ListOffsetsPartition { timestamp, ..Default::default() }, version)
    }

    fn ask_partition(state: &Fixture, partition: ListOffsetsPartition, version: i16) -> ListOffsetsPartitionResponse {
        let topic = ListOffsetsTopic { name: "a".into(), partitions: vec![partition], ..Default::default() };
        let request = ListOffsetsRequest { topics: vec![topic], ..Default::default() };
        handle(&state.at(version), request, &mut Cost::full(0)).topics.remove(0).partitions.remove(0)
    }

    /// Offsets 0 to 4 at times 100, 300, 200; 250, 50.
    fn filled() -> Fixture {
        let state = state();
        create(&state, "a", 1);
        let at = |time| Record::from_value("x").with_timestamp(time);
        append_records(&state, "a", &[at(100), at(300), at(200)], Codec::Gzip);
        append_records(&state, "a", &[at(250), at(50)], Codec::None);
        state
    }

    #[test]
    fn the_ends_of_the_log_are_found() {
        let state = filled();
        let of = |timestamp| ask(&state, timestamp, 4);
        assert_eq!((of(LATEST).offset, of(LATEST).timestamp, of(LATEST).leader_epoch), (5, -1, 0));
        assert_eq!((of(EARLIEST).offset, of(EARLIEST).timestamp), (0, -1));
    }

    #[test]
    fn a_time_finds_the_first_record_at_or_after_it() {
        let state = filled();
        let of = |timestamp| {
            let found = ask(&state, timestamp, 1);
            (found.timestamp, found.offset)
        };
        assert_eq!(of(0), (100, 0));
        assert_eq!(of(100), (100, 0));
        assert_eq!(of(101), (300, 1));
        assert_eq!(of(301), (-1, -1));
    }

    #[test]
    fn the_greatest_timestamp_is_that_of_a_record() {
        let found = ask(&filled(), GREATEST_TIMESTAMP, 7);
        assert_eq!((found.timestamp, found.offset), (300, 1));
    }

    #[test]
    fn special_times_need_the_version_that_brought_them() {
        let state = filled();
        for (timestamp, version) in [(-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)] {
            assert_eq!(ask(&state, timestamp, version).error_code, ErrorCode::UNSUPPORTED_VERSION, "{timestamp}");
        }
        for (timestamp, offset) in [(-4, 0), (-5, -1), (-6, -1)] {
            let found = ask(&state, timestamp, 11);
            assert_eq!((found.error_code, found.offset), (ErrorCode::NONE, offset), "{timestamp}");
        }
    }

    #[test]
    fn version_0_lists_offsets() {
        let state = filled();
        let list = |timestamp, max_num_offsets| {
            let partition = ListOffsetsPartition { timestamp, max_num_offsets, ..Default::default() };
            ask_partition(&state, partition, 0).old_style_offsets
        };
        assert_eq!(list(LATEST, 1), [5]);
        assert_eq!(list(LATEST, 9), [5, 0]);
        assert_eq!(list(EARLIEST, 9), [0]);
        assert_eq!(list(i64::MAX, 9), [5, 0]);
        assert_eq!(list(0, 9), [0i64; 0]);
        assert_eq!(list(LATEST, -1), [0i64; 0]);
    }

    #[test]
    fn unknown_partitions_and_epochs_are_errors() {
        let state = filled();
        let code = |partition| ask_partition(&state, partition, 5).error_code;
        let base = || ListOffsetsPartition { timestamp: LATEST, ..Default::default() };
        assert_eq!(code(ListOffsetsPartition { partition_index: 1, ..base() }), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(code(ListOffsetsPartition { current_leader_epoch: 1, ..base() }), ErrorCode::UNKNOWN_LEADER_EPOCH);
    }

    #[test]
    fn a_partition_that_is_listed_twice_is_one_error() {
        // As Kafka 4.4 responds to version 5.
        let state = filled();
        let ask = |lists: &[(&str, &[i32])]| {
            let partition = |partition_index: &i32| ListOffsetsPartition {
                partition_index: *partition_index,
                timestamp: LATEST,
                ..Default::default()
            };
            let topic = |(name, partitions): &(&str, &[i32])| ListOffsetsTopic {
                name: (*name).into(),
                partitions: partitions.iter().map(partition).collect(),
                ..Default::default()
            };
            let request = ListOffsetsRequest { topics: lists.iter().map(topic).collect(), ..Default::default() };
            let response = handle(&state.at(5), request, &mut Cost::full(0));
            let all = response.topics.iter().flat_map(|topic| topic.partitions.iter().map(|one| (&*topic.name, one)));
            all.map(|(name, one)| (name.to_owned(), one.partition_index, one.error_code)).collect::<Vec<_>>()
        };
        let invalid = ErrorCode::INVALID_REQUEST;
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        assert_eq!(ask(&[("a", &[0, 0]), ("b", &[1])]), [("a".into(), 0, invalid), ("b".into(), 1, unknown)]);
        assert_eq!(ask(&[("a", &[0]), ("b", &[0]), ("a", &[0])]), [("a".into(), 0, invalid), ("b".into(), 0, unknown)]);
        assert_eq!(ask(&[("a", &[0; 60_000])]).len(), 1);
        assert_eq!(ask(&[("a", &[0])]), [("a".into(), 0, ErrorCode::NONE)]);
    }
}
