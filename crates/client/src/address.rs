use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Host and port of a broker.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    text: Arc<str>,
    host_len: usize,
    port: u16,
}

impl Address {
    /// An address that a broker advertises.
    pub(crate) fn new(host: &str, port: i32) -> Result<Self> {
        let Ok(port) = u16::try_from(port) else {
            return Err(Error::Invalid(format!("the cluster advertises {host} with port {port}, which cannot be")));
        };
        let (host, host_len) =
            if host.contains(':') { (format!("[{host}]"), host.len() + 2) } else { (host.to_owned(), host.len()) };
        Ok(Self { text: format!("{host}:{port}").into(), host_len, port })
    }

    /// `host:port`, an IPv6 address in brackets.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let invalid = |why: &str| Err(Error::Invalid(format!("bootstrap address `{text}`: {why}")));
        if text.contains("://") {
            return invalid("write host:port, without a scheme");
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            return invalid("the port is missing, write host:port");
        };
        let Ok(port) = port.parse::<u16>() else {
            return invalid("the port is not a number from 0 to 65535");
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() {
            return invalid("the host is missing, write host:port");
        }
        if bare.contains(':') && bare == host {
            return invalid("write an IPv6 address in brackets, as in [::1]:9092");
        }
        Self::new(bare, port.into())
    }

    /// The host without brackets.
    pub(crate) fn host(&self) -> &str {
        let host = &self.text[..self.host_len];
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// `host:port` as errors show it.
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_every_kind_come_apart_from_their_port() {
        for (text, host, port) in [
            ("localhost:9092", "localhost", 9092),
            (" 10.0.0.1:1 ", "10.0.0.1", 1),
            ("[::1]:9092", "::1", 9092),
            ("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.host(), address.port()), (host, port));
            assert_eq!(&**address.text(), text.trim());
        }
    }

    #[test]
    fn addresses_without_a_port_are_refused_with_a_hint() {
        for text in ["", "localhost", "localhost:", ":9092", "localhost:65536", "::1:9092", "kafka://a:1", "[]:1"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("bootstrap address `{text}`: ")), "{error}");
        }
    }
}
