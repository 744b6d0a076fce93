use milena_messages::offset_for_leader_epoch::request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use milena_messages::offset_for_leader_epoch::response::{EpochEndOffset, OffsetForLeaderTopicResult};
use milena_messages::{ErrorCode, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::Context;
use crate::cluster::{Topic, TopicRef};
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(
    context: &Context,
    request: OffsetForLeaderEpochRequest,
    _cost: &mut Cost,
) -> OffsetForLeaderEpochResponse {
    let mut topics = Vec::new();
    // Replicas need no permission for each topic.
    let is_replica = context.may(Operation::ClusterAction, Resource::CLUSTER);
    // As in Kafka, what is refused comes last.
    let may =
        |topic: &OffsetForLeaderTopic| is_replica || context.may(Operation::Describe, Resource::topic(&topic.topic));
    let (seen, unseen): (Vec<_>, Vec<_>) = request.topics.into_iter().partition(may);
    for wanted in seen {
        let topic = context.state.topic(TopicRef::Name(&wanted.topic));
        let end = |partition| end_of_epoch(context, topic.as_deref(), partition);
        let partitions = wanted.partitions.iter().map(end).collect();
        topics.push(OffsetForLeaderTopicResult { topic: wanted.topic, partitions, ..Default::default() });
    }
    for wanted in unseen {
        let refused = |wanted: &OffsetForLeaderPartition| EpochEndOffset {
            error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            partition: wanted.partition,
            ..Default::default()
        };
        let partitions = wanted.partitions.iter().map(refused).collect();
        topics.push(OffsetForLeaderTopicResult { topic: wanted.topic, partitions, ..Default::default() });
    }
    OffsetForLeaderEpochResponse { topics, ..Default::default() }
}

fn end_of_epoch(context: &Context, topic: Option<&Topic>, wanted: &OffsetForLeaderPartition) -> EpochEndOffset {
    let respond = |error_code, leader_epoch, end_offset| EpochEndOffset {
        error_code,
        partition: wanted.partition,
        leader_epoch,
        end_offset,
        ..Default::default()
    };
    let Some(partition) = topic.and_then(|topic| topic.partition(wanted.partition)) else {
        return respond(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1, -1);
    };
    let end = partition.with(|partition| {
        partition.leadership.check_epoch(wanted.current_leader_epoch)?;
        partition.leadership.check_leader(context.node.id)?;
        Ok(partition.end_of_epoch(wanted.leader_epoch).unwrap_or((-1, -1)))
    });
    match end {
        Ok((epoch, end_offset)) => respond(ErrorCode::NONE, epoch, end_offset),
        Err(code) => respond(code, -1, -1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{append, create, state};

    #[test]
    fn the_first_epoch_ends_with_the_log() {
        let state = state();
        create(&state, "a", 1);
        append(&state, "a", &["x", "y"]);
        let ask = |partition, current_leader_epoch, leader_epoch| {
            let partition =
                OffsetForLeaderPartition { partition, current_leader_epoch, leader_epoch, ..Default::default() };
            let topic = OffsetForLeaderTopic { topic: "a".into(), partitions: vec![partition], ..Default::default() };
            let request = OffsetForLeaderEpochRequest { topics: vec![topic], ..Default::default() };
            let end = handle(&state.at(4), request, &mut Cost::quick()).topics.remove(0).partitions.remove(0);
            (end.error_code, end.leader_epoch, end.end_offset)
        };
        assert_eq!(ask(0, -1, 0), (ErrorCode::NONE, 0, 2));
        assert_eq!(ask(0, 0, 1), (ErrorCode::NONE, -1, -1));
        assert_eq!(ask(0, 1, 0), (ErrorCode::UNKNOWN_LEADER_EPOCH, -1, -1));
        assert_eq!(ask(1, 0, 0), (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1, -1));
    }
}
