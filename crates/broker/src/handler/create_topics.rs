use std::collections::{HashMap, HashSet};

use milena_messages::create_topics::request::CreatableTopic;
use milena_messages::create_topics::response::{CreatableTopicConfigs, CreatableTopicResult};
use milena_messages::{CreateTopicsRequest, CreateTopicsResponse, ErrorCode};

use super::Context;
use super::describe_configs::Defaults;
use crate::cluster::State;
use crate::cluster::throttle::QuotaKind;
use crate::cluster::topic_config::{SETTINGS, TopicConfig};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Operation, Resource};

/// From here on a client above its quota gets an error (KIP-599).
const STRICT: i16 = 6;
/// Most partitions that one request creates, as in Kafka.
const MAX_PARTITIONS: usize = 10_000;

pub(super) fn handle(context: &Context, request: CreateTopicsRequest, _cost: &mut Cost) -> CreateTopicsResponse {
    let state = &*context.state;
    let mut times: HashMap<&str, usize> = HashMap::new();
    request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    let wanted = |topic: &CreatableTopic| match topic.assignments.len() {
        0 if topic.num_partitions == -1 => state.config.default_partitions as usize,
        0 => usize::try_from(topic.num_partitions).unwrap_or(1),
        count => count,
    };
    let too_many = request.topics.iter().map(wanted).fold(0, usize::saturating_add) > MAX_PARTITIONS;

    // A client of an older version learns of it by the throttle time alone.
    let (quota, strict) = (context.quota(QuotaKind::Mutation), context.version >= STRICT);
    let all_may = context.may(Operation::Create, Resource::CLUSTER);
    let mut seen = HashSet::new();
    let mut results = Vec::new();
    for topic in &request.topics {
        let may = |operation| context.may(operation, Resource::topic(&topic.name));
        if !seen.insert(&*topic.name) {
            continue;
        }
        let result = if times[&*topic.name] > 1 {
            Err(Refusal::new(ErrorCode::INVALID_REQUEST, "Duplicate topic name."))
        } else if !all_may && !may(Operation::Create) {
            Err(Refusal::new(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Authorization failed."))
        } else if too_many {
            Err(Refusal::new(ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request."))
        } else if !request.validate_only && !context.may_mutate(quota.as_ref(), wanted(topic), strict) {
            Err(Refusal::new(ErrorCode::THROTTLING_QUOTA_EXCEEDED, ""))
        } else {
            create(state, topic, request.validate_only, may(Operation::DescribeConfigs))
        };
        results.push(match result {
            Ok(mut result) => {
                result.name = topic.name.clone();
                result
            }
            Err(refusal) => CreatableTopicResult {
                name: topic.name.clone(),
                error_code: refusal.code,
                error_message: refusal.text().filter(|text| !text.is_empty()),
                ..Default::default()
            },
        });
    }
    let throttle_time_ms = context.mutation_throttle_ms(quota.as_ref());
    CreateTopicsResponse { topics: results, throttle_time_ms, ..Default::default() }
}

/// `show` says whether the client may see the settings of the topic.
fn create(
    state: &State,
    topic: &CreatableTopic,
    validate_only: bool,
    show: bool,
) -> Result<CreatableTopicResult, Refusal> {
    // Kafka looks at the name first, and at the settings before the numbers.
    state.check_name(&topic.name)?;
    let pairs = topic.configs.iter().map(|config| (&*config.name, config.value.as_deref()));
    let config = state.topic_config(pairs)?;
    let replicas = if topic.assignments.is_empty() { counted(state, topic)? } else { assigned(state, topic)? };
    let (partitions, factor) = (replicas.len(), replicas.first().map_or(0, Vec::len));
    let created = state.create_topic(&topic.name, replicas, config, validate_only)?;
    // As in Kafka, also when nothing is created.
    let topic_id = created.id;
    if !show {
        return Ok(CreatableTopicResult {
            topic_id,
            topic_config_error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            ..Default::default()
        });
    }
    Ok(CreatableTopicResult {
        topic_id,
        error_message: None,
        num_partitions: partitions as i32,
        replication_factor: factor as i16,
        configs: Some(configs(state, &created.config())),
        ..Default::default()
    })
}

/// The replicas of a topic that says how many it wants.
fn counted(state: &State, topic: &CreatableTopic) -> Result<Vec<Vec<i32>>, Refusal> {
    let refuse = |code, message: String| Err(Refusal::new(code, message));
    let factor = match topic.replication_factor {
        -1 => state.config.default_replication_factor,
        factor if factor < 1 => {
            let message = "Replication factor must be larger than 0, or -1 to use the default value.".to_owned();
            return refuse(ErrorCode::INVALID_REPLICATION_FACTOR, message);
        }
        factor => factor,
    };
    match topic.num_partitions {
        -1 => state.place(state.config.default_partitions, factor),
        count if count < 1 => {
            let message = "Number of partitions must be larger than 0, or -1 to use the default value.".to_owned();
            refuse(ErrorCode::INVALID_PARTITIONS, message)
        }
        count => state.place(count, factor),
    }
}

/// The replicas of a topic that says where it wants each.
fn assigned(state: &State, topic: &CreatableTopic) -> Result<Vec<Vec<i32>>, Refusal> {
    if topic.num_partitions != -1 || topic.replication_factor != -1 {
        let message = "With a manual partition assignment, partitions and replication factor have to be -1.";
        return Err(Refusal::new(ErrorCode::INVALID_REQUEST, message));
    }
    let refuse = |message: String| Err(Refusal::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
    let mut assignments: Vec<_> = topic.assignments.iter().collect();
    assignments.sort_by_key(|assignment| assignment.partition_index);
    if !(0..).zip(&assignments).all(|(expected, assignment)| expected == assignment.partition_index) {
        return refuse("Partitions should be a consecutive 0-based integer sequence.".to_owned());
    }
    let mut replicas: Vec<Vec<i32>> = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let (index, nodes) = (assignment.partition_index, &assignment.broker_ids[..]);
        if nodes.is_empty() {
            return refuse("The manual partition assignment includes an empty replica list.".to_owned());
        }
        if let Some(unknown) = nodes.iter().find(|node| state.node(**node).is_none()) {
            let message =
                format!("The manual partition assignment includes broker {unknown}, but no such broker is registered.");
            return refuse(message);
        }
        if (1..nodes.len()).any(|at| nodes[..at].contains(&nodes[at])) {
            return refuse(format!("The manual partition assignment includes a broker twice for partition {index}."));
        }
        if replicas.first().is_some_and(|first| first.len() != nodes.len()) {
            return refuse("The manual partition assignment includes different numbers of replicas.".to_owned());
        }
        replicas.push(nodes.to_vec());
    }
    Ok(replicas)
}

fn configs(state: &State, config: &TopicConfig) -> Vec<CreatableTopicConfigs> {
    let defaults = Defaults::new(state, Some(state.controller()));
    let entry = |setting: &'static crate::cluster::setting::Setting| {
        let (value, config_source) = defaults.of_topic(config, setting);
        CreatableTopicConfigs { name: setting.name.into(), value: Some(value), config_source, ..Default::default() }
    };
    SETTINGS.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;
    use milena_messages::create_topics::request::{CreatableReplicaAssignment, CreatableTopicConfig};

    use super::*;
    use crate::cluster::TopicRef;
    use crate::config::BrokerConfig;
    use crate::handler::tests::{Fixture, state, state_with};

    fn topic(name: &str, num_partitions: i32, replication_factor: i16) -> CreatableTopic {
        CreatableTopic { name: name.into(), num_partitions, replication_factor, ..Default::default() }
    }

    fn handle(state: &Fixture, request: CreateTopicsRequest) -> CreateTopicsResponse {
        super::handle(&state.at(7), request, &mut Cost::quick())
    }

    fn ask(state: &Fixture, topics: Vec<CreatableTopic>) -> Vec<CreatableTopicResult> {
        handle(state, CreateTopicsRequest { topics, ..Default::default() }).topics
    }

    fn code(topic: CreatableTopic) -> ErrorCode {
        ask(&state(), vec![topic])[0].error_code
    }

    #[test]
    fn a_topic_is_created_once() {
        let state = state();
        let created = ask(&state, vec![topic("a", 3, -1)]).remove(0);
        assert_eq!((created.error_code, created.num_partitions), (ErrorCode::NONE, 3));
        assert_eq!(state.topic(TopicRef::Id(created.topic_id)).unwrap().partition_count(), 3);
        assert_eq!(ask(&state, vec![topic("a", 3, 1)])[0].error_code, ErrorCode::TOPIC_ALREADY_EXISTS);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(code(topic("a", 0, 1)), ErrorCode::INVALID_PARTITIONS);
        assert_eq!(code(topic("a", -2, 1)), ErrorCode::INVALID_PARTITIONS);
        assert_eq!(code(topic("a", 1, 0)), ErrorCode::INVALID_REPLICATION_FACTOR);
        assert_eq!(code(topic("a", 1, 2)), ErrorCode::INVALID_REPLICATION_FACTOR);
        assert_eq!(code(topic("a/b", 1, 1)), ErrorCode::INVALID_TOPIC_EXCEPTION);
        assert_eq!(code(topic("a", i32::MAX, 1)), ErrorCode::POLICY_VIOLATION);
        assert_eq!(code(topic("a", -1, -1)), ErrorCode::NONE);
    }

    #[test]
    fn validate_only_creates_nothing() {
        let state = state();
        let request = CreateTopicsRequest { topics: vec![topic("a", 3, 1)], validate_only: true, ..Default::default() };
        let result = handle(&state, request).topics.remove(0);
        assert_eq!((result.error_code, result.num_partitions), (ErrorCode::NONE, 3));
        // As Kafka 4.4.
        assert!(!result.topic_id.is_zero() && state.topics().is_empty());
    }

    #[test]
    fn a_name_asked_for_twice_is_refused_once() {
        let results = ask(&state(), vec![topic("a", 1, 1), topic("b", 1, 1), topic("a", 1, 1)]);
        let codes: Vec<_> = results.iter().map(|result| (&*result.name, result.error_code)).collect();
        assert_eq!(codes, [("a", ErrorCode::INVALID_REQUEST), ("b", ErrorCode::NONE)]);
    }

    #[test]
    fn assignments_name_this_node_and_leave_no_gap() {
        let assign = |assignments: &[(i32, &[i32])]| {
            let assignments = assignments.iter().map(|(partition_index, nodes)| CreatableReplicaAssignment {
                partition_index: *partition_index,
                broker_ids: Int32s::from_slice(nodes),
                ..Default::default()
            });
            code(CreatableTopic { assignments: assignments.collect(), ..topic("a", -1, -1) })
        };
        assert_eq!(assign(&[(1, &[1]), (0, &[1])]), ErrorCode::NONE);
        assert_eq!(assign(&[(0, &[1]), (2, &[1])]), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
        assert_eq!(assign(&[(0, &[2])]), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
        assert_eq!(assign(&[(0, &[])]), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
    }

    #[test]
    fn settings_are_checked_and_returned() {
        let with = |name: &str, value: &str| {
            let config = CreatableTopicConfig { name: name.into(), value: Some(value.into()), ..Default::default() };
            ask(&state(), vec![CreatableTopic { configs: vec![config], ..topic("a", 1, 1) }]).remove(0)
        };
        assert_eq!(with("no.such.thing", "1").error_code, ErrorCode::INVALID_CONFIG);
        let result = with("retention.ms", "5000");
        let configs = result.configs.unwrap();
        let entry = configs.iter().find(|config| config.name == "retention.ms").unwrap();
        assert_eq!((entry.value.as_deref(), entry.config_source), (Some("5000"), 1));
    }

    #[test]
    fn one_request_creates_ten_thousand_partitions_and_all_together_reach_a_limit() {
        let state = state_with(BrokerConfig { max_partitions: 12_000, default_partitions: 6000, ..Default::default() });
        let codes = |topics| ask(&state, topics).iter().map(|result| result.error_code).collect::<Vec<_>>();
        assert_eq!(codes(vec![topic("a", 10_001, 1)]), [ErrorCode::POLICY_VIOLATION]);
        // Those that leave the number to the broker count as what they get.
        assert_eq!(codes(vec![topic("a", -1, 1), topic("b", -1, 1)]), [ErrorCode::POLICY_VIOLATION; 2]);
        assert_eq!(codes(vec![topic("a", 10_000, 1)]), [ErrorCode::NONE]);
        assert_eq!(codes(vec![topic("b", 2001, 1)]), [ErrorCode::POLICY_VIOLATION]);
        assert_eq!(codes(vec![topic("b", 2000, 1)]), [ErrorCode::NONE]);
    }
}
