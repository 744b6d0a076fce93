use tokio::net::TcpStream;

use crate::address::Address;
use crate::dial::HandshakeError;
use crate::server_tls_config::ServerTlsConfig;
use crate::tls_config::{TlsConfig, TlsError};

/// TLS for connections. A build without the feature `tls` cannot make one.
#[derive(Clone, Debug)]
pub enum Tls {}

impl Tls {
    /// Fails: this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &TlsConfig) -> Result<Self, TlsError> {
        Err(TlsError::new("TLS", "this build has none: turn on the feature `tls`"))
    }

    pub(crate) async fn handshake(&self, _: &Address, _: TcpStream) -> Result<crate::Stream, HandshakeError> {
        match *self {}
    }
}

/// TLS for connections that a server accepts. A build without the feature `tls` cannot make one.
#[derive(Clone, Debug)]
pub enum ServerTls {}

impl ServerTls {
    /// Fails: this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &ServerTlsConfig) -> Result<Self, TlsError> {
        Err(TlsError::new("TLS", "this build has none: turn on the feature `tls`"))
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub async fn accept(&self, _: TcpStream) -> Result<crate::Stream, HandshakeError> {
        match *self {}
    }
}
