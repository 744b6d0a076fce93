use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use milena_connection::{ClientConfig as MachineConfig, ClientConnection};
use milena_messages::ByteString;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::driver::Driver;
use super::{Link, QUEUE};
use crate::address::Address;
use crate::config::ClientConfig;
use crate::error::{ConnectCause, Error, Result};
use crate::observer::Tap;

/// How long one of several addresses is tried alone before the next one is tried beside it.
const STAGGER: Duration = Duration::from_millis(250);

/// Opens a connection and asks the broker which versions it speaks, all within the time to connect.
pub(crate) async fn dial(address: Address, config: Arc<ClientConfig>) -> Result<Link> {
    let limit = config.connect_timeout;
    let deadline = Instant::now() + limit;
    let late = |cause| Error::Connect { address: Arc::clone(address.text()), cause };
    let stream =
        timeout_at(deadline, connect(&address)).await.unwrap_or_else(|_| Err(late(ConnectCause::Timeout(limit))))?;
    timeout_at(deadline, start(stream, address.text(), &config))
        .await
        .unwrap_or_else(|_| Err(late(ConnectCause::SilentOnApiVersions(limit))))
}

/// Asks the broker at the other end of a stream which versions it speaks, and hands the stream to a task.
pub(super) async fn start<S>(stream: S, name: &Arc<str>, config: &ClientConfig) -> Result<Link>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let machine = ClientConnection::new(MachineConfig {
        client_id: Some(ByteString::from(config.client_id.as_str())),
        max_frame: config.max_frame,
        ..MachineConfig::default()
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

async fn connect(address: &Address) -> Result<TcpStream> {
    let name = address.text();
    let resolve = |cause| Error::Connect { address: Arc::clone(name), cause: ConnectCause::Resolve(cause) };
    let found: Vec<SocketAddr> =
        lookup_host((address.host(), address.port())).await.map_err(|error| resolve(error.to_string()))?.collect();
    let attempts = found.into_iter().map(|at| {
        let name = Arc::clone(name);
        async move { TcpStream::connect(at).await.map_err(|error| Error::connect_io(&name, &error)) }
    });
    let stream = match first_of(attempts).await {
        Ok(stream) => stream,
        Err(mut errors) => return Err(errors.pop().unwrap_or_else(|| resolve("the name has no address".to_owned()))),
    };
    stream.set_nodelay(true).map_err(|error| Error::connect_io(name, &error))?;
    Ok(stream)
}

/// Runs attempts until one succeeds, and drops the others. The next one starts when the one before fails, or takes long.
/// The errors are in the order of the attempts.
pub(crate) async fn first_of<T, F>(attempts: impl IntoIterator<Item = F>) -> Result<T, Vec<Error>>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let mut attempts = attempts.into_iter().enumerate().peekable();
    let mut running = JoinSet::new();
    let mut errors = Vec::new();
    let mut start = true;
    let mut next_at = Instant::now();
    loop {
        if start {
            if let Some((index, attempt)) = attempts.next() {
                running.spawn(async move { (index, attempt.await) });
            }
            next_at = Instant::now() + STAGGER;
        }
        start = tokio::select! {
            done = running.join_next() => match done {
                None => {
                    errors.sort_by_key(|(index, _)| *index);
                    return Err(errors.into_iter().map(|(_, error)| error).collect());
                }
                Some(Ok((_, Ok(value)))) => return Ok(value),
                Some(Ok((index, Err(error)))) => {
                    errors.push((index, error));
                    true
                }
                // Only a panic or the end of the runtime comes here.
                Some(Err(_)) => true,
            },
            () = sleep_until(next_at), if attempts.peek().is_some() => true,
        };
    }
}
