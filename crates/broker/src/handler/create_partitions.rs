use std::collections::HashMap;

use milena_messages::create_partitions::request::CreatePartitionsTopic;
use milena_messages::create_partitions::response::CreatePartitionsTopicResult;
use milena_messages::{CreatePartitionsRequest, CreatePartitionsResponse, ErrorCode};

use super::Context;
use super::authorize::unauthorized;
use crate::cluster::TopicRef;
use crate::cluster::throttle::{ClientQuota, QuotaKind};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Operation, Resource};

/// From here on a client above its quota gets an error (KIP-599).
const STRICT: i16 = 3;
/// Most partitions that one request adds, as in Kafka.
const MAX_PARTITIONS: usize = 10_000;

pub(super) fn handle(
    context: &Context,
    request: CreatePartitionsRequest,
    _cost: &mut Cost,
) -> CreatePartitionsResponse {
    let mut times: HashMap<&str, u32> = HashMap::new();
    request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    // A client of an older version learns of it by the throttle time alone.
    let (quota, strict) = (context.quota(QuotaKind::Mutation), context.version >= STRICT);
    let mut left = MAX_PARTITIONS;
    let mut results = Vec::new();
    for topic in &request.topics {
        let result = match times.remove(&*topic.name) {
            None => continue,
            Some(1) => add(context, topic, request.validate_only, &mut left, (quota.as_ref(), strict)),
            Some(_) => Err(Refusal::new(ErrorCode::INVALID_REQUEST, "Duplicate topic name.")),
        };
        let refusal = result.err();
        results.push(CreatePartitionsTopicResult {
            name: topic.name.clone(),
            error_code: refusal.as_ref().map_or(ErrorCode::NONE, |refusal| refusal.code),
            error_message: refusal.filter(|refusal| !refusal.message.is_empty()).and_then(|refusal| refusal.text()),
            ..Default::default()
        });
    }
    let throttle_time_ms = context.mutation_throttle_ms(quota.as_ref());
    CreatePartitionsResponse { results, throttle_time_ms, ..Default::default() }
}

fn add(
    context: &Context,
    topic: &CreatePartitionsTopic,
    validate_only: bool,
    left: &mut usize,
    (quota, strict): (Option<&ClientQuota>, bool),
) -> Result<(), Refusal> {
    context.authorize(Operation::Alter, Resource::topic(&topic.name)).map_err(unauthorized)?;
    let current = context.state.topic(TopicRef::Name(&topic.name)).map_or(0, |topic| topic.partition_count());
    let more = usize::try_from(topic.count).unwrap_or(0).saturating_sub(current);
    if current > 0 && more > *left {
        let message = "Excessively large number of additional partitions per request.";
        return Err(Refusal::new(ErrorCode::POLICY_VIOLATION, message));
    }
    if current > 0 && more > 0 && !validate_only && !context.may_mutate(quota, more, strict) {
        return Err(Refusal::new(ErrorCode::THROTTLING_QUOTA_EXCEEDED, ""));
    }
    let assignments: Option<Vec<Vec<i32>>> =
        topic.assignments.as_ref().map(|all| all.iter().map(|one| one.broker_ids.to_vec()).collect());
    context.state.add_partitions(&topic.name, topic.count, assignments.as_deref(), validate_only)?;
    *left -= more;
    Ok(())
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;
    use milena_messages::create_partitions::request::CreatePartitionsAssignment;

    use super::*;
    use crate::handler::tests::{create, state};

    /// Codes and messages of Kafka 4.4.
    #[test]
    fn partitions_are_added_or_refused_as_by_kafka() {
        let state = state();
        let topic = create(&state, "t", 2);
        let ask = |name: &str, count, assignments: Option<&[&[i32]]>, validate_only| {
            let one = |nodes: &&[i32]| CreatePartitionsAssignment {
                broker_ids: Int32s::from_slice(nodes),
                ..Default::default()
            };
            let assignments = assignments.map(|all| all.iter().map(one).collect());
            let topic = CreatePartitionsTopic { name: name.into(), count, assignments, ..Default::default() };
            let request = CreatePartitionsRequest { topics: vec![topic], validate_only, ..Default::default() };
            let result = handle(&state.at(3), request, &mut Cost::quick()).results.remove(0);
            (result.error_code, result.error_message.map(|text| text.to_string()).unwrap_or_default())
        };
        assert_eq!(ask("t", 3, None, true), (ErrorCode::NONE, String::new()));
        assert_eq!(topic.partition_count(), 2);
        let (partitions, assignment) = (ErrorCode::INVALID_PARTITIONS, ErrorCode::INVALID_REPLICA_ASSIGNMENT);
        for (name, count, assignments, code, message) in [
            ("zz", 2, None, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ""),
            ("t", 2, None, partitions, "Topic already has 2 partition(s)."),
            ("t", -1, None, partitions, "The topic t currently has 2 partition(s); -1 would not be an increase."),
            (
                "t",
                20_000,
                None,
                ErrorCode::POLICY_VIOLATION,
                "Excessively large number of additional partitions per request.",
            ),
            (
                "t",
                3,
                Some(&[][..]),
                assignment,
                "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
            ),
            (
                "t",
                3,
                Some(&[&[1, 1][..]][..]),
                assignment,
                "The manual partition assignment includes the broker 1 more than once.",
            ),
            (
                "t",
                3,
                Some(&[&[][..]][..]),
                assignment,
                "The manual partition assignment includes an empty replica list.",
            ),
            (
                "t",
                3,
                Some(&[&[1, 2][..]][..]),
                assignment,
                "The manual partition assignment includes broker 2, but no such broker is registered.",
            ),
        ] {
            assert_eq!(ask(name, count, assignments, false), (code, message.to_owned()));
        }
        assert_eq!(ask("t", 4, Some(&[&[1], &[1]]), false).0, ErrorCode::NONE);
        assert_eq!((topic.partition_count(), topic.partition(3).unwrap().leadership().leader), (4, 1));
    }
}
