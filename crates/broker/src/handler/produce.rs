use std::collections::BTreeSet;

use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::produce::response::{
    BatchIndexAndErrorMessage, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use milena_messages::{ByteString, ErrorCode, ProduceRequest, ProduceResponse, Uuid};

use super::authorize::unauthorized;
use super::context::node_endpoint;
use super::each_once::{Listed, each_once};
use super::{Context, Outcome};
use crate::cluster::throttle::QuotaKind;
use crate::cluster::{Topic, TopicRef};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::release::Release;
use crate::security::acl::{Operation, Resource};
use crate::storage::incoming::{self, Head, IncomingBatch, Rejected};
use crate::storage::partition::{Inner, Partition};
use crate::storage::producer_state::Appended;
use crate::transaction::{self, Producer};

impl Listed for TopicProduceData {
    type Partition = PartitionProduceData;

    fn topic(&self) -> (ByteString, Uuid) {
        (self.name.clone(), self.topic_id)
    }

    fn partitions(&mut self) -> &mut Vec<PartitionProduceData> {
        &mut self.partition_data
    }

    fn index(partition: &PartitionProduceData) -> i32 {
        partition.index
    }
}

/// Where a batch has the version of its format, and the lower byte of its attributes.
const MAGIC_AT: usize = 16;
const FLAGS_AT: usize = 22;
/// The attribute of a batch that belongs to a transaction.
const TRANSACTIONAL: u8 = 0x10;

/// The batches of one partition, checked and not appended yet.
type Checked = Result<Vec<IncomingBatch>, Rejected>;

pub(super) fn handle(context: &Context, request: ProduceRequest, cost: &mut Cost) -> Outcome<ProduceResponse> {
    let (state, version) = (&*context.state, context.version);
    let (acks, transactional_id) = (request.acks, request.transactional_id);
    let may = |id: &str| context.may(Operation::Write, Resource::transactional_id(id));
    let is_transactional_refused =
        is_transactional(&request.topic_data) && !transactional_id.as_deref().is_some_and(may);
    let now_ms = state.now_ms();
    let request_of = Of { acks, transactional_id: transactional_id.as_deref(), now_ms };
    let topics: Vec<_> = each_once(request.topic_data)
        .into_iter()
        .map(|mut data| {
            let wanted = if version >= 13 { TopicRef::Id(data.topic_id) } else { TopicRef::Name(&data.name) };
            let topic = match is_transactional_refused {
                true => Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
                false => context.topic(Operation::Write, wanted),
            };
            let mut check = |partition: PartitionProduceData| {
                let index = partition.index;
                let known = match &topic {
                    Err(code) => Err(no_topic(*code)),
                    Ok(topic) if topic.partition(index).is_none() => Err(no_partition(index)),
                    Ok(topic) => Ok(topic),
                };
                let head = Head::of(partition.records.as_ref());
                let checked = known
                    .map_err(|refusal| Rejected { early: true, ..refusal.into() })
                    .and_then(|topic| incoming::check(partition.records, version, &topic.config(), now_ms, cost));
                (index, head, checked)
            };
            let partitions: Vec<(i32, Option<Head>, Checked)> =
                std::mem::take(&mut data.partition_data).into_iter().map(&mut check).collect();
            (data, topic, partitions)
        })
        .collect();
    if cost.needs_full() {
        return Outcome::Nothing;
    }
    state.make_room(context.frame_size as u64);
    let responses: Vec<_> = topics
        .into_iter()
        .map(|(data, topic, partitions)| {
            let partition = |(index, head, checked): (i32, Option<Head>, Checked)| {
                let checked = match (checked, topic.as_deref()) {
                    (Err(rejected), _) if rejected.early => Err(rejected),
                    (_, Err(code)) => Err(no_topic(*code).into()),
                    (checked, Ok(topic)) => append(context, &request_of, topic, index, head, checked),
                };
                let mut response = respond(&state.release, index, checked);
                if version >= LEADER_HINTS && response.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER {
                    if let Some(partition) = topic.as_deref().ok().and_then(|topic| topic.partition(index)) {
                        let leadership = partition.leadership();
                        response.current_leader.leader_id = leadership.leader;
                        response.current_leader.leader_epoch = leadership.epoch;
                    }
                }
                response
            };
            TopicProduceResponse {
                name: data.name,
                topic_id: data.topic_id,
                partition_responses: partitions.into_iter().map(partition).collect(),
                ..Default::default()
            }
        })
        .collect();
    let throttle_time_ms = throttle(context);
    if acks == 0 {
        return without_response(&responses);
    }
    let node_endpoints = leaders(context, &responses);
    ProduceResponse { responses, throttle_time_ms, node_endpoints, ..Default::default() }.into()
}

/// Counts the request, and holds the client back when it sends too much.
fn throttle(context: &Context) -> i32 {
    let quota = context.quota(QuotaKind::Produce);
    let take = |quota| context.node.throttle.take(&quota, context.frame_size as f64, context.state.now_ms());
    let throttle_time_ms = quota.map_or(0, take);
    context.mute(throttle_time_ms);
    throttle_time_ms
}

/// Where the nodes are that lead partitions of which the client did not know it.
fn leaders(context: &Context, responses: &[TopicProduceResponse]) -> Vec<NodeEndpoint> {
    let partitions = responses.iter().flat_map(|topic| &topic.partition_responses);
    let ids: BTreeSet<i32> = partitions.map(|one| one.current_leader.leader_id).filter(|id| *id >= 0).collect();
    let alive = ids.into_iter().filter_map(|id| context.state.node(id)).filter(|node| node.is_alive());
    alive.map(|node| node_endpoint!(context, node)).collect()
}

/// What a request says about all of its partitions.
struct Of<'a> {
    acks: i16,
    transactional_id: Option<&'a str>,
    now_ms: i64,
}

/// A client that wants no response learns of an error by losing the connection, as in Kafka.
fn without_response(responses: &[TopicProduceResponse]) -> Outcome<ProduceResponse> {
    let failed = responses.iter().flat_map(|topic| &topic.partition_responses).find(|one| !one.error_code.is_none());
    match failed {
        Some(failed) => {
            let message = failed.error_message.as_deref().unwrap_or_default();
            Outcome::Close(format!("Produce with acks 0 failed with {}: {message}", failed.error_code))
        }
        None => Outcome::Nothing,
    }
}

/// Whether a request writes to a transaction: the first batch of a partition says so.
fn is_transactional(topics: &[TopicProduceData]) -> bool {
    let flag = |partition: &PartitionProduceData| {
        let records = partition.records.as_deref().unwrap_or_default();
        records.get(MAGIC_AT) == Some(&2) && records.get(FLAGS_AT).is_some_and(|flags| flags & TRANSACTIONAL != 0)
    };
    topics.iter().flat_map(|topic| &topic.partition_data).any(flag)
}

fn no_topic(code: ErrorCode) -> Refusal {
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID => {
            Refusal::new(code, "This server does not host this topic.")
        }
        _ => unauthorized(code),
    }
}

fn no_partition(index: i32) -> Refusal {
    Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("The topic has no partition {index}"))
}

/// From here on errors say who leads (KIP-951).
const LEADER_HINTS: i16 = 10;
/// From here on a partition joins the transaction with the first batch (KIP-890).
const IMPLICIT: i16 = 12;

/// Before that a partition outside of the transaction is INVALID_TXN_STATE (KIP-890).
const ABORTABLE: i16 = 11;

/// Checks that a transactional batch belongs to an open transaction.
fn admit(context: &Context, id: &str, topic: &Topic, index: i32, head: Head) -> Result<(), Refusal> {
    let partition = topic.partition(index).ok_or_else(|| no_partition(index))?;
    let is_open = |partition: &mut Inner| {
        let open = partition.transactions.open_since(head.producer_id).is_some()
            && partition.producers.epoch(head.producer_id) == Some(head.epoch);
        if !open {
            partition.producers.verifies(head.producer_id, head.epoch, head.sequence);
        }
        open
    };
    if partition.with(is_open) {
        return Ok(());
    }
    let producer = Producer { id: head.producer_id, epoch: head.epoch };
    let admitted = transaction::admit(&context.state, id, producer, (&topic.name, index), context.version >= IMPLICIT);
    admitted.map_err(|code| match code {
        ErrorCode::TRANSACTION_ABORTABLE if context.version < ABORTABLE => {
            Refusal::new(ErrorCode::INVALID_TXN_STATE, "Partition was not added to the transaction")
        }
        code => Refusal::new(code, "The partition is not part of an open transaction of the producer."),
    })
}

/// Looks at the transaction, then at acks, then at the batch itself, as Kafka does.
fn append(
    context: &Context,
    request: &Of<'_>,
    topic: &Topic,
    index: i32,
    head: Option<Head>,
    checked: Checked,
) -> Result<(Appended, i64), Rejected> {
    let transactional = head.filter(|head| head.is_transactional && head.producer_id >= 0);
    if let (Some(id), Some(head)) = (request.transactional_id, transactional) {
        admit(context, id, topic, index, head)?;
    }
    let (node, acks) = (context.node.id, request.acks);
    if !matches!(acks, -1..=1) {
        let message = format!("acks is {acks}, it has to be -1, 0 or 1");
        return Err(Refusal::new(ErrorCode::INVALID_REQUIRED_ACKS, message).into());
    }
    let partition = topic.partition(index).ok_or_else(|| no_partition(index))?;
    let log_start_offset = partition.with_log(|log| log.start_offset());
    let appended = checked.and_then(|batches| append_all(node, topic, &partition, batches, request));
    appended.map_err(|rejected| match rejected.refusal.code {
        // Kafka has not come to the log then, or says nothing about it.
        ErrorCode::NOT_LEADER_OR_FOLLOWER
        | ErrorCode::MESSAGE_TOO_LARGE
        | ErrorCode::RECORD_LIST_TOO_LARGE
        | ErrorCode::CORRUPT_MESSAGE
        | ErrorCode::KAFKA_STORAGE_ERROR => rejected,
        _ => Rejected { log_start_offset, ..rejected },
    })
}

fn append_all(
    node: i32,
    topic: &Topic,
    partition: &Partition,
    batches: Vec<IncomingBatch>,
    request: &Of<'_>,
) -> Result<(Appended, i64), Rejected> {
    let acks = request.acks;
    let (leadership, needed) = (partition.leadership(), topic.config().min_in_sync);
    if acks == -1 && leadership.leader == node && leadership.in_sync.len() < needed {
        let message = format!("{} replicas are in sync, min.insync.replicas is {needed}", leadership.in_sync.len());
        return Err(Refusal::new(ErrorCode::NOT_ENOUGH_REPLICAS, message).into());
    }
    let mut first = None;
    for batch in batches {
        let appended = partition.append(node, batch, request.now_ms)?;
        first.get_or_insert(appended);
    }
    let nothing = Appended { base_offset: -1, log_append_time_ms: -1 };
    Ok((first.unwrap_or(nothing), partition.with_log(|log| log.start_offset())))
}

fn respond(release: &Release, index: i32, result: Result<(Appended, i64), Rejected>) -> PartitionProduceResponse {
    match result {
        Ok((appended, log_start_offset)) => PartitionProduceResponse {
            index,
            base_offset: appended.base_offset,
            log_append_time_ms: appended.log_append_time_ms,
            log_start_offset,
            ..Default::default()
        },
        Err(rejected) => {
            let record = |(batch_index, message): (i32, String)| BatchIndexAndErrorMessage {
                batch_index,
                batch_index_error_message: Some(message.into()),
                ..Default::default()
            };
            PartitionProduceResponse {
                index,
                error_code: release.code(rejected.refusal.code),
                base_offset: -1,
                log_start_offset: rejected.log_start_offset,
                // Kafka says why only where single records are at fault, or the transaction.
                error_message: rejected
                    .refusal
                    .text()
                    .filter(|_| !rejected.records.is_empty() || rejected.refusal.code == ErrorCode::INVALID_TXN_STATE),
                record_errors: rejected.records.into_iter().map(record).collect(),
                ..Default::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use milena_records::{BatchBuilder, Codec, Record, encode};

    use super::*;
    use crate::handler::tests::{Fixture, create, state};

    fn handle(state: &Fixture, request: ProduceRequest, version: i16) -> Outcome<ProduceResponse> {
        super::handle(&state.at(version), request, &mut Cost::full(0))
    }

    fn request(records: Bytes, acks: i16) -> ProduceRequest {
        let partition = PartitionProduceData { index: 0, records: Some(records), ..Default::default() };
        let topic = TopicProduceData { name: "a".into(), partition_data: vec![partition], ..Default::default() };
        ProduceRequest { acks, topic_data: vec![topic], ..Default::default() }
    }

    fn batch() -> Bytes {
        encode(&[Record::from_value("x"), Record::from_value("y")], Codec::None).unwrap()
    }

    fn only(outcome: Outcome<ProduceResponse>) -> PartitionProduceResponse {
        let Outcome::Response(mut response) = outcome else { panic!("a response was expected") };
        response.responses.remove(0).partition_responses.remove(0)
    }

    #[test]
    fn a_release_before_2_4_calls_a_record_without_a_key_corrupt() {
        for (version, code) in [("2.3", ErrorCode::CORRUPT_MESSAGE), ("2.4", ErrorCode::INVALID_RECORD)] {
            let config = crate::config::BrokerConfig { kafka_version: Some(version.to_owned()), ..Default::default() };
            let state = Fixture::new(config, 1);
            let settings = state.topic_config([("cleanup.policy", Some("compact"))]).unwrap();
            state.create_topic("a", vec![vec![1]], settings, false).unwrap();
            assert_eq!(only(handle(&state, request(batch(), 1), 3)).error_code, code, "{version}");
        }
    }

    #[test]
    fn offsets_are_given_out_one_after_the_other() {
        let state = state();
        create(&state, "a", 1);
        let offsets: Vec<_> = (0..3).map(|_| only(handle(&state, request(batch(), -1), 9)).base_offset).collect();
        assert_eq!(offsets, [0, 2, 4]);
    }

    #[test]
    fn acks_0_has_no_response_and_its_errors_close() {
        let state = state();
        create(&state, "a", 1);
        assert!(matches!(handle(&state, request(batch(), 0), 3), Outcome::Nothing));
        assert!(matches!(handle(&state, request(Bytes::new(), 0), 3), Outcome::Close(_)));
        let refused = only(handle(&state, request(batch(), 2), 9));
        assert_eq!((refused.error_code, refused.error_message), (ErrorCode::INVALID_REQUIRED_ACKS, None));
        assert_eq!(only(handle(&state, request(batch(), 1), 3)).base_offset, 2);
    }

    #[test]
    fn topics_go_by_id_from_version_13_on() {
        let state = state();
        let id = create(&state, "a", 1).id;
        let mut by_id = request(batch(), 1);
        by_id.topic_data[0].topic_id = id;
        assert_eq!(only(handle(&state, by_id.clone(), 13)).error_code, ErrorCode::NONE);
        by_id.topic_data[0].topic_id = Uuid::from_bytes([1; 16]);
        assert_eq!(only(handle(&state, by_id.clone(), 13)).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
        by_id.topic_data[0].name = "b".into();
        assert_eq!(only(handle(&state, by_id, 12)).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }

    #[test]
    fn an_idempotent_producer_appends_each_batch_once() {
        let state = state();
        create(&state, "a", 1);
        let send = |epoch, sequence| {
            let mut builder = BatchBuilder::new().producer(5, epoch, sequence);
            builder.push(&Record::from_value("x")).unwrap();
            let response = only(handle(&state, request(builder.build().unwrap(), -1), 8));
            (response.error_code, response.base_offset)
        };
        assert_eq!(send(0, 0), (ErrorCode::NONE, 0));
        assert_eq!(send(0, 1), (ErrorCode::NONE, 1));
        assert_eq!(send(0, 0), (ErrorCode::NONE, 0));
        assert_eq!(send(0, 3), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
        assert_eq!(send(1, 0), (ErrorCode::NONE, 2));
        assert_eq!(send(0, 2), (ErrorCode::INVALID_PRODUCER_EPOCH, -1));
    }

    /// As Kafka 4.4: it is written, and no part of a transaction.
    #[test]
    fn a_transactional_batch_without_a_producer_is_written() {
        let state = state();
        let topic = create(&state, "a", 1);
        let mut builder = BatchBuilder::new().transactional(true);
        builder.push(&Record::from_value("x")).unwrap();
        let mut request = request(builder.build().unwrap(), -1);
        request.transactional_id = Some("t".into());
        assert_eq!(only(handle(&state, request, 13)).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
        let mut builder = BatchBuilder::new().transactional(true);
        builder.push(&Record::from_value("x")).unwrap();
        let request =
            ProduceRequest { transactional_id: Some("t".into()), ..self::request(builder.build().unwrap(), 1) };
        assert_eq!(only(handle(&state, request, 12)).error_code, ErrorCode::NONE);
        topic.partition(0).unwrap().with(|partition| {
            assert_eq!((partition.last_stable_offset(), partition.producers.all().count()), (1, 0));
        });
    }

    /// The order and values of Kafka 4.4.
    #[test]
    fn the_transaction_is_looked_at_before_acks_and_acks_before_the_batch() {
        let state = state();
        create(&state, "a", 1);
        let ask = |sequence, acks, damaged: bool, version| {
            let mut builder = BatchBuilder::new().producer(5, 0, sequence).transactional(true);
            builder.push(&Record::from_value("x")).unwrap();
            let mut bytes = builder.build().unwrap().to_vec();
            if damaged {
                *bytes.last_mut().unwrap() ^= 1;
            }
            let mut request = request(bytes.into(), acks);
            request.transactional_id = Some("t".into());
            only(handle(&state, request, version)).error_code
        };
        assert_eq!(ask(0, 2, true, 11), ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        let mut damaged = batch().to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        let damaged = Bytes::from(damaged);
        assert_eq!(only(handle(&state, request(damaged.clone(), 2), 9)).error_code, ErrorCode::INVALID_REQUIRED_ACKS);
        let corrupt = only(handle(&state, request(damaged, 1), 9));
        assert_eq!((corrupt.error_code, corrupt.log_start_offset), (ErrorCode::CORRUPT_MESSAGE, -1));
        // A sequence that does not fit is found in the log.
        let send = |sequence| {
            let mut builder = BatchBuilder::new().producer(9, 0, sequence);
            builder.push(&Record::from_value("x")).unwrap();
            only(handle(&state, request(builder.build().unwrap(), 1), 9))
        };
        assert_eq!(send(0).error_code, ErrorCode::NONE);
        let gap = send(4);
        assert_eq!((gap.error_code, gap.log_start_offset), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, 0));
        assert_eq!(gap.error_message, None);
    }

    #[test]
    fn message_sets_of_old_producers_become_batches() {
        let state = state();
        create(&state, "a", 1);
        // A message of magic 0 with value "x", as in Kafka's guide: crc, magic, attributes, null key, value.
        let mut message = b"\0\0\0\0\0\0\0\0\0\0\0\x0f\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\x01x".to_vec();
        let crc = crc32fast::hash(&message[16..]);
        message[12..16].copy_from_slice(&crc.to_be_bytes());
        let two = [&message[..], &message[..]].concat();
        assert_eq!(only(handle(&state, request(two.into(), 1), 0)).base_offset, 0);
        assert_eq!(only(handle(&state, request(message.clone().into(), 1), 2)).base_offset, 2);
        assert_eq!(only(handle(&state, request(message.clone().into(), 1), 3)).error_code, ErrorCode::INVALID_RECORD);
        message[26] ^= 1;
        assert_eq!(only(handle(&state, request(message.into(), 1), 1)).error_code, ErrorCode::CORRUPT_MESSAGE);
    }

    #[test]
    fn a_partition_that_is_listed_twice_is_appended_once() {
        // As Kafka 4.4 does: the last entry counts.
        let state = state();
        create(&state, "a", 1);
        let one = encode(&[Record::from_value("x")], Codec::None).unwrap();
        let mut request = request(one, -1);
        let last = PartitionProduceData { records: Some(batch()), ..Default::default() };
        request.topic_data[0].partition_data.push(last);
        let Outcome::Response(response) = handle(&state, request, 9) else { panic!("a response was expected") };
        assert_eq!(response.responses[0].partition_responses.len(), 1);
        let topic = state.topic(TopicRef::Name("a")).unwrap();
        assert_eq!(topic.partition(0).unwrap().with_log(|log| log.end_offset()), 2);
    }

    #[test]
    fn a_costly_request_changes_nothing_before_it_has_a_full_budget() {
        let state = state();
        create(&state, "a", 2);
        let mut request = request(batch(), -1);
        let bomb = encode(&[Record::from_value(vec![0; 2 << 20])], Codec::Gzip).unwrap();
        let last = PartitionProduceData { index: 1, records: Some(bomb), ..Default::default() };
        request.topic_data[0].partition_data.push(last);
        let ends = || {
            let topic = state.topic(TopicRef::Name("a")).unwrap();
            [0, 1].map(|index| topic.partition(index).unwrap().with_log(|log| log.end_offset()))
        };
        let mut cost = Cost::quick();
        super::handle(&state.at(9), request.clone(), &mut cost);
        assert!(cost.needs_full());
        assert_eq!(ends(), [0, 0]);
        handle(&state, request, 9);
        assert_eq!(ends(), [2, 1]);
    }
}
