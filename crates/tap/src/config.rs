use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;
use milena_connection::fault::Rule;
use milena_transport::{Address, Tls};

use crate::cap::Cap;

/// Where a [`Tap`](crate::Tap) stands, and what it does to what passes.
#[derive(Clone, Debug)]
pub struct TapConfig {
    /// Host or address to listen at, without brackets; `127.0.0.1` by default.
    pub host: String,
    /// Port to listen at; listeners for brokers take the next free ones above. 0, the default, takes free ones anywhere.
    pub port: u16,
    /// Host that clients get to connect to. `None` is the host listened at, or the address at which a client reached
    /// the tap when that is any address.
    pub advertised_host: Option<String>,
    /// Brokers of the cluster to ask first; one that responds is enough.
    pub bootstrap: Vec<Address>,
    /// Speaks TLS to the cluster. Clients speak plaintext to the tap in any case.
    pub tls: Option<Tls>,
    /// What goes wrong on purpose.
    pub faults: Vec<Rule>,
    /// Where the random numbers of rules with a probability start; `None`, the default, takes another start each time.
    pub fault_seed: Option<u64>,
    /// Versions and features that clients do not get to see.
    pub caps: Vec<Cap>,
    /// Largest frame taken from either side, in bytes; 100 MiB by default. A larger one ends its connection.
    pub max_frame: usize,
    /// Connections at the same time; one more is closed at once. `None`, the default, is what the process's limit of open
    /// files has room for: two for each connection.
    pub max_connections: Option<usize>,
    /// Most brokers that get a listener; 256 by default. Clients get the real addresses of more.
    pub max_brokers: usize,
    /// Most time until a broker takes a connection, TLS included; 10 s by default.
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
            max_connections: None,
            max_brokers: 256,
            connect_timeout: Duration::from_secs(10),
        }
    }
}
