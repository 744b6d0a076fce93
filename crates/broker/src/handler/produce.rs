use milena_messages::produce::request::PartitionProduceData;
use milena_messages::produce::response::{BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{ErrorCode, ProduceRequest, ProduceResponse};

use super::Outcome;
use crate::incoming::{self, Rejected};
use crate::producer_state::Appended;
use crate::refusal::Refusal;
use crate::state::{State, Topic, TopicRef};

pub(super) fn handle(state: &State, request: ProduceRequest, version: i16) -> Outcome<ProduceResponse> {
    let acks = request.acks;
    let mut responses = Vec::new();
    for data in request.topic_data {
        let wanted = if version >= 13 { TopicRef::Id(data.topic_id) } else { TopicRef::Name(&data.name) };
        let topic = state.topic(wanted);
        let partition = |partition: PartitionProduceData| {
            let index = partition.index;
            let result = if matches!(acks, -1..=1) {
                append(state, topic.as_deref(), wanted, partition, version)
            } else {
                let message = format!("acks is {acks}, it has to be -1, 0 or 1");
                Err(Refusal::new(ErrorCode::INVALID_REQUIRED_ACKS, message).into())
            };
            answer(index, result)
        };
        let partition_responses = data.partition_data.into_iter().map(partition).collect();
        responses.push(TopicProduceResponse {
            name: data.name.clone(),
            topic_id: data.topic_id,
            partition_responses,
            ..Default::default()
        });
    }
    if acks == 0 {
        return unanswered(&responses);
    }
    ProduceResponse { responses, ..Default::default() }.into()
}

/// Who wants no answer learns of an error by losing the connection, as in Kafka.
fn unanswered(responses: &[TopicProduceResponse]) -> Outcome<ProduceResponse> {
    let failed = responses.iter().flat_map(|topic| &topic.partition_responses).find(|one| !one.error_code.is_none());
    match failed {
        Some(failed) => {
            let message = failed.error_message.as_deref().unwrap_or_default();
            Outcome::Close(format!("Produce with acks 0 failed with {}: {message}", failed.error_code))
        }
        None => Outcome::Nothing,
    }
}

fn append(
    state: &State,
    topic: Option<&Topic>,
    wanted: TopicRef<'_>,
    data: PartitionProduceData,
    version: i16,
) -> Result<(Appended, i64), Rejected> {
    let topic = topic.ok_or_else(|| Refusal::new(wanted.unknown(), "This server does not host this topic."))?;
    let partition = topic.partition(data.index).ok_or_else(|| {
        let message = format!("Topic {} has no partition {}", topic.name, data.index);
        Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message)
    })?;
    let now_ms = state.now_ms();
    let mut first = None;
    for batch in incoming::check(data.records, version, &topic.config, now_ms)? {
        let appended = partition.append(batch, now_ms)?;
        first.get_or_insert(appended);
    }
    let nothing = Appended { base_offset: -1, log_append_time_ms: -1 };
    Ok((first.unwrap_or(nothing), partition.with_log(|log| log.start_offset())))
}

fn answer(index: i32, result: Result<(Appended, i64), Rejected>) -> PartitionProduceResponse {
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
                error_code: rejected.refusal.code,
                base_offset: -1,
                record_errors: rejected.records.into_iter().map(record).collect(),
                error_message: rejected.refusal.text(),
                ..Default::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use milena_messages::Uuid;
    use milena_messages::produce::request::TopicProduceData;
    use milena_records::{BatchBuilder, Codec, Record, encode};

    use super::*;
    use crate::handler::tests::{create, state};

    fn request(records: Bytes, acks: i16) -> ProduceRequest {
        let partition = PartitionProduceData { index: 0, records: Some(records), ..Default::default() };
        let topic = TopicProduceData { name: "a".into(), partition_data: vec![partition], ..Default::default() };
        ProduceRequest { acks, topic_data: vec![topic], ..Default::default() }
    }

    fn batch() -> Bytes {
        encode(&[Record::from_value("x"), Record::from_value("y")], Codec::None).unwrap()
    }

    fn only(outcome: Outcome<ProduceResponse>) -> PartitionProduceResponse {
        let Outcome::Answer(mut response) = outcome else { panic!("an answer was expected: {outcome:?}") };
        response.responses.remove(0).partition_responses.remove(0)
    }

    #[test]
    fn offsets_are_given_out_one_behind_the_other() {
        let state = state();
        create(&state, "a", 1);
        let offsets: Vec<_> = (0..3).map(|_| only(handle(&state, request(batch(), -1), 9)).base_offset).collect();
        assert_eq!(offsets, [0, 2, 4]);
    }

    #[test]
    fn acks_0_has_no_answer_and_its_errors_close() {
        let state = state();
        create(&state, "a", 1);
        assert_eq!(handle(&state, request(batch(), 0), 3), Outcome::Nothing);
        assert!(matches!(handle(&state, request(Bytes::new(), 0), 3), Outcome::Close(_)));
        assert_eq!(only(handle(&state, request(batch(), 2), 3)).error_code, ErrorCode::INVALID_REQUIRED_ACKS);
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
            let answer = only(handle(&state, request(builder.build().unwrap(), -1), 8));
            (answer.error_code, answer.base_offset)
        };
        assert_eq!(send(0, 0), (ErrorCode::NONE, 0));
        assert_eq!(send(0, 1), (ErrorCode::NONE, 1));
        assert_eq!(send(0, 0), (ErrorCode::NONE, 0));
        assert_eq!(send(0, 3), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
        assert_eq!(send(1, 0), (ErrorCode::NONE, 2));
        assert_eq!(send(0, 2), (ErrorCode::INVALID_PRODUCER_EPOCH, -1));
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
}
