use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::address::Address;

/// Bytes on their way in each direction of a connection, as in the buffers of sockets.
const BUFFER: usize = 64 * 1024;

/// A network in memory: clients and brokers of one process that have the same one connect without sockets, so that a test
/// with a paused clock of tokio is the same each time. Clones are the same network.
///
/// ```
/// use milena_transport::{Address, MemoryNetwork};
/// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let network = MemoryNetwork::new();
/// let mut listener = network.listen("kafka:9092");
/// let mut client = network.connect(&Address::parse("kafka:9092").unwrap())?;
/// client.write_all(b"hello").await?;
/// let mut server = listener.accept().await.unwrap();
/// let mut read = [0; 5];
/// server.read_exact(&mut read).await?;
/// assert_eq!(&read, b"hello");
/// drop(listener);
/// assert!(network.connect(&Address::parse("kafka:9092").unwrap()).is_err());
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryNetwork(Arc<Mutex<HashMap<String, UnboundedSender<DuplexStream>>>>);

impl MemoryNetwork {
    /// A network without listeners.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens at an address, as `host:port`; IPv6 addresses are in brackets. An older listener there gets no more
    /// connections.
    pub fn listen(&self, address: &str) -> MemoryListener {
        let (sender, connections) = unbounded_channel();
        self.lock().insert(address.to_owned(), sender);
        MemoryListener(connections)
    }

    /// Connects to a listener.
    ///
    /// # Errors
    /// [`io::ErrorKind::ConnectionRefused`] when nobody listens there.
    pub fn connect(&self, address: &Address) -> io::Result<DuplexStream> {
        let (client, server) = duplex(BUFFER);
        let sent = self.lock().get(&**address.text()).is_some_and(|listener| listener.send(server).is_ok());
        if sent { Ok(client) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, UnboundedSender<DuplexStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for MemoryNetwork {
    /// Whether it is the same network.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for MemoryNetwork {}

/// A listener in memory. It stops listening when it is dropped.
#[derive(Debug)]
pub struct MemoryListener(UnboundedReceiver<DuplexStream>);

impl MemoryListener {
    /// The next connection; `None` when another listener took the address, and all connections before were given.
    pub async fn accept(&mut self) -> Option<DuplexStream> {
        self.0.recv().await
    }
}
