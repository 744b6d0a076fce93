/// Why a broker did not start.
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
}
