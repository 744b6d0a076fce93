use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;
use milena_transport::Tls;

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
    /// Brokers to ask first, each as `host:port`, IPv6 addresses in brackets; `localhost:9092` unless said otherwise. One
    /// that answers is enough: the cluster names the others.
    pub bootstrap: Vec<String>,
    /// Speaks TLS to every broker; plain unless said otherwise. Needs the feature `tls`, which is on by default.
    pub tls: Option<Tls>,
    /// How this client calls itself; shows in the broker's logs and quotas. `milena` unless said otherwise.
    pub client_id: String,
    /// Most time for one connection, from the look-up of the name until the broker has said which versions it speaks. 10 s
    /// unless said otherwise.
    pub connect_timeout: Duration,
    /// Most time for the answer to one request. 30 s unless said otherwise.
    pub request_timeout: Duration,
    /// Most time for a whole operation, with look-ups, reconnects and repetitions. 60 s unless said otherwise.
    pub deadline: Duration,
    /// First pause before an operation is repeated; it doubles up to 1 s. 50 ms unless said otherwise.
    pub retry_backoff: Duration,
    /// How long to believe that a topic which the brokers do not know was created a moment ago, and to ask again. 5 s
    /// unless said otherwise; never longer than the deadline.
    pub unknown_topic_grace: Duration,
    /// Whether a batch is produced again when the broker may have appended it already, because the connection or the time
    /// ended before the answer. With `true` records may be there twice, with `false`, the default, the caller gets the
    /// error and decides.
    pub resend_unanswered: bool,
    /// Largest frame taken from a broker, in bytes; 100 MiB unless said otherwise.
    pub max_frame: usize,
    /// Sees every frame; costs a copy of the traffic when it is there, and nothing when not.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            bootstrap: vec!["localhost:9092".to_owned()],
            tls: None,
            client_id: "milena".to_owned(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(60),
            retry_backoff: Duration::from_millis(50),
            unknown_topic_grace: Duration::from_secs(5),
            resend_unanswered: false,
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
            .field("client_id", &self.client_id)
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout)
            .field("deadline", &self.deadline)
            .field("retry_backoff", &self.retry_backoff)
            .field("unknown_topic_grace", &self.unknown_topic_grace)
            .field("resend_unanswered", &self.resend_unanswered)
            .field("max_frame", &self.max_frame)
            .field("observer", &self.observer.is_some())
            .finish()
    }
}
