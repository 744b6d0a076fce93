use std::time::Duration;

use milena_client::{Client, ClientConfig, NewTopic};

use crate::error::{Error, Result};
use crate::kafka::KafkaServer;
use crate::milena::{self, Called};
use crate::suite::{Failure, Outcome};

/// The cluster that scenarios run against.
pub(super) struct Stage {
    pub(super) kafka: KafkaServer,
}

impl Stage {
    pub(super) fn new(kafka: KafkaServer) -> Self {
        Self { kafka }
    }

    /// A client with little patience.
    pub(super) async fn client(&self, deadline: Duration) -> Result<Client, Failure> {
        let config = ClientConfig {
            bootstrap: self.kafka.bootstrap().split(',').map(str::to_owned).collect(),
            client_id: "milena-interop".to_owned(),
            deadline,
            ..ClientConfig::default()
        };
        Ok(Client::connect(config).await?)
    }

    /// A topic whose partitions are on these nodes, in this order.
    pub(super) async fn topic(&self, name: &str, nodes: &[i32], settings: &[(&str, &str)]) -> Outcome {
        let client = self.client(Duration::from_secs(30)).await?;
        let assignments = nodes.iter().map(|node| vec![*node]).collect();
        let mut topic = NewTopic { name: name.to_owned(), assignments, ..NewTopic::default() };
        for (setting, value) in settings {
            topic = topic.with_config(*setting, *value);
        }
        client.create_topic(topic).await?;
        Ok(())
    }

    /// Calls `milena` with the addresses of this cluster.
    pub(super) async fn milena(&self, args: &[&str], stdin: &str) -> Result<Called, Failure> {
        let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        args.extend(["--bootstrap".to_owned(), self.kafka.bootstrap()]);
        let stdin = stdin.to_owned();
        // Apart from the runtime, which has clients to serve.
        let called = tokio::task::spawn_blocking(move || {
            milena::call(&args.iter().map(String::as_str).collect::<Vec<_>>(), &stdin)
        });
        Ok(called.await.map_err(|panic| Error::Other(panic.to_string()))??)
    }

    /// Calls `milena`, which must succeed; its stdout.
    pub(super) async fn succeeds(&self, args: &[&str], stdin: &str) -> Result<String, Failure> {
        let called = self.milena(args, stdin).await?;
        match called.code {
            0 => Ok(called.stdout),
            code => Err(format!("milena {args:?} exits with {code}: {}", called.stderr).into()),
        }
    }
}
