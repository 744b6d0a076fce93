//! Opens connections.

use std::sync::Arc;

use milena_connection::{ClientConnection, ClientConnectionConfig};
use milena_messages::ByteString;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::driver::Driver;
use super::endpoint::Endpoint;
use super::link::Link;
use crate::config::ClientConfig;
use crate::error::{ConnectCause, Error, Origin, Result};
use crate::observer::Watch;

/// Opens a connection and asks the broker which versions it speaks, all within the time to connect.
pub(super) async fn dial(endpoint: &Endpoint, config: &ClientConfig) -> Result<Link> {
    let limit = config.connect_timeout;
    let deadline = Instant::now() + limit;
    let (address, origin) = (endpoint.address.text(), endpoint.origin);
    let late = |cause| Error::Connect { address: Arc::clone(address), origin, cause };
    if let Some(network) = &config.network {
        let stream = network.connect(&endpoint.address).map_err(|error| Error::dial(address, origin, error.into()))?;
        return timeout_at(deadline, start(stream, address, origin, config))
            .await
            .unwrap_or_else(|_| Err(late(ConnectCause::SilentOnApiVersions(limit))));
    }
    let stream = timeout_at(deadline, milena_transport::dial(&endpoint.address, config.tls.as_ref()))
        .await
        .map_err(|_| late(ConnectCause::Timeout(limit)))?
        .map_err(|error| Error::dial(address, origin, error))?;
    timeout_at(deadline, start(stream, address, origin, config))
        .await
        .unwrap_or_else(|_| Err(late(ConnectCause::SilentOnApiVersions(limit))))
}

/// Asks the broker at the other end of a stream which versions it speaks, and gives the stream to a task.
pub(super) async fn start<S>(stream: S, address: &Arc<str>, origin: Origin, config: &ClientConfig) -> Result<Link>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let machine = ClientConnection::new(ClientConnectionConfig {
        client_id: Some(ByteString::from(config.client_id.as_str())),
        max_frame: config.max_frame,
        ..ClientConnectionConfig::default()
    });
    let watch = Watch::new(config.observer.as_ref(), address, config.max_frame);
    let mut driver = Driver::new(stream, machine, Arc::clone(address), watch, config.max_throttle);
    driver.negotiate(origin).await?;
    let versions = Arc::new(driver.machine().versions().cloned().unwrap_or_default());
    tracing::debug!(address = &**address, apis = versions.iter().len(), "connected");
    let (commands, queue) = mpsc::unbounded_channel();
    let open = Arc::clone(driver.open());
    tokio::spawn(driver.run(queue));
    Ok(Link { address: Arc::clone(address), versions, commands, open })
}
