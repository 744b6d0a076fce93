use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;
use milena_transport::{MemoryNetwork, Tls};

use crate::observer::Observer;

/// How to reach a cluster, and how long to try.
///
/// Set up with struct update syntax:
///
/// ```
/// use milena_client::ClientConfig;
///
/// let config = ClientConfig {
///     bootstrap: vec!["kafka-1:9092".to_owned(), "[::1]:9092".to_owned()],
///     client_id: "letters".to_owned(),
///     ..ClientConfig::default()
/// };
/// # let _ = config;
/// ```
#[derive(Clone)]
pub struct ClientConfig {
    /// Brokers to connect to first, each as `host:port`, IPv6 addresses in brackets; `localhost:9092` by default. An entry
    /// may also be a list with commas, as in Kafka's `bootstrap.servers`. One broker that responds is enough: the cluster
    /// names the others.
    pub bootstrap: Vec<String>,
    /// TLS for every connection; none by default. Needs the feature `tls`, which is on by default.
    pub tls: Option<Tls>,
    /// Connects within this process, to brokers that listen in the same network, and to no others. Such connections have no
    /// TLS. None by default: connections are of TCP.
    pub network: Option<MemoryNetwork>,
    /// Client id, which shows in the broker's logs and quotas. `milena` by default.
    pub client_id: String,
    /// Most time for one connection, from the look-up of the name until the broker has said which versions it speaks. 10 s
    /// by default.
    pub connect_timeout: Duration,
    /// Most time for the response to one request. 30 s by default.
    pub request_timeout: Duration,
    /// Most time for a whole operation, with look-ups, reconnects and retries. 60 s by default.
    pub deadline: Duration,
    /// First pause before a retry; it doubles up to 1 s. 50 ms by default.
    pub retry_backoff: Duration,
    /// How long to wait for a topic that the brokers do not know, since it may have been created a moment ago. 5 s by
    /// default; never longer than the deadline. [`Client::list_offsets`](crate::Client::list_offsets) waits as long for
    /// partitions without leader.
    pub unknown_topic_grace: Duration,
    /// Whether a batch is produced again when the broker may have appended it already, because the connection or the time
    /// ended before the response. With `true` records may be there twice, with `false`, the default, the caller gets the
    /// error, of which [`Error::possibly_written`](crate::Error::possibly_written) is true, and decides.
    pub resend_unanswered: bool,
    /// Longest time for which a client stays silent because a broker throttles it (KIP-219), for one request and for one
    /// operation; 5 minutes by default. This time does not count towards the other limits.
    pub max_throttle: Duration,
    /// Most bytes of a batch to produce, before compression; 1 MiB by default, which every topic accepts unless it is
    /// configured otherwise. A larger record is sent alone.
    pub max_batch_bytes: usize,
    /// Whether a record to produce that has no timestamp (-1) gets the time of this machine, as with Kafka's own producer. On by
    /// default; off keeps such records without timestamp.
    pub stamp_records: bool,
    /// Largest request, in bytes; 100 MiB by default, as `socket.request.max.bytes` of the broker. A broker closes the
    /// connection when it gets a larger one.
    pub max_request_bytes: usize,
    /// Largest frame taken from a broker, in bytes; 100 MiB by default.
    pub max_frame: usize,
    /// Sees every frame; costs a copy of the traffic when it is there, and nothing when not.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            bootstrap: vec!["localhost:9092".to_owned()],
            tls: None,
            network: None,
            client_id: "milena".to_owned(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(60),
            retry_backoff: Duration::from_millis(50),
            unknown_topic_grace: Duration::from_secs(5),
            resend_unanswered: false,
            max_throttle: Duration::from_secs(300),
            max_batch_bytes: 1 << 20,
            stamp_records: true,
            max_request_bytes: DEFAULT_MAX_FRAME,
            max_frame: DEFAULT_MAX_FRAME,
            observer: None,
        }
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("bootstrap", &self.bootstrap)
            .field("tls", &self.tls)
            .field("network", &self.network.is_some())
            .field("client_id", &self.client_id)
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout)
            .field("deadline", &self.deadline)
            .field("retry_backoff", &self.retry_backoff)
            .field("unknown_topic_grace", &self.unknown_topic_grace)
            .field("resend_unanswered", &self.resend_unanswered)
            .field("max_throttle", &self.max_throttle)
            .field("max_batch_bytes", &self.max_batch_bytes)
            .field("stamp_records", &self.stamp_records)
            .field("max_request_bytes", &self.max_request_bytes)
            .field("max_frame", &self.max_frame)
            .field("observer", &self.observer.is_some())
            .finish()
    }
}
