/// Why a broker or cluster did not start, or did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// The broker cannot listen on the address.
    #[error("cannot listen on {host}:{port}")]
    Listen {
        /// The host as configured.
        host: String,
        /// The port as configured.
        port: u16,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A setting is invalid.
    #[error("{setting} cannot be {value}: {reason}")]
    Config {
        /// The field of [`BrokerConfig`](crate::BrokerConfig).
        setting: &'static str,
        /// Its value.
        value: String,
        /// What is expected.
        reason: &'static str,
    },
    /// The certificates cannot be used.
    #[error("TLS: {0}")]
    Tls(String),
    /// The data folder, or the one to begin with, cannot be read or written.
    #[error("the folder {} cannot be used", folder.display())]
    Folder {
        /// The folder as configured.
        folder: std::path::PathBuf,
        /// What is wrong.
        source: std::io::Error,
    },
    /// What was asked of a node cannot be done.
    #[error("node {node}: {reason}")]
    Node {
        /// The id of the node.
        node: i32,
        /// Why not.
        reason: &'static str,
    },
    /// A fault rule cannot be used.
    #[error("{0}")]
    Fault(String),
    /// No request was as expected within the time.
    #[error("no request was as expected within {waited:?}; {seen} were received")]
    Timeout {
        /// How long was waited.
        waited: std::time::Duration,
        /// How many requests were looked at.
        seen: usize,
    },
    /// The cluster refuses an operation, as it would refuse the request of a client.
    #[error("{code}: {message}")]
    Refused {
        /// The error code that a client would get.
        code: milena_messages::ErrorCode,
        /// What is wrong.
        message: String,
    },
}
