use std::collections::BTreeMap;

use milena_messages::alter_replica_log_dirs::response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use milena_messages::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse, ByteString, ErrorCode};

use super::Context;
use super::describe_log_dirs::log_dir;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// There is one folder, and nothing can move to another one.
pub(super) fn handle(
    context: &Context,
    request: AlterReplicaLogDirsRequest,
    _cost: &mut Cost,
) -> AlterReplicaLogDirsResponse {
    let authorized = context.authorize(Operation::Alter, Resource::CLUSTER);
    let own = log_dir(context.node.id);
    let mut codes: BTreeMap<ByteString, BTreeMap<i32, ErrorCode>> = BTreeMap::new();
    for dir in request.dirs {
        for wanted in dir.topics {
            let topic = context.state.topic(TopicRef::Name(&wanted.name));
            let here = |index| topic.as_ref().is_some_and(|topic| topic.has_replica(index, context.node.id));
            let topic = codes.entry(wanted.name.clone()).or_default();
            for index in wanted.partitions.iter().copied() {
                let code = match () {
                    () if authorized.is_err() => ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
                    () if *dir.path != *own => ErrorCode::LOG_DIR_NOT_FOUND,
                    () if here(index) => ErrorCode::NONE,
                    () => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                };
                topic.insert(index, code);
            }
        }
    }
    let partition = |(partition_index, error_code)| AlterReplicaLogDirPartitionResult {
        partition_index,
        error_code,
        ..Default::default()
    };
    let topic = |(topic_name, partitions): (_, BTreeMap<i32, ErrorCode>)| AlterReplicaLogDirTopicResult {
        topic_name,
        partitions: partitions.into_iter().map(partition).collect(),
        ..Default::default()
    };
    AlterReplicaLogDirsResponse { results: codes.into_iter().map(topic).collect(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;
    use milena_messages::alter_replica_log_dirs::request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};

    use super::*;
    use crate::handler::tests::{create, state};

    /// As Kafka 4.4 with its one folder.
    #[test]
    fn replicas_stay_in_the_one_folder() {
        let state = state();
        create(&state, "t", 1);
        let ask = |path: &str| {
            let partitions = Int32s::from_slice(&[0, 9]);
            let topics = vec![AlterReplicaLogDirTopic { name: "t".into(), partitions, ..Default::default() }];
            let dirs = vec![AlterReplicaLogDir { path: path.into(), topics, ..Default::default() }];
            let request = AlterReplicaLogDirsRequest { dirs, ..Default::default() };
            let result = handle(&state.at(2), request, &mut Cost::quick()).results.remove(0);
            result.partitions.iter().map(|one| one.error_code).collect::<Vec<_>>()
        };
        assert_eq!(ask("/memory/node-1"), [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
        assert_eq!(ask("relative"), [ErrorCode::LOG_DIR_NOT_FOUND; 2]);
    }
}
