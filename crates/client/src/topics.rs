use milena_messages::create_topics::request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use milena_messages::delete_topics::request::DeleteTopicState;
use milena_messages::{ApiKey, ByteString, CreateTopicsRequest, DeleteTopicsRequest, ErrorCode};

use crate::call::{Operation, Reply, Route, Subject, Target};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::metadata::{Snapshot, Topic};
use crate::net::Link;

const CONTROLLER: Route<'static> = Route::Target(&Target::Controller);

/// A topic to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// Name: letters, digits, `.`, `_` and `-`, at most 249 of them.
    pub name: String,
    /// How many partitions; `None` leaves it to the broker, which before CreateTopics 4 (Kafka 2.4) means 1.
    pub partitions: Option<i32>,
    /// How many replicas of each; `None` as above.
    pub replication_factor: Option<i16>,
    /// Node ids of the replicas of each partition, the preferred leader first, instead of the two numbers above. Empty
    /// leaves the placement to the broker.
    pub assignments: Vec<Vec<i32>>,
    /// Settings that differ from the broker's, such as `cleanup.policy`.
    pub configs: Vec<(String, String)>,
}

impl NewTopic {
    /// A topic with that many partitions and replicas.
    pub fn new(name: impl Into<String>, partitions: i32, replication_factor: i16) -> Self {
        Self {
            name: name.into(),
            partitions: Some(partitions),
            replication_factor: Some(replication_factor),
            ..Self::default()
        }
    }

    /// The same topic with one more setting.
    #[must_use]
    pub fn with_config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.push((name.into(), value.into()));
        self
    }

    fn to_request(&self, version: i16) -> CreatableTopic {
        let unset = if version >= 4 { -1 } else { 1 };
        let assigned = !self.assignments.is_empty();
        let assignments =
            self.assignments.iter().zip(0..).map(|(brokers, partition_index)| CreatableReplicaAssignment {
                partition_index,
                broker_ids: brokers.iter().copied().collect(),
                ..Default::default()
            });
        let config = |(name, value): &(String, String)| CreatableTopicConfig {
            name: ByteString::from(name.as_str()),
            value: Some(ByteString::from(value.as_str())),
            ..Default::default()
        };
        CreatableTopic {
            name: ByteString::from(self.name.as_str()),
            num_partitions: if assigned { -1 } else { self.partitions.unwrap_or(unset.into()) },
            replication_factor: if assigned { -1 } else { self.replication_factor.unwrap_or(unset) },
            assignments: assignments.collect(),
            configs: self.configs.iter().map(config).collect(),
            ..Default::default()
        }
    }
}

/// What became of one topic among several.
#[derive(Debug)]
#[non_exhaustive]
pub struct TopicOutcome {
    /// The topic.
    pub name: String,
    /// Whether it was done, or why the broker refuses it.
    pub result: Result<()>,
}

impl Client {
    /// Creates a topic and waits until all its partitions have leaders.
    ///
    /// # Errors
    /// The broker's refusal, such as `TOPIC_ALREADY_EXISTS`; brokers before 0.10.1, which cannot; the deadline.
    pub async fn create_topic(&self, topic: NewTopic) -> Result<Topic> {
        let mut operation = Operation::new(&self.core);
        for outcome in create(&mut operation, std::slice::from_ref(&topic)).await? {
            outcome.result?;
        }
        wait_for_leaders(&mut operation, &topic.name).await
    }

    /// Creates topics, each on its own, and waits until those that were created have leaders.
    ///
    /// # Errors
    /// No response within the deadline; brokers before 0.10.1. A refusal of one topic is in its outcome.
    pub async fn create_topics(&self, topics: &[NewTopic]) -> Result<Vec<TopicOutcome>> {
        let mut operation = Operation::new(&self.core);
        let outcomes = create(&mut operation, topics).await?;
        for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
            wait_for_leaders(&mut operation, &outcome.name).await?;
        }
        Ok(outcomes)
    }

    /// Deletes topics, each on its own. Brokers remove the data later, and names may be listed for a short time.
    ///
    /// # Errors
    /// No response within the deadline; brokers before 0.10.1. A refusal of one topic is in its outcome.
    pub async fn delete_topics(&self, names: &[&str]) -> Result<Vec<TopicOutcome>> {
        let mut operation = Operation::new(&self.core);
        let (mut pending, mut done) = (names.to_vec(), Vec::new());
        while !pending.is_empty() {
            let result = delete_once(&mut operation, &pending).await;
            let Some(outcomes) = operation.settle(result).await? else { continue };
            let throttled = admit(&mut operation, outcomes, &mut done).await;
            pending.retain(|name| throttled.iter().any(|throttled| throttled == name));
        }
        names.iter().for_each(|name| self.core.metadata.cache.forget_topic(name));
        Ok(in_order(done, names.iter().copied()))
    }
}

async fn create(operation: &mut Operation<'_>, topics: &[NewTopic]) -> Result<Vec<TopicOutcome>> {
    let (mut pending, mut done): (Vec<&NewTopic>, _) = (topics.iter().collect(), Vec::new());
    while !pending.is_empty() {
        let result = create_once(operation, &pending).await;
        let Some(outcomes) = operation.settle(result).await? else { continue };
        let throttled = admit(operation, outcomes, &mut done).await;
        pending.retain(|topic| throttled.contains(&topic.name));
    }
    Ok(in_order(done, topics.iter().map(|topic| &*topic.name)))
}

/// Takes over the outcomes, and gives the topics that a quota kept from being created or deleted (KIP-599), after a pause. The
/// connection stays silent as long as the broker asks, so that the next attempt comes at the right time.
async fn admit(
    operation: &mut Operation<'_>,
    outcomes: Vec<TopicOutcome>,
    done: &mut Vec<TopicOutcome>,
) -> Vec<String> {
    let is_throttled = |outcome: &TopicOutcome| {
        let error = outcome.result.as_ref().err();
        error.and_then(Error::code) == Some(ErrorCode::THROTTLING_QUOTA_EXCEEDED)
    };
    let (throttled, settled): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(is_throttled);
    done.extend(settled);
    let Some(error) = throttled.iter().find_map(|outcome| outcome.result.as_ref().err().cloned()) else {
        return Vec::new();
    };
    if operation.settle::<()>(Err(error)).await.is_err() {
        done.extend(throttled);
        return Vec::new();
    }
    throttled.into_iter().map(|outcome| outcome.name).collect()
}

fn in_order<'a>(mut outcomes: Vec<TopicOutcome>, names: impl Iterator<Item = &'a str>) -> Vec<TopicOutcome> {
    let names: Vec<&str> = names.collect();
    outcomes.sort_by_key(|outcome| names.iter().position(|name| *name == outcome.name));
    outcomes
}

async fn create_once(operation: &mut Operation<'_>, topics: &[&NewTopic]) -> Result<Vec<TopicOutcome>> {
    let api = ApiKey::CREATE_TOPICS;
    let timeout_ms = operation.attempts.broker_timeout_ms();
    let make = |_: &Link, version| {
        let topics = topics.iter().map(|topic| topic.to_request(version)).collect();
        Ok(CreateTopicsRequest { topics, timeout_ms, ..Default::default() })
    };
    let mut reply = operation.send(CONTROLLER, |link| link.version_of(api), make).await?;
    let topics = reply.body.take().unwrap_or_default().topics;
    let codes = topics
        .into_iter()
        .map(|topic| (topic.name.to_string(), topic.error_code, topic.error_message.map(String::from)));
    outcomes(&reply, api, codes)
}

async fn delete_once(operation: &mut Operation<'_>, names: &[&str]) -> Result<Vec<TopicOutcome>> {
    let api = ApiKey::DELETE_TOPICS;
    let timeout_ms = operation.attempts.broker_timeout_ms();
    let name = |name: &&str| ByteString::from(*name);
    let make = |_: &Link, version| {
        let state = |topic: &&str| DeleteTopicState { name: Some(name(topic)), ..Default::default() };
        Ok(DeleteTopicsRequest {
            topics: if version >= 6 { names.iter().map(state).collect() } else { Vec::new() },
            topic_names: if version < 6 { names.iter().map(name).collect() } else { Vec::new() },
            timeout_ms,
            ..Default::default()
        })
    };
    let mut reply = operation.send(CONTROLLER, |link| link.version_of(api), make).await?;
    let topics = reply.body.take().unwrap_or_default().responses;
    let codes = topics.into_iter().map(|topic| {
        let name = topic.name.map(String::from).unwrap_or_default();
        (name, topic.error_code, topic.error_message.map(String::from))
    });
    outcomes(&reply, api, codes)
}

async fn wait_for_leaders(operation: &mut Operation<'_>, name: &str) -> Result<Topic> {
    loop {
        let result = match operation.fetch_metadata(Some(&[name])).await {
            Ok(snapshot) => with_leaders(&snapshot, name),
            Err(error) => Err(error),
        };
        if let Some(topic) = operation.settle(result).await? {
            return Ok(topic);
        }
    }
}

/// The topic, once all its partitions have leaders.
fn with_leaders(snapshot: &Snapshot, name: &str) -> Result<Topic> {
    let topic = snapshot.found(name)?;
    match topic.partitions.iter().find(|partition| partition.leader.is_none()) {
        Some(partition) => Err(Error::NoLeader { topic: name.into(), partition: partition.index }),
        None if topic.partitions.is_empty() => Err(snapshot.error(ErrorCode::LEADER_NOT_AVAILABLE, name, None)),
        None => Ok(topic),
    }
}

/// The outcomes, or the error for all of them when the broker is not the controller.
fn outcomes<T>(
    reply: &Reply<T>,
    api: ApiKey,
    codes: impl Iterator<Item = (String, ErrorCode, Option<String>)>,
) -> Result<Vec<TopicOutcome>> {
    codes
        .map(|(name, code, message)| {
            let subject = Subject { topic: Some(&name), partition: None, message: message.as_deref() };
            match code {
                ErrorCode::NOT_CONTROLLER => Err(reply.error(api, code, subject)),
                ErrorCode::NONE => Ok(TopicOutcome { name, result: Ok(()) }),
                code => Ok(TopicOutcome { result: Err(reply.error(api, code, subject)), name }),
            }
        })
        .collect()
}
