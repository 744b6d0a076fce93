/// Why a broker did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// The address cannot be listened at.
    #[error("cannot listen at {host}:{port}: {source}")]
    Listen {
        /// The host as configured.
        host: String,
        /// The port as configured.
        port: u16,
        /// What the system says.
        source: std::io::Error,
    },
    /// A setting that makes no sense.
    #[error("{setting} cannot be {value}: {reason}")]
    Config {
        /// The field of [`BrokerConfig`](crate::BrokerConfig).
        setting: &'static str,
        /// What it was set to.
        value: String,
        /// What is expected.
        reason: &'static str,
    },
}
