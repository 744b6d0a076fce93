//! Groups of the consumer protocol (KIP-848), heartbeat by heartbeat.

use std::time::Duration;

use milena_client::{Client, CoordinatorKind, NewTopic, Target as To};
use milena_messages::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};
use milena_messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, IncrementalAlterConfigsRequest,
};

use super::common::same;
use super::{Failure, Outcome, Target};

/// The type of resource of groups.
const GROUP_RESOURCE: i8 = 32;
/// How often something is looked at that comes by itself.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

fn coordinator(group: &str) -> To {
    To::Coordinator { kind: CoordinatorKind::Group, key: group.to_owned() }
}

/// A first heartbeat.
fn joining(group: &str, member: &str) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned().into(),
        member_id: member.to_owned().into(),
        rebalance_timeout_ms: 30_000,
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    }
}

async fn beat(
    client: &Client,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, Failure> {
    Ok(client.send_at(coordinator(&request.group_id), request, 1).await?)
}

/// Sends heartbeats until the member has that many topics, and gives its epoch.
async fn until_it_has(client: &Client, group: &str, member: &str, epoch: i32, count: usize) -> Result<i32, Failure> {
    let mut request = ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned().into(),
        member_id: member.to_owned().into(),
        member_epoch: epoch,
        rebalance_timeout_ms: -1,
        ..Default::default()
    };
    loop {
        let response = beat(client, &request).await?;
        response.error_code.ok()?;
        request.member_epoch = response.member_epoch;
        if response.assignment.is_some_and(|assignment| assignment.topic_partitions.len() == count) {
            return Ok(request.member_epoch);
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

pub(super) async fn a_regular_expression_reads_the_topics_that_match_now_and_later(target: Target) -> Outcome {
    let client = target.client().await?;
    let group = target.prefix.as_str();
    for name in ["-orders-1", "-orders-x", "-other"] {
        client.create_topic(NewTopic::new(format!("{group}{name}"), 1, 1)).await?;
    }
    let request = ConsumerGroupHeartbeatRequest {
        subscribed_topic_regex: Some(format!("{group}-orders-\\d").into()),
        ..joining(group, "m")
    };
    let first = beat(&client, &request).await?;
    same("the first response", (first.error_code, first.member_epoch), (ErrorCode::NONE, 1))?;
    same("topics of the first response", first.assignment.map(|all| all.topic_partitions.len()), Some(0))?;
    let epoch = until_it_has(&client, group, "m", 1, 1).await?;
    same("the epoch with the first topic", epoch, 2)?;
    client.create_topic(NewTopic::new(format!("{group}-orders-2"), 1, 1)).await?;
    let epoch = until_it_has(&client, group, "m", epoch, 2).await?;
    same("the epoch with the second topic", epoch, 3)
}

pub(super) async fn an_invalid_regular_expression_is_refused_in_the_words_of_re2(target: Target) -> Outcome {
    let client = target.client().await?;
    let group = target.prefix.as_str();
    for (regex, why) in [
        ("[", "missing closing ]"),
        ("(a", "missing closing )"),
        ("a**", "invalid nested repetition operator"),
        ("*", "missing argument to repetition operator"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("\\8", "invalid escape sequence"),
        ("[z-a]", "invalid character class range"),
    ] {
        let request =
            ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some(regex.into()), ..joining(group, "m") };
        let response = beat(&client, &request).await?;
        let message = format!("SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}.");
        let found = (response.error_code, response.error_message.as_deref());
        same(regex, found, (ErrorCode::INVALID_REGULAR_EXPRESSION, Some(&*message)))?;
    }
    Ok(())
}

pub(super) async fn a_group_has_settings_of_its_own(target: Target) -> Outcome {
    let client = target.client().await?;
    let group = target.prefix.as_str();
    let request = ConsumerGroupHeartbeatRequest {
        subscribed_topic_names: Some(vec![group.to_owned().into()]),
        ..joining(group, "m")
    };
    same("the interval at first", beat(&client, &request).await?.heartbeat_interval_ms, 5000)?;
    let config = AlterableConfig {
        name: "consumer.heartbeat.interval.ms".into(),
        value: Some("6000".into()),
        ..Default::default()
    };
    let resource = AlterConfigsResource {
        resource_type: GROUP_RESOURCE,
        resource_name: group.to_owned().into(),
        configs: vec![config],
        ..Default::default()
    };
    let alter = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
    client.send_at(To::Any, &alter, 1).await?.responses[0].error_code.ok()?;
    while beat(&client, &request).await?.heartbeat_interval_ms != 6000 {
        tokio::time::sleep(AGAIN_AFTER).await;
    }
    Ok(())
}
