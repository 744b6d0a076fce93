use std::collections::BTreeSet;

use milena_messages::describe_log_dirs::response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use milena_messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use super::Context;
use crate::cluster::{Topic, TopicRef};
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::storage::log::Log;

/// The folder that a node claims to keep its logs in; they are in memory.
pub(super) fn log_dir(node: i32) -> String {
    format!("/memory/node-{node}")
}

pub(super) fn handle(context: &Context, request: DescribeLogDirsRequest, cost: &mut Cost) -> DescribeLogDirsResponse {
    if let Err(error_code) = context.authorize(Operation::Describe, Resource::CLUSTER) {
        return DescribeLogDirsResponse { error_code, ..Default::default() };
    }
    let (state, node) = (&context.state, context.node.id);
    let mut topics = Vec::new();
    match request.topics {
        None => {
            let all = state.topics();
            let count: usize = all.iter().map(|topic| topic.partition_count()).sum();
            // Many partitions are gone through on a thread of its own.
            if !cost.entries(count) && cost.needs_full() {
                return DescribeLogDirsResponse::default();
            }
            topics.extend(all.iter().map(|topic| describe(topic, node, 0..topic.partition_count() as i32)));
        }
        Some(wanted) => {
            // A partition that is listed twice is in the response once.
            let mut seen = BTreeSet::new();
            for wanted in &wanted {
                let Some(topic) = state.topic(TopicRef::Name(&wanted.topic)) else { continue };
                let fresh: Vec<i32> = wanted
                    .partitions
                    .iter()
                    .copied()
                    .filter(|index| seen.insert((wanted.topic.clone(), *index)))
                    .collect();
                topics.push(describe(&topic, node, fresh));
            }
        }
    }
    topics.retain(|topic| !topic.partitions.is_empty());
    let result = DescribeLogDirsResult { log_dir: log_dir(node).into(), topics, ..Default::default() };
    DescribeLogDirsResponse { results: vec![result], ..Default::default() }
}

fn describe(topic: &Topic, node: i32, indexes: impl IntoIterator<Item = i32>) -> DescribeLogDirsTopic {
    let here = indexes.into_iter().filter(|index| topic.has_replica(*index, node));
    let partition = |partition_index| {
        let partition_size = topic.partition(partition_index)?.with_log(Log::size_in_bytes) as i64;
        Some(DescribeLogDirsPartition { partition_index, partition_size, ..Default::default() })
    };
    DescribeLogDirsTopic {
        name: topic.name.clone(),
        partitions: here.filter_map(partition).collect(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;
    use milena_messages::describe_log_dirs::request::DescribableLogDirTopic;

    use super::*;
    use crate::handler::tests::{append, create, state};

    /// Which are listed is as in Kafka 4.4; the size is that of the batch.
    #[test]
    fn partitions_have_the_size_of_their_batches() {
        let state = state();
        create(&state, "t", 2);
        let size = append(&state, "t", &["x"]) as i64;
        let ask = |topics: Option<&[(&str, &[i32])]>| {
            let topic = |(topic, partitions): &(&str, &[i32])| DescribableLogDirTopic {
                topic: (*topic).into(),
                partitions: Int32s::from_slice(partitions),
                ..Default::default()
            };
            let topics = topics.map(|topics| topics.iter().map(topic).collect());
            let request = DescribeLogDirsRequest { topics, ..Default::default() };
            let result = handle(&state.at(5), request, &mut Cost::quick()).results.remove(0);
            let all = result.topics.into_iter().flat_map(|topic| topic.partitions);
            all.map(|one| (one.partition_index, one.partition_size)).collect::<Vec<_>>()
        };
        assert_eq!(ask(None), [(0, size), (1, 0)]);
        assert_eq!(ask(Some(&[])), []);
        assert_eq!(ask(Some(&[("t", &[0, 9, 0]), ("zz", &[0])])), [(0, size)]);
    }
}
