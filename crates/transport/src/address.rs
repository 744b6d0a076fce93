use std::fmt;
use std::sync::Arc;

/// Host and port of a broker. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    text: Arc<str>,
    host_len: usize,
    port: u16,
}

/// Text or numbers that are not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address `{text}`: {why}")]
pub struct AddressError {
    text: String,
    why: &'static str,
}

impl Address {
    /// An address that a broker advertises: a host without brackets, and a port as it stands in messages.
    ///
    /// # Errors
    /// The port is not a number from 0 to 65535.
    pub fn new(host: &str, port: i32) -> Result<Self, AddressError> {
        let bracketed = host.contains(':');
        let host = if bracketed { format!("[{host}]") } else { host.to_owned() };
        match u16::try_from(port) {
            Ok(port) => Ok(Self { host_len: host.len(), text: format!("{host}:{port}").into(), port }),
            Err(_) => {
                Err(AddressError { text: format!("{host}:{port}"), why: "the port is not a number from 0 to 65535" })
            }
        }
    }

    /// Reads `host:port`, an IPv6 address in brackets.
    ///
    /// ```
    /// use milena_transport::Address;
    ///
    /// let address = Address::parse("[::1]:9092")?;
    /// assert_eq!((address.host(), address.port()), ("::1", 9092));
    /// # Ok::<(), milena_transport::AddressError>(())
    /// ```
    ///
    /// # Errors
    /// No host, no port, a scheme in front, or an IPv6 address without brackets.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let invalid = |why| Err(AddressError { text: text.to_owned(), why });
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
    pub fn host(&self) -> &str {
        let host = &self.text[..self.host_len];
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`, an IPv6 address in brackets.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_every_kind_of_host_from_its_port() {
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
    fn refuses_addresses_without_a_port_and_says_what_to_write() {
        for text in ["", "localhost", "localhost:", ":9092", "localhost:65536", "::1:9092", "kafka://a:1", "[]:1"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("address `{text}`: ")), "{error}");
        }
        assert_eq!(
            Address::new("kafka", -1).unwrap_err().to_string(),
            "address `kafka:-1`: the port is not a number from 0 to 65535"
        );
    }
}
