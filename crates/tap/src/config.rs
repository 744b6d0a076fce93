use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;
use milena_connection::fault::Rule;
use milena_transport::{Address, Tls};

use crate::cap::Cap;

/// Where a [`Tap`](crate::Tap) stands, and what it does to what passes.
#[derive(Clone, Debug)]
pub struct TapConfig {
    /// Host or address to listen at, without brackets; `127.0.0.1` unless said otherwise.
    pub host: String,
    /// Port to listen at; listeners for brokers take the next free ones above. 0, the default, takes free ones anywhere.
    pub port: u16,
    /// Host that clients are told to connect to. `None` is the host listened at, or the address at which a client reached
    /// this side when that is any address.
    pub advertised_host: Option<String>,
    /// Brokers of the cluster to ask first; one that answers is enough.
    pub bootstrap: Vec<Address>,
    /// Speaks TLS to the cluster. Clients speak plain to this side in any case.
    pub tls: Option<Tls>,
    /// What goes wrong on purpose.
    pub faults: Vec<Rule>,
    /// Where the random numbers of rules with a probability start; `None`, the default, takes another start each time.
    pub fault_seed: Option<u64>,
    /// Versions that clients are not to use.
    pub caps: Vec<Cap>,
    /// Largest frame taken from either side, in bytes; 100 MiB unless said otherwise. A larger one ends its connection.
    pub max_frame: usize,
    /// Connections at the same time; one more is closed at once. 1024 unless said otherwise.
    pub max_connections: usize,
    /// Most brokers that get a listener; 256 unless said otherwise. Clients are told the real addresses of more.
    pub max_brokers: usize,
    /// Most time until a broker takes a connection, TLS included; 10 s unless said otherwise.
    pub connect_timeout: Duration,
}

impl Default for TapConfig {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            advertised_host: None,
            bootstrap: Vec::new(),
            tls: None,
            faults: Vec::new(),
            fault_seed: None,
            caps: Vec::new(),
            max_frame: DEFAULT_MAX_FRAME,
            max_connections: 1024,
            max_brokers: 256,
            connect_timeout: Duration::from_secs(10),
        }
    }
}
