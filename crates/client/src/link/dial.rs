use std::sync::Arc;

use milena_connection::{ClientConnection, ClientConnectionConfig};
use milena_messages::ByteString;
use milena_transport::Address;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::driver::Driver;
use super::{Link, QUEUE};
use crate::config::ClientConfig;
use crate::error::{ConnectCause, Error, Result};
use crate::observer::Tap;

/// Opens a connection and asks the broker which versions it speaks, all within the time to connect.
pub(crate) async fn dial(address: Address, config: Arc<ClientConfig>) -> Result<Link> {
    let limit = config.connect_timeout;
    let deadline = Instant::now() + limit;
    let late = |cause| Error::Connect { address: Arc::clone(address.text()), cause };
    let stream = timeout_at(deadline, milena_transport::dial(&address, config.tls.as_ref()))
        .await
        .map_err(|_| late(ConnectCause::Timeout(limit)))?
        .map_err(|error| Error::dial(address.text(), error))?;
    timeout_at(deadline, start(stream, address.text(), &config))
        .await
        .unwrap_or_else(|_| Err(late(ConnectCause::SilentOnApiVersions(limit))))
}

/// Asks the broker at the other end of a stream which versions it speaks, and hands the stream to a task.
pub(super) async fn start<S>(stream: S, name: &Arc<str>, config: &ClientConfig) -> Result<Link>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let machine = ClientConnection::new(ClientConnectionConfig {
        client_id: Some(ByteString::from(config.client_id.as_str())),
        max_frame: config.max_frame,
        ..ClientConnectionConfig::default()
    });
    let tap = config.observer.clone().map(|observer| Tap::new(observer, Arc::clone(name), config.max_frame));
    let mut driver = Driver::new(stream, machine, Arc::clone(name), tap);
    driver.negotiate().await?;
    let versions = Arc::new(driver.machine().versions().cloned().unwrap_or_default());
    tracing::debug!(address = &**name, apis = versions.iter().len(), "connected");
    let (commands, queue) = mpsc::channel(QUEUE);
    tokio::spawn(driver.run(queue));
    Ok(Link { address: Arc::clone(name), versions, commands })
}
