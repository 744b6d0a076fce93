use milena_messages::write_txn_markers::request::WritableTxnMarker;
use milena_messages::write_txn_markers::response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use milena_messages::{ErrorCode, WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::Operation;

/// Ends transactions as a coordinator does; operators abort hanging ones with it.
pub(super) fn handle(context: &Context, request: WriteTxnMarkersRequest, _cost: &mut Cost) -> WriteTxnMarkersResponse {
    let allowed = context
        .authorize_cluster(Operation::Alter)
        .or_else(|_| context.authorize_cluster(Operation::ClusterAction))
        .map_err(|refusal| refusal.code);
    let mut markers: Vec<WritableTxnMarkerResult> = Vec::new();
    for marker in request.markers.iter().filter(|marker| !marker.topics.is_empty()) {
        let topics = marker.topics.iter().map(|topic| {
            let partition = |index: &i32| WritableTxnMarkerPartitionResult {
                partition_index: *index,
                error_code: allowed
                    .and_then(|()| write(context, marker, &topic.name, *index))
                    .err()
                    .unwrap_or_default(),
                ..Default::default()
            };
            let partitions = topic.partition_indexes.iter().map(partition).collect();
            WritableTxnMarkerTopicResult { name: topic.name.clone(), partitions, ..Default::default() }
        });
        let topics: Vec<_> = topics.collect();
        // Kafka has one result for each producer.
        match markers.iter_mut().find(|known| known.producer_id == marker.producer_id) {
            Some(known) => topics.into_iter().for_each(|topic| merge(&mut known.topics, topic)),
            None => {
                markers.push(WritableTxnMarkerResult { producer_id: marker.producer_id, topics, ..Default::default() })
            }
        }
    }
    WriteTxnMarkersResponse { markers, ..Default::default() }
}

fn merge(topics: &mut Vec<WritableTxnMarkerTopicResult>, mut topic: WritableTxnMarkerTopicResult) {
    match topics.iter_mut().find(|known| known.name == topic.name) {
        Some(known) => known.partitions.append(&mut topic.partitions),
        None => topics.push(topic),
    }
}

fn write(context: &Context, marker: &WritableTxnMarker, topic: &str, index: i32) -> Result<(), ErrorCode> {
    let found = context.state.topic(TopicRef::Name(topic)).and_then(|topic| topic.partition(index));
    let partition = found.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let producer = (marker.producer_id, marker.producer_epoch);
    partition.with(|inner| inner.producers.check_marker(producer, marker.coordinator_epoch))?;
    let now_ms = context.state.now_ms();
    let ended = partition.end_transaction(
        context.node.id,
        producer,
        marker.coordinator_epoch,
        marker.transaction_result,
        now_ms,
    );
    ended.map(|_| ()).map_err(|refusal| refusal.code)
}

#[cfg(test)]
mod tests {
    use milena_messages::write_txn_markers::request::WritableTxnMarkerTopic;

    use super::*;
    use crate::handler::tests::{create, state};

    /// The codes are those of Kafka 4.4 for the same sequence.
    #[test]
    fn markers_of_older_producers_and_coordinators_are_refused() {
        let state = state();
        let log = create(&state, "t", 2).partition(0).unwrap();
        let write = |producer_id, producer_epoch, coordinator_epoch, partitions: &[i32]| {
            let topic = |name: &str| WritableTxnMarkerTopic {
                name: name.into(),
                partition_indexes: partitions.iter().copied().collect(),
                ..Default::default()
            };
            let topics = vec![topic("t"), topic("nope")];
            let marker =
                WritableTxnMarker { producer_id, producer_epoch, coordinator_epoch, topics, ..Default::default() };
            let request = WriteTxnMarkersRequest { markers: vec![marker], ..Default::default() };
            let response = handle(&state.at(1), request, &mut Cost::quick());
            let [known, unknown] = &response.markers[0].topics[..] else { panic!("two topics were expected") };
            assert!(unknown.partitions.iter().all(|one| one.error_code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
            known.partitions.iter().map(|one| one.error_code).collect::<Vec<_>>()
        };
        assert_eq!(write(77, 0, 0, &[0, 9]), [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
        assert_eq!(write(77, 0, -1, &[0]), [ErrorCode::TRANSACTION_COORDINATOR_FENCED]);
        assert_eq!(write(77, -1, 0, &[0]), [ErrorCode::UNKNOWN_SERVER_ERROR]);
        assert_eq!(write(77, 5, 9, &[0]), [ErrorCode::NONE]);
        assert_eq!(write(77, 4, 9, &[0]), [ErrorCode::INVALID_PRODUCER_EPOCH]);
        assert_eq!(write(77, 5, 2, &[0]), [ErrorCode::TRANSACTION_COORDINATOR_FENCED]);
        assert_eq!(write(-1, 5, 20, &[0]), [ErrorCode::UNKNOWN_SERVER_ERROR]);
        assert_eq!(log.with_log(|log| log.end_offset()), 2, "a marker for each that was taken");
        assert!(handle(&state.at(1), WriteTxnMarkersRequest::default(), &mut Cost::quick()).markers.is_empty());
    }
}
