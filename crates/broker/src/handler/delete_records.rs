use milena_messages::delete_records::request::{DeleteRecordsPartition, DeleteRecordsTopic};
use milena_messages::delete_records::response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use milena_messages::{ByteString, DeleteRecordsRequest, DeleteRecordsResponse, ErrorCode, Uuid};

use super::Context;
use super::each_once::{Listed, each_once};
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::Operation;

impl Listed for DeleteRecordsTopic {
    type Partition = DeleteRecordsPartition;

    fn topic(&self) -> (ByteString, Uuid) {
        (self.name.clone(), Uuid::ZERO)
    }

    fn partitions(&mut self) -> &mut Vec<DeleteRecordsPartition> {
        &mut self.partitions
    }

    fn index(partition: &DeleteRecordsPartition) -> i32 {
        partition.partition_index
    }
}

/// The offset that means the end of the log.
const TO_THE_END: i64 = -1;

pub(super) fn handle(context: &Context, request: DeleteRecordsRequest, _cost: &mut Cost) -> DeleteRecordsResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for wanted in each_once(request.topics) {
        let mut partitions = Vec::with_capacity(wanted.partitions.len());
        for partition in &wanted.partitions {
            let index = partition.partition_index;
            let deleted = delete(context, &wanted.name, index, partition.offset);
            partitions.push(DeleteRecordsPartitionResult {
                partition_index: index,
                low_watermark: deleted.unwrap_or(-1),
                error_code: deleted.err().unwrap_or(ErrorCode::NONE),
                ..Default::default()
            });
        }
        topics.push(DeleteRecordsTopicResult { name: wanted.name, partitions, ..Default::default() });
    }
    DeleteRecordsResponse { topics, ..Default::default() }
}

fn delete(context: &Context, topic: &str, index: i32, offset: i64) -> Result<i64, ErrorCode> {
    let topic = context.topic(Operation::Delete, TopicRef::Name(topic))?;
    let partition = topic.partition(index).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if topic.is_internal() {
        return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
    }
    if topic.config().compacted && !topic.config().deletes {
        return Err(ErrorCode::POLICY_VIOLATION);
    }
    let (end, start) = partition.with(|partition| {
        partition.leadership.check_leader(context.node.id)?;
        Ok((partition.log.high_watermark(), partition.log.start_offset()))
    })?;
    let offset = if offset == TO_THE_END { end } else { offset };
    if offset < 0 || offset > end {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    Ok(if offset <= start { start } else { partition.delete_before(offset) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{append, create, state};

    #[test]
    fn records_before_the_offset_are_gone() {
        let state = state();
        let topic = create(&state, "a", 1);
        append(&state, "a", &["x", "y"]);
        append(&state, "a", &["z"]);
        let ask = |partition_index, offset| {
            let partition = DeleteRecordsPartition { partition_index, offset, ..Default::default() };
            let topic = DeleteRecordsTopic { name: "a".into(), partitions: vec![partition], ..Default::default() };
            let request = DeleteRecordsRequest { topics: vec![topic], ..Default::default() };
            let response = super::handle(&state.at(2), request, &mut Cost::quick());
            let partition = &response.topics[0].partitions[0];
            (partition.error_code, partition.low_watermark)
        };
        assert_eq!(ask(0, 1), (ErrorCode::NONE, 1));
        assert_eq!(ask(0, 0), (ErrorCode::NONE, 1));
        assert_eq!(ask(0, 4), (ErrorCode::OFFSET_OUT_OF_RANGE, -1));
        assert_eq!(ask(0, -2), (ErrorCode::OFFSET_OUT_OF_RANGE, -1));
        assert_eq!(ask(1, 0), (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1));
        assert_eq!(ask(0, -1), (ErrorCode::NONE, 3));
        assert_eq!(topic.partition(0).unwrap().with_log(|log| (log.start_offset(), log.bytes_from(3))), (3, Ok(0)));
    }
}
