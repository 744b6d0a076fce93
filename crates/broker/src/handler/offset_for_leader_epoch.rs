use milena_messages::offset_for_leader_epoch::request::OffsetForLeaderPartition;
use milena_messages::offset_for_leader_epoch::response::{EpochEndOffset, OffsetForLeaderTopicResult};
use milena_messages::{ErrorCode, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::fetch::check_epoch;
use crate::log::LEADER_EPOCH;
use crate::state::{State, Topic, TopicRef};

pub(super) fn handle(state: &State, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse {
    let mut topics = Vec::new();
    for wanted in request.topics {
        let topic = state.topic(TopicRef::Name(&wanted.topic));
        let partitions = wanted.partitions.iter().map(|partition| end_of_epoch(topic.as_deref(), partition)).collect();
        topics.push(OffsetForLeaderTopicResult { topic: wanted.topic, partitions, ..Default::default() });
    }
    OffsetForLeaderEpochResponse { topics, ..Default::default() }
}

fn end_of_epoch(topic: Option<&Topic>, wanted: &OffsetForLeaderPartition) -> EpochEndOffset {
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
    if let Err(code) = check_epoch(wanted.current_leader_epoch) {
        return respond(code, -1, -1);
    }
    // All there ever was is epoch 0; of later ones nothing is known.
    match wanted.leader_epoch {
        LEADER_EPOCH => respond(ErrorCode::NONE, LEADER_EPOCH, partition.with_log(|log| log.end_offset())),
        _ => respond(ErrorCode::NONE, -1, -1),
    }
}

#[cfg(test)]
mod tests {
    use milena_messages::offset_for_leader_epoch::request::OffsetForLeaderTopic;

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
            let end = handle(&state, request).topics.remove(0).partitions.remove(0);
            (end.error_code, end.leader_epoch, end.end_offset)
        };
        assert_eq!(ask(0, -1, 0), (ErrorCode::NONE, 0, 2));
        assert_eq!(ask(0, 0, 1), (ErrorCode::NONE, -1, -1));
        assert_eq!(ask(0, 1, 0), (ErrorCode::UNKNOWN_LEADER_EPOCH, -1, -1));
        assert_eq!(ask(1, 0, 0), (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1, -1));
    }
}
