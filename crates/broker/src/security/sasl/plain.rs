//! PLAIN (RFC 4616): `[authorization id] NUL name NUL password`.

use super::{Identity, Progress, Rejected};
use crate::security::credentials::Credentials;

/// More parts than this are not counted.
const MOST_PARTS: usize = 4;

pub(super) fn plain(token: &[u8], credentials: &Credentials) -> Result<Progress, Rejected> {
    let failed = |why: &str| Err(Rejected::Message(format!("Authentication failed: {why}")));
    let text = String::from_utf8_lossy(token);
    let parts: Vec<&str> = text.split('\0').take(MOST_PARTS).collect();
    let [authorization_id, name, password] = parts[..] else {
        let count = parts.len();
        return Err(Rejected::Message(format!("Invalid SASL/PLAIN response: expected 3 tokens, got {count}")));
    };
    if name.is_empty() {
        return failed("username not specified");
    }
    if password.is_empty() {
        return failed("password not specified");
    }
    if !credentials.is_password(name, password) {
        return failed("Invalid username or password");
    }
    if !authorization_id.is_empty() && authorization_id != name {
        return failed("Client requested an authorization id that is different from username");
    }
    Ok(Progress::Done(Vec::new(), Identity { name: name.to_owned(), by_token: false, expires_at: None }))
}
