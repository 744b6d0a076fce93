use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use milena_connection::ApiVersions;
use milena_messages::{ApiKey, ErrorCode, Request, VersionRange};
use milena_transport::{Address, first_of};
use tokio::time::{Instant, timeout_at};

use crate::attempts::rounded;
use crate::cache::Cache;
use crate::config::ClientConfig;
use crate::error::{ConnectCause, Error, Result};
use crate::link::{Failure, Link, dial};

/// A handle to a cluster. Clones share connections and what is known of the cluster.
///
/// Connections are opened when they are needed, one to each broker, and opened again when they are gone. Requests to one
/// broker go over one connection and are answered in their order, so that a Fetch that waits for data holds up those
/// behind it. Everything ends when the last clone is dropped.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) cache: Cache,
    bootstrap: Vec<Address>,
    /// One slot for each address; its lock is held while the connection is opened, so that it is opened once.
    links: Mutex<HashMap<Arc<str>, Slot>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Link>>>;

/// Which broker a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Whichever is at hand.
    Any,
    /// The broker with that node id.
    Node(i32),
    /// The controller. With KRaft some broker that passes requests on.
    Controller,
    /// The leader of a partition.
    Leader {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
    },
    /// The broker at that `host:port`, whether or not the cluster names it.
    Address(String),
}

/// Which broker an operation asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whom<'a> {
    Target(&'a Target),
    At(&'a Address),
}

/// An answer, and where it came from.
#[derive(Debug)]
pub(crate) struct Told<T> {
    pub(crate) address: Arc<str>,
    pub(crate) version: i16,
    /// `None` for a request that gets no answer.
    pub(crate) answer: Option<T>,
}

impl<T> Told<T> {
    /// The error that stands for a code of this answer.
    pub(crate) fn error(&self, api: ApiKey, code: ErrorCode, about: About<'_>) -> Error {
        Error::Broker {
            address: Arc::clone(&self.address),
            api,
            code,
            topic: about.topic.map(Arc::from),
            partition: about.partition,
            message: about.message.map(str::to_owned),
        }
    }
}

/// What an error code is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About<'a> {
    pub(crate) topic: Option<&'a str>,
    pub(crate) partition: Option<i32>,
    pub(crate) message: Option<&'a str>,
}

impl<'a> About<'a> {
    pub(crate) fn partition(topic: &'a str, partition: i32, message: Option<&'a str>) -> Self {
        Self { topic: Some(topic), partition: Some(partition), message }
    }
}

impl From<i32> for Target {
    fn from(node: i32) -> Self {
        Self::Node(node)
    }
}

impl Client {
    /// Connects to the first bootstrap address that answers. The others are tried when one fails or takes long.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an address that cannot be one; [`Error::Unreachable`] names every address with its cause,
    /// [`Error::Connect`] or [`Error::Connection`] the only one.
    pub async fn connect(config: ClientConfig) -> Result<Self> {
        let bootstrap: Vec<Address> =
            config.bootstrap.iter().map(|address| bootstrap_address(address)).collect::<Result<_>>()?;
        if bootstrap.is_empty() {
            return Err(Error::Invalid("no bootstrap address is given".to_owned()));
        }
        let inner = Inner { config: Arc::new(config), cache: Cache::default(), bootstrap, links: Mutex::default() };
        let client = Self { inner: Arc::new(inner) };
        client.any_link(Instant::now() + client.inner.config.connect_timeout).await?;
        Ok(client)
    }

    /// The configuration.
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// Sends any request, at the highest version that both sides speak, once. A Produce with acks = 0 has no answer: the
    /// default response stands for it, as soon as the request is with the socket.
    ///
    /// ```no_run
    /// # async fn program(client: milena_client::Client) -> milena_client::Result<()> {
    /// use milena_client::Target;
    /// use milena_messages::ListGroupsRequest;
    ///
    /// let answer = client.send(Target::Any, &ListGroupsRequest::default()).await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No connection; no common version; a value that the version cannot carry; no answer within the time for a request.
    /// Error codes inside of the answer are the caller's business.
    pub async fn send<R>(&self, to: impl Into<Target>, request: &R) -> Result<R::Response>
    where
        R: Request + Send + 'static,
    {
        let deadline = self.request_deadline();
        let (target, version) = (to.into(), |link: &Link| link.version_of(R::API_KEY));
        let told = self.ask(Whom::Target(&target), deadline, version, |_, _| Ok(request.clone())).await?;
        Ok(told.answer.unwrap_or_default())
    }

    /// Sends any request at one version, once, whatever the broker says that it speaks. Otherwise as [`Client::send`].
    ///
    /// # Errors
    /// As [`Client::send`]; a broker that does not serve the version closes the connection.
    pub async fn send_at<R>(&self, to: impl Into<Target>, request: &R, version: i16) -> Result<R::Response>
    where
        R: Request + Send + 'static,
    {
        let deadline = self.request_deadline();
        let target = to.into();
        let told = self.ask(Whom::Target(&target), deadline, |_| Ok(version), |_, _| Ok(request.clone())).await?;
        Ok(told.answer.unwrap_or_default())
    }

    /// What a broker speaks.
    ///
    /// # Errors
    /// No connection.
    pub async fn versions(&self, of: impl Into<Target>) -> Result<ApiVersions> {
        let deadline = self.request_deadline();
        Ok(self.link_to(&of.into(), deadline).await?.versions().clone())
    }

    pub(crate) fn request_deadline(&self) -> Instant {
        Instant::now() + self.inner.config.request_timeout
    }

    /// Sends a request that is made when the version is known. A connection that is gone before anything of it was
    /// written is replaced by another one.
    pub(crate) async fn ask<R: Request + Send + 'static>(
        &self,
        to: Whom<'_>,
        deadline: Instant,
        version: impl Fn(&Link) -> Result<i16>,
        make: impl Fn(&Link, i16) -> Result<R>,
    ) -> Result<Told<R::Response>> {
        loop {
            let link = match to {
                Whom::Target(target) => self.link_to(target, deadline).await?,
                Whom::At(address) => self.link(address, deadline).await?,
            };
            let version = version(&link)?;
            let address = Arc::clone(link.address());
            match link.call(make(&link, version)?, version, deadline).await {
                Ok(answer) => return Ok(Told { address, version, answer }),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::NotSent) if deadline <= Instant::now() => {
                    return Err(Error::Closed { address, api: R::API_KEY, cause: None });
                }
                // The connection is no longer open, so that the next one is another.
                Err(Failure::NotSent) => {}
            }
        }
    }

    /// A connection to a broker, opened when there is none.
    pub(crate) async fn link_to(&self, to: &Target, deadline: Instant) -> Result<Link> {
        match to {
            Target::Any => self.any_link(deadline).await,
            Target::Address(address) => self.link(&bootstrap_address(address)?, deadline).await,
            Target::Leader { topic, partition } => {
                let leader = self.leader(topic, *partition, deadline).await?;
                self.link(&leader.address, deadline).await
            }
            Target::Node(id) => {
                let known = match self.inner.cache.broker(*id) {
                    Some(known) => Some(known),
                    None => {
                        self.refresh(Some(&[]), deadline).await?;
                        self.inner.cache.broker(*id)
                    }
                };
                match known {
                    Some(address) => self.link(&address, deadline).await,
                    None => Err(Error::Invalid(format!("the cluster has no broker with node id {id}"))),
                }
            }
            Target::Controller => {
                if self.inner.cache.controller().is_none() {
                    self.refresh(Some(&[]), deadline).await?;
                }
                match self.inner.cache.controller() {
                    Some(address) => self.link(&address, deadline).await,
                    // Before 0.10 nobody says who it is.
                    None => self.any_link(deadline).await,
                }
            }
        }
    }

    /// The connection to an address, opened when there is none.
    pub(crate) async fn link(&self, address: &Address, deadline: Instant) -> Result<Link> {
        let asked = Instant::now();
        timeout_at(deadline, self.link_slot(address)).await.unwrap_or_else(|_| {
            let cause = ConnectCause::Timeout(rounded(deadline.duration_since(asked)));
            Err(Error::Connect { address: Arc::clone(address.text()), cause })
        })
    }

    async fn link_slot(&self, address: &Address) -> Result<Link> {
        let slot = {
            let mut links = self.inner.links.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(links.entry(Arc::clone(address.text())).or_default())
        };
        let mut slot = slot.lock().await;
        if let Some(link) = slot.as_ref().filter(|link| link.is_open()) {
            return Ok(link.clone());
        }
        *slot = None;
        let link = dial(address.clone(), Arc::clone(&self.inner.config)).await?;
        Ok(slot.insert(link).clone())
    }

    fn open_link(&self) -> Option<Link> {
        let links = self.inner.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.values().find_map(|slot| slot.try_lock().ok()?.clone().filter(Link::is_open))
    }

    /// A connection that is open, or the first that opens: to a broker that is known, then to a bootstrap address.
    pub(crate) async fn any_link(&self, deadline: Instant) -> Result<Link> {
        if let Some(link) = self.open_link() {
            return Ok(link);
        }
        let mut addresses = self.inner.cache.brokers();
        for address in &self.inner.bootstrap {
            if addresses.iter().all(|known| known.text() != address.text()) {
                addresses.push(address.clone());
            }
        }
        let attempts = addresses.into_iter().map(|address| {
            let client = self.clone();
            async move { client.link(&address, deadline).await }
        });
        first_of(attempts).await.map_err(|mut errors| match errors.pop() {
            Some(only) if errors.is_empty() => only,
            Some(last) => {
                errors.push(last);
                Error::Unreachable(errors)
            }
            None => Error::Unreachable(errors),
        })
    }

    /// The version to speak on a link, not above one.
    pub(crate) fn version_up_to<R: Request>(link: &Link, most: i16) -> Result<i16> {
        let picked = link.version_of(R::API_KEY)?;
        if picked <= most {
            return Ok(picked);
        }
        let theirs = link.versions().of(R::API_KEY);
        R::VERSIONS.intersect(VersionRange::new(0, most)).highest_common(theirs).ok_or_else(|| Error::Unsupported {
            address: Arc::clone(link.address()),
            api: R::API_KEY,
            reason: format!("a version up to {most} is needed, the broker speaks {theirs}"),
        })
    }
}

fn bootstrap_address(text: &str) -> Result<Address> {
    Address::parse(text).map_err(|error| Error::Invalid(format!("bootstrap {error}")))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.inner.config).finish_non_exhaustive()
    }
}
