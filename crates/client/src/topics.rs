use std::sync::Arc;

use milena_messages::create_topics::request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use milena_messages::delete_topics::request::DeleteTopicState;
use milena_messages::{ApiKey, ByteString, CreateTopicsRequest, DeleteTopicsRequest, ErrorCode};

use crate::attempts::Attempts;
use crate::client::{About, Client, Target, Told, Whom};
use crate::cluster::Topic;
use crate::error::{Error, Result};
use crate::link::Link;

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
    /// Whether it was done, or what the broker says against it.
    pub result: Result<()>,
}

impl Client {
    /// Creates a topic and waits until all its partitions have leaders.
    ///
    /// # Errors
    /// The broker's refusal, such as `TOPIC_ALREADY_EXISTS`; brokers before 0.10.1, which cannot; the deadline.
    pub async fn create_topic(&self, topic: NewTopic) -> Result<Topic> {
        let mut attempts = Attempts::new(&self.inner.config);
        for outcome in self.create(std::slice::from_ref(&topic), &mut attempts).await? {
            outcome.result?;
        }
        loop {
            match self.with_leaders(&topic.name, &attempts).await {
                Ok(topic) => return Ok(topic),
                Err(error) => attempts.again_after(error).await?,
            }
        }
    }

    /// Creates topics, each on its own, and waits until those that were created have leaders.
    ///
    /// # Errors
    /// No answer within the deadline; brokers before 0.10.1. What a broker says against one topic is in its outcome.
    pub async fn create_topics(&self, topics: &[NewTopic]) -> Result<Vec<TopicOutcome>> {
        let mut attempts = Attempts::new(&self.inner.config);
        let outcomes = self.create(topics, &mut attempts).await?;
        for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
            while let Err(error) = self.with_leaders(&outcome.name, &attempts).await {
                attempts.again_after(error).await?;
            }
        }
        Ok(outcomes)
    }

    /// Deletes topics, each on its own. Brokers clear away the data later, and names may show up for a little while.
    ///
    /// # Errors
    /// No answer within the deadline; brokers before 0.10.1. What a broker says against one topic is in its outcome.
    pub async fn delete_topics(&self, names: &[&str]) -> Result<Vec<TopicOutcome>> {
        let mut attempts = Attempts::new(&self.inner.config);
        let name = |name: &&str| ByteString::from(*name);
        let outcomes = loop {
            let make = |_: &Link, version| {
                let state = |topic: &&str| DeleteTopicState { name: Some(name(topic)), ..Default::default() };
                Ok(DeleteTopicsRequest {
                    topics: if version >= 6 { names.iter().map(state).collect() } else { Vec::new() },
                    topic_names: if version < 6 { names.iter().map(name).collect() } else { Vec::new() },
                    timeout_ms: attempts.broker_timeout_ms(),
                    ..Default::default()
                })
            };
            let result = self.ask_controller(&attempts, ApiKey::DELETE_TOPICS, make).await.and_then(|mut told| {
                let answers = told.answer.take().unwrap_or_default().responses;
                let answers = answers.into_iter().map(|answer| {
                    let name = answer.name.map(String::from).unwrap_or_default();
                    (name, answer.error_code, answer.error_message.map(String::from))
                });
                outcomes(&told, ApiKey::DELETE_TOPICS, answers.collect())
            });
            match result {
                Ok(outcomes) => break outcomes,
                Err(error) => self.controller_again(error, &mut attempts).await?,
            }
        };
        names.iter().for_each(|name| self.inner.cache.forget_topic(name));
        Ok(outcomes)
    }

    async fn create(&self, topics: &[NewTopic], attempts: &mut Attempts) -> Result<Vec<TopicOutcome>> {
        loop {
            let make = |_: &Link, version| {
                Ok(CreateTopicsRequest {
                    topics: topics.iter().map(|topic| topic.to_request(version)).collect(),
                    timeout_ms: attempts.broker_timeout_ms(),
                    ..Default::default()
                })
            };
            let result = self.ask_controller(attempts, ApiKey::CREATE_TOPICS, make).await.and_then(|mut told| {
                let answers = told.answer.take().unwrap_or_default().topics;
                let answers = answers
                    .into_iter()
                    .map(|answer| (answer.name.to_string(), answer.error_code, answer.error_message.map(String::from)));
                outcomes(&told, ApiKey::CREATE_TOPICS, answers.collect())
            });
            match result {
                Ok(outcomes) => return Ok(outcomes),
                Err(error) => self.controller_again(error, attempts).await?,
            }
        }
    }

    async fn ask_controller<R: milena_messages::Request + Send + 'static>(
        &self,
        attempts: &Attempts,
        api: ApiKey,
        make: impl Fn(&Link, i16) -> Result<R>,
    ) -> Result<Told<R::Response>> {
        let to = Whom::Target(&Target::Controller);
        self.ask(to, attempts.request_deadline(), |link| link.version_of(api), make).await
    }

    async fn controller_again(&self, error: Error, attempts: &mut Attempts) -> Result<()> {
        if error.needs_refresh() {
            self.inner.cache.forget_controller();
        }
        attempts.again_after(error).await
    }

    /// The topic, once all its partitions have leaders.
    async fn with_leaders(&self, name: &str, attempts: &Attempts) -> Result<Topic> {
        let (address, cluster) = self.refresh_from(Some(&[name]), attempts.request_deadline()).await?;
        let lacking = |code, partition| Error::Broker {
            address: Arc::clone(&address),
            api: ApiKey::METADATA,
            code,
            topic: Some(name.into()),
            partition,
            message: None,
        };
        let topic = cluster.topics.into_iter().find(|topic| topic.name == name);
        let topic = topic.ok_or_else(|| lacking(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None))?;
        if !topic.error.is_none() {
            return Err(lacking(topic.error, None));
        }
        match topic.partitions.iter().find(|partition| partition.leader.is_none()) {
            Some(partition) => Err(lacking(ErrorCode::LEADER_NOT_AVAILABLE, Some(partition.index))),
            None if topic.partitions.is_empty() => Err(lacking(ErrorCode::LEADER_NOT_AVAILABLE, None)),
            None => Ok(topic),
        }
    }
}

/// The outcomes, or the error for all of them when the broker is not the controller.
fn outcomes<T>(
    told: &Told<T>,
    api: ApiKey,
    answers: Vec<(String, ErrorCode, Option<String>)>,
) -> Result<Vec<TopicOutcome>> {
    let mut outcomes = Vec::with_capacity(answers.len());
    for (name, code, message) in answers {
        let error =
            || told.error(api, code, About { topic: Some(&name), partition: None, message: message.as_deref() });
        match code {
            ErrorCode::NOT_CONTROLLER => return Err(error()),
            code => {
                let result = if code.is_none() { Ok(()) } else { Err(error()) };
                outcomes.push(TopicOutcome { name, result });
            }
        }
    }
    Ok(outcomes)
}
