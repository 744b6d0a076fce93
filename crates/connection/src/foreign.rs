use std::fmt;

/// Another protocol, recognised by the first bytes that the peer sent.
///
/// Read as the size of a frame these bytes give numbers such as 369296129 (TLS) or 1213486160 (HTTP), which is how such
/// mistakes usually surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Foreign {
    /// A TLS handshake.
    TlsHandshake,
    /// A TLS alert: what a TLS server says to someone who does not speak TLS.
    TlsAlert,
    /// An HTTP request or response.
    Http,
    /// The greeting of SSH.
    Ssh,
}

impl Foreign {
    /// The protocol that begins with these bytes; the first four are enough.
    pub fn detect(first: &[u8]) -> Option<Self> {
        match first {
            [0x16, 0x03, 0x00..=0x04, ..] => Some(Self::TlsHandshake),
            [0x15, 0x03, 0x00..=0x04, ..] => Some(Self::TlsAlert),
            [b'S', b'S', b'H', b'-', ..] => Some(Self::Ssh),
            _ => {
                const HTTP: [&[u8]; 9] =
                    [b"HTTP", b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"CONN", b"PATC"];
                HTTP.iter().any(|verb| first.starts_with(verb)).then_some(Self::Http)
            }
        }
    }

    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::TlsHandshake | Self::TlsAlert => {
                "the port wants TLS, or the client does: use the plain port or turn TLS on"
            }
            Self::Http => "this is a port or client of a web service: check host and port",
            Self::Ssh => "this is a port of an SSH server: check host and port",
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TlsHandshake => "a TLS handshake",
            Self::TlsAlert => "a TLS alert",
            Self::Http => "HTTP",
            Self::Ssh => "SSH",
        })
    }
}
