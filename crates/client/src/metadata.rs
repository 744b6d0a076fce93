use std::sync::Arc;

use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::{ApiKey, ByteString, ErrorCode, MetadataRequest};
use tokio::time::Instant;

use crate::attempts::Attempts;
use crate::cache::Leader;
use crate::client::Client;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::link::Failure;

impl Client {
    /// The cluster and some of its topics: all with `None`, none with an empty list. A topic that does not exist is in
    /// the answer with its error code.
    ///
    /// Naming a topic does not create it, except on brokers before 0.11 that create topics on their own.
    ///
    /// # Errors
    /// No broker answers within the deadline; topic names that cannot be written.
    pub async fn metadata(&self, topics: Option<&[&str]>) -> Result<Cluster> {
        let mut attempts = Attempts::new(&self.inner.config);
        loop {
            match self.refresh(topics, attempts.request_deadline()).await {
                Ok(cluster) => return Ok(cluster),
                Err(error) => attempts.again_after(error).await?,
            }
        }
    }

    /// Asks some broker once, and keeps what it learns.
    pub(crate) async fn refresh(&self, topics: Option<&[&str]>, deadline: Instant) -> Result<Cluster> {
        self.refresh_from(topics, deadline).await.map(|(_, cluster)| cluster)
    }

    /// As [`Client::refresh`], and says which broker it was.
    pub(crate) async fn refresh_from(&self, topics: Option<&[&str]>, deadline: Instant) -> Result<(Arc<str>, Cluster)> {
        let (link, answer) = loop {
            let link = self.any_link(deadline).await?;
            let version = link.version_of(ApiKey::METADATA)?;
            match link.call(request(topics, version), version, deadline).await {
                Ok(answer) => break (link, answer.unwrap_or_default()),
                Err(Failure::Error(error)) => return Err(error),
                // The connection is no longer open, so that the next one is another.
                Err(Failure::NotSent) => {}
            }
        };
        answer.error_code.ok().map_err(|code| Error::Broker {
            address: Arc::clone(link.address()),
            api: ApiKey::METADATA,
            code,
            topic: None,
            partition: None,
            message: None,
        })?;
        let mut cluster = Cluster::from(answer);
        self.inner.cache.learn(&cluster, topics.is_none());
        // Version 0 has no way to ask for no topics and gives all.
        if topics.is_some_and(<[&str]>::is_empty) {
            cluster.topics.clear();
        }
        Ok((Arc::clone(link.address()), cluster))
    }

    /// The leader of a partition: as far as it is known, else looked up once.
    pub(crate) async fn leader(&self, topic: &str, partition: i32, deadline: Instant) -> Result<Leader> {
        let mut code = match self.inner.cache.leader(topic, partition) {
            Ok(leader) => return Ok(leader),
            Err(code) => code,
        };
        let (address, cluster) = self.refresh_from(Some(&[topic]), deadline).await?;
        match self.inner.cache.leader(topic, partition) {
            Ok(leader) => return Ok(leader),
            Err(ErrorCode::NONE) => {}
            Err(now) => code = now,
        }
        match cluster.topic(topic) {
            Some(found) if found.error != ErrorCode::NONE => code = found.error,
            Some(found) => {
                let partition = found.partitions.iter().find(|found| found.index == partition);
                if let Some(error) = partition.map(|found| found.error).filter(|error| *error != ErrorCode::NONE) {
                    code = error;
                }
            }
            None => {}
        }
        if code == ErrorCode::NONE {
            code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        }
        let topic = Some(topic.into());
        Err(Error::Broker { address, api: ApiKey::METADATA, code, topic, partition: Some(partition), message: None })
    }

    /// Forgets what an error shows to be out of date.
    pub(crate) fn doubt(&self, error: &Error, topic: &str) {
        if error.needs_refresh() || error.is_unknown_topic() {
            self.inner.cache.forget_topic(topic);
        }
    }
}

fn request(topics: Option<&[&str]>, version: i16) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic { name: Some(ByteString::from(*name)), ..Default::default() };
    let topics = topics.map(|topics| topics.iter().map(topic).collect());
    MetadataRequest {
        topics: if version == 0 { Some(topics.unwrap_or_default()) } else { topics },
        // Before version 4 it is up to the broker alone.
        allow_auto_topic_creation: version < 4,
        ..Default::default()
    }
}
