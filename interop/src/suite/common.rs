//! What scenarios share.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use milena_client::{Client, ClientConfig, CoordinatorKind, NewTopic, RangeOptions, Record, Start, Stop, Target as To};
use milena_messages::{ErrorCode, HeartbeatRequest};

use super::{Failure, Outcome, Target};

impl Target {
    /// A new client.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        let config = ClientConfig {
            bootstrap: self.bootstrap.split(',').map(str::to_owned).collect(),
            client_id: "milena-interop".to_owned(),
            deadline: Duration::from_secs(20),
            unknown_topic_grace: Duration::from_millis(200),
            ..ClientConfig::default()
        };
        Ok(Client::connect(config).await?)
    }

    /// A client, and a new topic of one partition named after the scenario.
    pub(super) async fn client_and_topic(&self) -> Result<(Client, String), Failure> {
        self.client_and_topic_with(&[]).await
    }

    /// As [`Target::client_and_topic`], with settings.
    pub(super) async fn client_and_topic_with(&self, settings: &[(&str, &str)]) -> Result<(Client, String), Failure> {
        let client = self.client().await?;
        let mut topic = NewTopic::new(self.prefix.clone(), 1, 1);
        for (name, value) in settings {
            topic = topic.with_config(*name, *value);
        }
        let created = client.create_topic(topic).await?;
        Ok((client, created.name))
    }
}

/// Waits until the coordinators of groups respond. A new Kafka creates the topic of groups when it is first asked for one,
/// and loads each of its partitions. Scenarios of brokers that never get there fail by themselves.
pub(super) async fn wait_for_coordinators(bootstrap: &str) {
    let target = Target { bootstrap: bootstrap.to_owned(), prefix: String::new() };
    let Ok(client) = target.client().await else { return };
    let begun = Instant::now();
    // So many that each partition of the topic is the one of some group.
    for number in 0..32 {
        let id = format!("coordinator-{number}");
        let to = To::Coordinator { kind: CoordinatorKind::Group, key: id.clone() };
        let request = HeartbeatRequest {
            group_id: id.into(),
            generation_id: 1,
            member_id: "nobody".into(),
            ..Default::default()
        };
        let is_ready = async || match client.send(to.clone(), &request).await {
            Ok(response) => !response.error_code.is_retriable(),
            Err(_) => false,
        };
        while !is_ready().await && begun.elapsed() < Duration::from_secs(30) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Every record of partition 0.
pub(super) async fn read_all(client: &Client, topic: &str) -> Result<Vec<Record>, Failure> {
    let mut reader = client.fetch_range(topic, 0, Start::EARLIEST, Stop::End, RangeOptions::default()).await?;
    Ok(reader.read_all().await?)
}

/// Both are equal.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("{what}: found {found:?}, wanted {wanted:?}").into()) }
}

/// It holds.
pub(crate) fn holds(what: impl Into<String>, it: bool) -> Outcome {
    if it { Ok(()) } else { Err(what.into().into()) }
}

/// The broker refused with that code.
pub(super) fn refused<T: Debug>(what: &str, result: milena_client::Result<T>, code: ErrorCode) -> Outcome {
    match result {
        Err(error) if error.code() == Some(code) => Ok(()),
        Err(error) => Err(format!("{what}: wanted {code}, got: {error}").into()),
        Ok(value) => Err(format!("{what}: wanted {code}, got {value:?}").into()),
    }
}
