use std::fmt;
use std::sync::Arc;

use milena_connection::ApiVersions;
use milena_messages::Request;
use milena_transport::Address;
use tokio::time::Instant;

use crate::call::{Operation, Reply, Route, Target, configured, link_to, send_once};
use crate::config::ClientConfig;
use crate::coordinator::coordinator_moved;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::metadata::{Cluster, Topic};
use crate::net::Link;
use crate::timing::Limit;

/// A handle to a cluster. Clones share connections and what is known of the cluster.
///
/// Connections are opened when they are needed, one to each broker, and opened again when they are gone. Requests to one
/// broker go over one connection and get their responses in order, so that a Fetch that waits for data holds up the requests
/// after it. When the last clone is dropped, all connections are closed and their tasks end.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<Core>,
}

impl Client {
    /// Connects to the first bootstrap address that responds. The others are tried when one fails or takes long.
    ///
    /// # Errors
    /// [`Error::Invalid`] for text that is not an address; [`Error::Unreachable`] names every address with its cause,
    /// [`Error::Connect`] or [`Error::Misbehaved`] the only one.
    pub async fn connect(config: ClientConfig) -> Result<Self> {
        let bootstrap: Vec<Address> =
            config.bootstrap.iter().flat_map(|list| list.split(',')).map(configured).collect::<Result<_>>()?;
        if bootstrap.is_empty() {
            return Err(Error::Invalid("no bootstrap address is given".to_owned()));
        }
        let core = Arc::new(Core::new(config, bootstrap));
        core.metadata.any_link(&core.pool, Instant::now() + core.config.connect_timeout).await?;
        Ok(Self { core })
    }

    /// The configuration.
    pub fn config(&self) -> &ClientConfig {
        &self.core.config
    }

    /// Sends any request, at the highest version that both sides speak, once. A Produce with acks = 0 gets no response: the
    /// default response is returned as soon as the request is with the socket.
    ///
    /// ```no_run
    /// # async fn program(client: milena_client::Client) -> milena_client::Result<()> {
    /// use milena_client::Target;
    /// use milena_messages::ListGroupsRequest;
    ///
    /// let response = client.send(Target::Any, &ListGroupsRequest::default()).await?;
    /// # let _ = response;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No connection; no common version; a value that the version cannot carry; no response within the time for a request.
    /// Error codes inside of the response are left to the caller.
    pub async fn send<R>(&self, to: impl Into<Target>, request: &R) -> Result<R::Response>
    where
        R: Request + Send + 'static,
        R::Response: Send,
    {
        self.send_as(to.into(), request, |link| link.version_of(R::API_KEY)).await
    }

    /// Sends any request at one version, once, even if the broker does not say that it speaks it. Otherwise as
    /// [`Client::send`].
    ///
    /// # Errors
    /// As [`Client::send`]; a broker that does not serve the version closes the connection.
    pub async fn send_at<R>(&self, to: impl Into<Target>, request: &R, version: i16) -> Result<R::Response>
    where
        R: Request + Send + 'static,
        R::Response: Send,
    {
        self.send_as(to.into(), request, |_| Ok(version)).await
    }

    async fn send_as<R>(&self, to: Target, request: &R, version: impl Fn(&Link) -> Result<i16>) -> Result<R::Response>
    where
        R: Request + Send + 'static,
        R::Response: Send,
    {
        let route = Route::Target(&to);
        let (result, _) = send_once(&self.core, route, self.limit(), version, |_, _| Ok(request.clone())).await;
        if result.as_ref().is_err_and(Error::needs_refresh) {
            self.core.metadata.rotate();
        }
        if let Target::Coordinator { kind, key } = &to {
            let moved = match &result {
                Ok(reply) => reply.body.as_ref().is_some_and(|body| coordinator_moved(body)),
                Err(error) => error.needs_refresh(),
            };
            if moved {
                self.core.metadata.cache.forget_coordinator(*kind, key);
            }
        }
        let Reply { body, .. } = result?;
        Ok(body.unwrap_or_default())
    }

    /// What a broker speaks.
    ///
    /// # Errors
    /// No connection.
    pub async fn versions(&self, of: impl Into<Target>) -> Result<ApiVersions> {
        Ok(link_to(&self.core, Route::Target(&of.into()), self.limit()).await?.versions().clone())
    }

    /// The cluster and some of its topics: all with `None`, none with an empty list. A topic that does not exist is in the
    /// response with its error code.
    ///
    /// Naming a topic does not create it, except on brokers before 0.11 that create topics by themselves.
    ///
    /// # Errors
    /// No broker responds within the deadline; topic names that cannot be written.
    pub async fn metadata(&self, topics: Option<&[&str]>) -> Result<Cluster> {
        let mut operation = Operation::new(&self.core);
        loop {
            let result = operation.fetch_metadata(topics).await;
            if let Some(snapshot) = operation.settle(result).await? {
                return Ok(Arc::try_unwrap(snapshot).map_or_else(|shared| shared.cluster.clone(), |own| own.cluster));
            }
        }
    }

    /// A topic that exists, with its partitions. Partitions may be without leader.
    ///
    /// # Errors
    /// No such topic, after [`ClientConfig::unknown_topic_grace`]; other errors of the topic; no broker responds.
    pub async fn topic(&self, name: &str) -> Result<Topic> {
        let mut operation = Operation::new(&self.core).about(name);
        loop {
            let result = match operation.fetch_metadata(Some(&[name])).await {
                Ok(snapshot) => snapshot.found(name),
                Err(error) => Err(error),
            };
            if let Some(topic) = operation.settle(result).await? {
                return Ok(topic);
            }
        }
    }

    /// The limit of a single request.
    fn limit(&self) -> Limit {
        let timeout = self.core.config.request_timeout;
        Limit { timeout, deadline: Instant::now() + timeout }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.core.config).finish_non_exhaustive()
    }
}
