//! OAUTHBEARER (RFC 7628, KIP-255): a JSON web token, and an error that the client confirms before it gets it.

use super::jwt::{Invalid, OAuthConfig};
use super::{Identity, Progress, Rejected, is_sasl_name};

/// Between the parts of a message; alone, what a client sends after an error.
const SEPARATOR: char = '\u{1}';

/// A login by OAUTHBEARER.
#[derive(Debug, Default)]
pub(crate) struct OAuth {
    /// The error that the client got as a challenge.
    error: Option<String>,
}

impl OAuth {
    pub(super) fn evaluate(&mut self, token: &[u8], config: &OAuthConfig, now_ms: i64) -> Result<Progress, Rejected> {
        match self.error.take() {
            Some(error) if token == [SEPARATOR as u8] => return Err(Rejected::Message(error)),
            _ => {}
        }
        let text = std::str::from_utf8(token).map_err(|_| Rejected::Credentials)?;
        let (authorization_id, bearer) = parse(text)?;
        match config.validate(bearer, now_ms) {
            Ok(valid) => {
                if let Some(id) = authorization_id.filter(|id| *id != valid.name) {
                    let name = &valid.name;
                    return Err(Rejected::Message(format!(
                        "Authentication failed: Client requested an authorization id ({id}) that is different from the \
                         token's principal name ({name})"
                    )));
                }
                let identity = Identity { name: valid.name, by_token: false, expires_at: Some(valid.expires_at) };
                Ok(Progress::Done(Vec::new(), identity))
            }
            Err(Invalid::Broken) => Err(Rejected::Broken("a JSON web token without an algorithm")),
            Err(Invalid::Token) => Ok(self.challenge(r#"{"status":"invalid_token"}"#.to_owned())),
            Err(Invalid::Scope) => {
                let scope = config.required_scope.join(", ");
                Ok(self.challenge(format!(r#"{{"status":"insufficient_scope", "scope":"[{scope}]"}}"#)))
            }
        }
    }

    fn challenge(&mut self, error: String) -> Progress {
        let token = error.clone().into_bytes();
        self.error = Some(error);
        Progress::Challenge(token)
    }
}

/// `n,[a=authorization id],` and pairs of keys and values, of which `auth=Bearer token` is needed.
fn parse(text: &str) -> Result<(Option<&str>, &str), Rejected> {
    let split = || {
        let (id, pairs) = text.strip_prefix("n,")?.split_once(',')?;
        let id = match id {
            "" => None,
            id => Some(id.strip_prefix("a=").filter(|id| is_sasl_name(id))?),
        };
        let pairs = pairs.strip_prefix(SEPARATOR)?.strip_suffix(SEPARATOR)?;
        let mut auth = None;
        for pair in pairs.split_terminator(SEPARATOR) {
            let (key, value) = pair.split_once('=')?;
            let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphabetic());
            let is_value = |byte: u8| matches!(byte, 0x21..=0x7e | b' ' | b'\t' | b'\r' | b'\n');
            if !is_key || value.is_empty() || !value.bytes().all(is_value) {
                return None;
            }
            if key == "auth" {
                auth = Some(value);
            }
        }
        // Without a separator after the last pair it is not one.
        if !pairs.is_empty() && !pairs.ends_with(SEPARATOR) {
            return None;
        }
        Some((id, auth?))
    };
    let (id, auth) = split().ok_or(Rejected::Credentials)?;
    let (scheme, bearer) = auth.split_once(' ').ok_or(Rejected::Credentials)?;
    let bearer = bearer.trim_start_matches(' ');
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let letters = bearer.trim_end_matches('=');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~+/.".contains(&byte);
    if !is_scheme || letters.is_empty() || !letters.bytes().all(is_letter) {
        return Err(Rejected::Credentials);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        // Kafka fails while it writes the message of this error.
        return Err(Rejected::Broken("OAUTHBEARER with another scheme than Bearer"));
    }
    Ok((id, bearer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_kafka_refuses_are_refused() {
        assert_eq!(parse("n,,\u{1}auth=Bearer a.b.c\u{1}\u{1}"), Ok((None, "a.b.c")));
        assert_eq!(parse("n,a=x,\u{1}k=v\u{1}auth=bEARER  a==\u{1}\u{1}"), Ok((Some("x"), "a==")));
        assert_eq!(parse("n,,\u{1}auth=Bearer x\u{1}auth=Bearer y\u{1}\u{1}"), Ok((None, "y")));
        for bad in [
            "",
            "\u{1}",
            "n,,\u{1}\u{1}",
            "y,,\u{1}auth=Bearer a\u{1}\u{1}",
            "n,,\u{1}auth=Bearer a\u{1}",
            "n,,\u{1}auth=Bearer a b\u{1}\u{1}",
            "n,,\u{1}auth=Bearer ä\u{1}\u{1}",
            "n,,\u{1}auth=Bearer =\u{1}\u{1}",
            "n,,\u{1}1=x\u{1}auth=Bearer a\u{1}\u{1}",
            "n,,\u{1}auth=Bearer\u{1}\u{1}",
        ] {
            assert_eq!(parse(bad), Err(Rejected::Credentials), "{bad:?}");
        }
        assert!(matches!(parse("n,,\u{1}auth=Basic a\u{1}\u{1}"), Err(Rejected::Broken(_))));
    }
}
