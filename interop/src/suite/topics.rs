//! Topics come, are seen, and go.

use milena_client::NewTopic;
use milena_messages::ErrorCode;
use milena_wire::Uuid;

use super::common::{holds, refused, same};
use super::{Outcome, Target};

pub(super) async fn a_topic_is_created_described_and_deleted(target: Target) -> Outcome {
    let client = target.client().await?;
    let name = target.prefix.as_str();
    let created = client.create_topic(NewTopic::new(name, 3, 1)).await?;
    same("name", created.name.as_str(), name)?;

    let cluster = client.metadata(Some(&[name])).await?;
    let topic = cluster.topic(name).ok_or("the topic is not listed")?;
    same("error", topic.error, ErrorCode::NONE)?;
    holds("a topic has an id", topic.id.is_some_and(|id| id != Uuid::default()))?;
    holds("a topic of ours is not internal", !topic.internal)?;
    same("partitions", topic.partitions.iter().map(|partition| partition.index).collect(), vec![0, 1, 2])?;
    for partition in &topic.partitions {
        let leader = partition.leader.ok_or("a partition has no leader")?;
        holds("the leader is a listed broker", cluster.broker(leader).is_some())?;
        same("replicas", &partition.replicas, &vec![leader])?;
        same("replicas in sync", &partition.in_sync, &vec![leader])?;
    }
    let all = client.metadata(None).await?;
    holds("the topic is among all topics", all.topic(name).is_some())?;

    let outcomes = client.delete_topics(&[name]).await?;
    same("outcomes", outcomes.len(), 1)?;
    for outcome in outcomes {
        outcome.result?;
    }
    for _ in 0..100 {
        if client.metadata(None).await?.topic(name).is_none() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Err("the topic is still listed 5 s after it was deleted".into())
}

pub(super) async fn each_topic_of_several_has_its_own_outcome(target: Target) -> Outcome {
    let client = target.client().await?;
    let name = |what: &str| format!("{}-{what}", target.prefix);
    let topics = [
        NewTopic::new(name("good"), 1, 1),
        NewTopic::new(name("not a name"), 1, 1),
        NewTopic::new(name("no-partitions"), 0, 1),
        NewTopic::new(name("too-many-replicas"), 1, 7),
        NewTopic::new(name("setting"), 1, 1).with_config("no.such.setting", "1"),
        NewTopic::new(name("value"), 1, 1).with_config("cleanup.policy", "burn"),
    ];
    let outcomes = client.create_topics(&topics).await?;
    let found = outcomes.iter().map(|outcome| outcome.result.as_ref().err().and_then(milena_client::Error::code));
    same(
        "outcomes",
        found.collect::<Vec<_>>(),
        vec![
            None,
            Some(ErrorCode::INVALID_TOPIC_EXCEPTION),
            Some(ErrorCode::INVALID_PARTITIONS),
            Some(ErrorCode::INVALID_REPLICATION_FACTOR),
            Some(ErrorCode::INVALID_CONFIG),
            Some(ErrorCode::INVALID_CONFIG),
        ],
    )
}

pub(super) async fn a_topic_is_not_created_twice(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    let again = client.create_topic(NewTopic::new(topic, 1, 1)).await;
    refused("the same topic again", again, ErrorCode::TOPIC_ALREADY_EXISTS)
}

pub(super) async fn a_topic_that_is_not_there_is_an_error(target: Target) -> Outcome {
    use milena_client::{Acks, Codec, FetchOptions, OffsetSpec, Record};

    let client = target.client().await?;
    let (name, code) = (target.prefix.as_str(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let records = || vec![Record::from_value("lost")];
    let produced = client.produce(name, 0, Acks::All, Codec::None, records()).await;
    refused("produce", produced, code)?;
    refused("fetch", client.fetch(name, 0, 0, &FetchOptions::default()).await, code)?;
    refused("offset", client.offset(name, 0, OffsetSpec::Latest).await, code)?;
    let deleted = client.delete_topics(&[name]).await?.pop().ok_or("no outcome")?;
    refused("delete", deleted.result, code)?;
    holds("it was not created", client.metadata(None).await?.topic(name).is_none())?;

    client.create_topic(NewTopic::new(name, 1, 1)).await?;
    let produced = client.produce(name, 1, Acks::All, Codec::None, records()).await;
    refused("produce to a partition that is not there", produced, code)
}
