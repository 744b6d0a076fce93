//! JSON web tokens (RFC 7519): unsecured ones as Kafka takes them by default, and signed ones.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;

use super::scram::ScramHash;

/// As Java's decoder: with or without padding, whatever the bits that are left over.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Which JSON web tokens OAUTHBEARER accepts. With the default, those without a signature, as Kafka does.
///
/// ```
/// use milena_broker::{JwtKey, OAuthConfig};
///
/// let oauth = OAuthConfig { keys: vec![JwtKey::hs256(b"a shared secret")], ..OAuthConfig::default() };
/// # let _ = oauth;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthConfig {
    /// The keys that tokens may be signed with. With none, tokens must have no signature: `"alg":"none"`. Default: none.
    pub keys: Vec<JwtKey>,
    /// The claim with the name of the principal. Default: `sub`.
    pub principal_claim: String,
    /// The claim with the scope, text or a list. Default: `scope`.
    pub scope_claim: String,
    /// What the scope must have. Default: nothing.
    pub required_scope: Vec<String>,
    /// How far clocks may differ. Default: 0.
    pub clock_skew: Duration,
    /// The `iss` that tokens must have. Default: any.
    pub issuer: Option<String>,
    /// The `aud` that tokens must have. Default: any.
    pub audience: Option<String>,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            principal_claim: "sub".to_owned(),
            scope_claim: "scope".to_owned(),
            required_scope: Vec::new(),
            clock_skew: Duration::ZERO,
            issuer: None,
            audience: None,
        }
    }
}

/// A key that JSON web tokens are signed with. `Debug` shows only the algorithm.
#[derive(Clone, PartialEq, Eq)]
pub struct JwtKey(Key);

#[derive(Clone, PartialEq, Eq)]
enum Key {
    Hs256(Vec<u8>),
    /// PKCS #1.
    #[cfg(feature = "tls")]
    Rs256(Vec<u8>),
    /// A point of the curve P-256.
    #[cfg(feature = "tls")]
    Es256(Vec<u8>),
}

/// Text that is no public key for JSON web tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a public key for JSON web tokens: {0}")]
pub struct JwtKeyError(&'static str);

impl JwtKey {
    /// A secret that both sides know, for HS256.
    pub fn hs256(secret: &[u8]) -> Self {
        Self(Key::Hs256(secret.to_vec()))
    }

    /// A public key as PEM (`BEGIN PUBLIC KEY`): RSA for RS256, or a P-256 key for ES256.
    ///
    /// # Errors
    /// The text is not such a key.
    #[cfg(feature = "tls")]
    pub fn from_public_pem(pem: &str) -> Result<Self, JwtKeyError> {
        use crate::security::der::{self, BIT_STRING, OID, SEQUENCE};

        /// 1.2.840.113549.1.1.1
        const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
        /// 1.2.840.10045.2.1
        const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
        /// 1.2.840.10045.3.1.7
        const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

        let begin = pem.split_once("-----BEGIN PUBLIC KEY-----").map(|(_, rest)| rest);
        let body = begin.and_then(|rest| rest.split_once("-----END PUBLIC KEY-----"));
        let (body, _) = body.ok_or(JwtKeyError("it has no BEGIN PUBLIC KEY"))?;
        let text: String = body.split_ascii_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        let bytes = bytes.map_err(|_| JwtKeyError("the text is not base64"))?;
        let read = || {
            let (key, _) = der::read(&bytes, SEQUENCE)?;
            let (algorithm, key) = der::read(key, SEQUENCE)?;
            let (bits, _) = der::read(key, BIT_STRING)?;
            let (kind, parameters) = der::read(algorithm, OID)?;
            // The first byte says how many bits of the last one do not count.
            let point = bits.strip_prefix(&[0])?.to_vec();
            let curve = || Some(der::read(parameters, OID)?.0);
            match kind {
                RSA => Some(Key::Rs256(point)),
                EC if curve() == Some(P256) => Some(Key::Es256(point)),
                _ => None,
            }
        };
        read().map(Self).ok_or(JwtKeyError("it is neither an RSA key nor one of P-256"))
    }

    fn algorithm(&self) -> &'static str {
        match &self.0 {
            Key::Hs256(_) => "HS256",
            #[cfg(feature = "tls")]
            Key::Rs256(_) => "RS256",
            #[cfg(feature = "tls")]
            Key::Es256(_) => "ES256",
        }
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            Key::Hs256(secret) => ScramHash::Sha256.hmac(secret, &[message]).ct_eq(signature).into(),
            #[cfg(feature = "tls")]
            Key::Rs256(key) => {
                let algorithm = &ring::signature::RSA_PKCS1_2048_8192_SHA256;
                ring::signature::UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
            }
            #[cfg(feature = "tls")]
            Key::Es256(key) => {
                let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED;
                ring::signature::UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
            }
        }
    }
}

impl fmt::Debug for JwtKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JwtKey").field(&self.algorithm()).finish()
    }
}

/// A token that is accepted.
#[derive(Debug, PartialEq)]
pub(super) struct Valid {
    pub(super) name: String,
    pub(super) expires_at: i64,
}

/// Why a token is not accepted.
#[derive(Debug, PartialEq)]
pub(super) enum Invalid {
    Token,
    Scope,
    /// Kafka fails with another kind of error here, and closes the connection.
    Broken,
}

impl OAuthConfig {
    /// Reads a token and checks it at this time.
    pub(super) fn validate(&self, token: &str, now_ms: i64) -> Result<Valid, Invalid> {
        let parts: Vec<&str> = token.splitn(4, '.').collect();
        let [header, claims, signature] = parts[..] else { return Err(Invalid::Token) };
        if claims.is_empty() {
            return Err(Invalid::Token);
        }
        let message = &token[..header.len() + 1 + claims.len()];
        let header = object(header)?;
        let claims = object(claims)?;
        let algorithm = header.get("alg").map(as_text).ok_or(Invalid::Broken)?;
        if self.keys.is_empty() {
            if algorithm != "none" || !signature.is_empty() {
                return Err(Invalid::Token);
            }
        } else {
            let signature = LENIENT.decode(signature).map_err(|_| Invalid::Token)?;
            let mut keys = self.keys.iter().filter(|key| key.algorithm() == algorithm);
            if !keys.any(|key| key.has_signed(message.as_bytes(), &signature)) || !claims.contains_key("iat") {
                return Err(Invalid::Token);
            }
        }
        self.check(&claims, now_ms)
    }

    fn check(&self, claims: &Map<String, Value>, now_ms: i64) -> Result<Valid, Invalid> {
        let expires = seconds(claims, "exp")?.ok_or(Invalid::Token)?;
        let issued = seconds(claims, "iat")?;
        let name = match claims.get(&self.principal_claim) {
            Some(Value::Number(_) | Value::Array(_)) | None => return Err(Invalid::Token),
            Some(other) => as_text(other),
        };
        if name.trim().is_empty() {
            return Err(Invalid::Token);
        }
        let skew = i64::try_from(self.clock_skew.as_millis()).unwrap_or(i64::MAX);
        if issued.is_some_and(|issued| 1000.0 * issued > now_ms.saturating_add(skew) as f64 || expires <= issued) {
            return Err(Invalid::Token);
        }
        if now_ms.saturating_sub(skew) as f64 >= 1000.0 * expires {
            return Err(Invalid::Token);
        }
        let is = |claim: &str, wanted: &Option<String>| match (claims.get(claim), wanted) {
            (_, None) => true,
            (Some(Value::Array(list)), Some(wanted)) => list.iter().any(|one| one.as_str() == Some(wanted)),
            (found, Some(wanted)) => found.and_then(Value::as_str) == Some(wanted),
        };
        if !is("iss", &self.issuer) || !is("aud", &self.audience) {
            return Err(Invalid::Token);
        }
        let scope: Vec<String> = match claims.get(&self.scope_claim) {
            None => Vec::new(),
            Some(Value::Number(_)) => return Err(Invalid::Token),
            Some(Value::Array(list)) => list.iter().map(|one| as_text(one).trim().to_owned()).collect(),
            Some(one) => vec![as_text(one).trim().to_owned()],
        };
        if self.required_scope.iter().any(|wanted| !scope.contains(wanted)) {
            return Err(Invalid::Scope);
        }
        // Java rounds half up.
        Ok(Valid { name, expires_at: (1000.0 * expires + 0.5).floor() as i64 })
    }
}

/// A part of a token: an object in JSON, in base64. What follows it is ignored, as by Kafka's parser, and another value has
/// no members.
fn object(part: &str) -> Result<Map<String, Value>, Invalid> {
    let bytes = LENIENT.decode(part).map_err(|_| Invalid::Token)?;
    let mut values = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
    match values.next() {
        Some(Ok(Value::Object(members))) => Ok(members),
        // Nothing at all is read as a missing value.
        Some(Ok(_)) | None => Ok(Map::new()),
        Some(Err(_)) => Err(Invalid::Token),
    }
}

/// A time in seconds, which may have a fraction.
fn seconds(claims: &Map<String, Value>, claim: &str) -> Result<Option<f64>, Invalid> {
    match claims.get(claim) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(number.as_f64()),
        Some(_) => Err(Invalid::Token),
    }
}

/// As Jackson gives any value as text: objects and lists have none.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str, signature: &[u8]) -> String {
        let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        format!("{}.{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()), encode(signature))
    }

    /// What Kafka 4.4 says to the same tokens at the time 1000 s.
    #[test]
    fn unsecured_tokens_are_judged_as_by_kafka() {
        let config = OAuthConfig::default();
        let valid = |name: &str, expires_at| Ok(Valid { name: name.to_owned(), expires_at });
        let none = r#"{"alg":"none"}"#;
        for (header, claims, verdict) in [
            (none, r#"{"sub":"alice","exp":1000.5}"#, valid("alice", 1_000_500)),
            (none, r#"{"sub":true,"exp":1001}"#, valid("true", 1_001_000)),
            (none, r#"{"sub":null,"exp":1001}"#, valid("null", 1_001_000)),
            (r#"{"alg":"x","alg":"none"} more"#, r#"{"sub":"a","exp":1001,"iat":1000}"#, valid("a", 1_001_000)),
            (none, r#"{"sub":"alice","exp":1000}"#, Err(Invalid::Token)),
            (none, r#"{"sub":"alice"}"#, Err(Invalid::Token)),
            (none, r#"{"sub":"alice","exp":"1001"}"#, Err(Invalid::Token)),
            (none, r#"{"sub":"alice","exp":true}"#, Err(Invalid::Token)),
            (none, r#"{"exp":1001}"#, Err(Invalid::Token)),
            (none, r#"{"sub":5,"exp":1001}"#, Err(Invalid::Token)),
            (none, r#"{"sub":["a"],"exp":1001}"#, Err(Invalid::Token)),
            (none, r#"{"sub":{},"exp":1001}"#, Err(Invalid::Token)),
            (none, r#"{"sub":" ","exp":1001}"#, Err(Invalid::Token)),
            (none, r#"{"sub":"a","exp":1009,"iat":1001}"#, Err(Invalid::Token)),
            (none, r#"{"sub":"a","exp":1001,"iat":"x"}"#, Err(Invalid::Token)),
            (none, r#"{"sub":"a","exp":1001,"scope":5}"#, Err(Invalid::Token)),
            (none, "[1]", Err(Invalid::Token)),
            ("{", r#"{"sub":"a","exp":1001}"#, Err(Invalid::Token)),
            (r#"{"alg":"HS256"}"#, r#"{"sub":"a","exp":1001}"#, Err(Invalid::Token)),
            ("{}", r#"{"sub":"a","exp":1001}"#, Err(Invalid::Broken)),
            ("[1]", r#"{"sub":"a","exp":1001}"#, Err(Invalid::Broken)),
            ("", r#"{"sub":"a","exp":1001}"#, Err(Invalid::Broken)),
        ] {
            assert_eq!(config.validate(&token(header, claims, b""), 1_000_000), verdict, "{header} {claims}");
        }
        let signed = token(none, r#"{"sub":"alice","exp":1001}"#, b"x");
        assert_eq!(config.validate(&signed, 1_000_000), Err(Invalid::Token));
        for bad in ["", "a.b", "a..", "a.b.c.d", "!.b."] {
            assert_eq!(config.validate(bad, 0), Err(Invalid::Token), "{bad}");
        }
    }

    /// The token of RFC 7515, appendix A.1, with its key.
    #[test]
    fn hs256_is_verified() {
        let secret = LENIENT
            .decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
            .unwrap();
        let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                     Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let (message, signature) = token.rsplit_once('.').unwrap();
        let signature = LENIENT.decode(signature).unwrap();
        assert!(JwtKey::hs256(&secret).has_signed(message.as_bytes(), &signature));
        assert!(!JwtKey::hs256(b"x").has_signed(message.as_bytes(), &signature));
        // It has no `iat`, which Kafka needs in signed tokens.
        let config = OAuthConfig {
            keys: vec![JwtKey::hs256(&secret)],
            principal_claim: "iss".to_owned(),
            ..OAuthConfig::default()
        };
        assert_eq!(config.validate(token, 0), Err(Invalid::Token));
    }

    #[test]
    fn scope_issuer_and_audience_are_checked_in_signed_tokens() {
        let config = OAuthConfig {
            keys: vec![JwtKey::hs256(b"k")],
            required_scope: vec!["a".to_owned(), "b".to_owned()],
            issuer: Some("i".to_owned()),
            audience: Some("o".to_owned()),
            ..OAuthConfig::default()
        };
        let validate = |claims: &str| {
            let unsigned = token(r#"{"alg":"HS256"}"#, claims, b"");
            let message = unsigned.trim_end_matches('.');
            let signature = ScramHash::Sha256.hmac(b"k", &[message.as_bytes()]);
            config.validate(&token(r#"{"alg":"HS256"}"#, claims, &signature), 1_000_000).map(|valid| valid.name)
        };
        let with = |rest: &str| format!(r#"{{"sub":"u","exp":1001,"iat":999,{rest}}}"#);
        assert_eq!(validate(&with(r#""iss":"i","aud":["n","o"],"scope":["b","a"]"#)), Ok("u".to_owned()));
        assert_eq!(validate(&with(r#""iss":"i","aud":"o","scope":"a""#)), Err(Invalid::Scope));
        assert_eq!(validate(&with(r#""iss":"j","aud":"o","scope":["b","a"]"#)), Err(Invalid::Token));
        assert_eq!(validate(&with(r#""iss":"i","aud":"p","scope":["b","a"]"#)), Err(Invalid::Token));
        let none = token(r#"{"alg":"none"}"#, &with(r#""iss":"i","aud":"o","scope":["b","a"]"#), b"");
        assert_eq!(config.validate(&none, 1_000_000), Err(Invalid::Token));
    }

    /// A token and a key that OpenSSL made.
    #[cfg(feature = "tls")]
    #[test]
    fn rs256_is_verified() {
        let key = "-----BEGIN PUBLIC KEY-----\n\
             MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAyA6VAhzxZXYER31oSjVy\n\
             0Muvu06hf5RqVr4rCYzVdC1w9lyfE7/lHDp36WF7U4fSmKXLJFkqPo2syZYhkiwM\n\
             pgPaQhUyepuLU8K+hFwMH6dfS1hUZc/rm9Avfgt8P7n97gIf8INLVT7PsYu1umAq\n\
             BmLz7zbBZtHeRodnzRADU9v9nIJ6Od6AwdIApSUFn+FYvTeMMHiikHw+xalX0+15\n\
             gvWTppcTXSQPZnPgH2+vUqE0tL72tvUNUK5X0YSThIPzSsPFsBy44px6ZvTNtM2L\n\
             5Fl/o5Po0Nfoh82o3cX6erNSsk7JXFGraeacap2D2bi/UIt/sbBMLgIO+AfOqexq\n\
             HwIDAQAB\n\
             -----END PUBLIC KEY-----";
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSIsImlhdCI6MSwiZXhwIjoxMDAxfQ.qVCAOp4FKllLDIaDA1blJ1qctMYrHrzHHJPqe84Prc8aG0iTD8Vof8C4QZxNUXN4nnPTtfnZZcABuSvfP_zaimYe_saeW9GW7oqOW1O_gMBrTr56WsoYd4Mofn0GrLmIrwwQf67ECfiVOd4buKDb0FdVx-nSWZHvkFMy4Nw3Vaf-CFCZC7QRNB2I035Bd_j2X77HHfIS54-xDkJrQl_SCBOnfZuoc7XiLgfcxxqC3KsGDez3xUxOO2OP1L774XoCDXzz3yeMwOy-LN7cFU0GhUgJnnX1MxoBLa2LryPShAEec-rkIb268GdD5GDWSLVR3ddDbl6m04c4L20fIjlOHg";
        let key = JwtKey::from_public_pem(key).unwrap();
        let config = OAuthConfig { keys: vec![JwtKey::hs256(b"k"), key], ..OAuthConfig::default() };
        let valid = Valid { name: "alice".to_owned(), expires_at: 1_001_000 };
        assert_eq!(config.validate(token, 1_000_000), Ok(valid));
        let (front, signature) = token.rsplit_once('.').unwrap();
        assert_eq!(config.validate(&format!("{front}.A{}", &signature[1..]), 1_000_000), Err(Invalid::Token));
    }

    #[cfg(feature = "tls")]
    #[test]
    fn es256_is_verified() {
        let pair = rcgen::KeyPair::generate().unwrap();
        let key = JwtKey::from_public_pem(&pair.public_key_pem()).unwrap();
        let random = ring::rand::SystemRandom::new();
        let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let signer = ring::signature::EcdsaKeyPair::from_pkcs8(algorithm, &pair.serialize_der(), &random).unwrap();
        let unsigned = token(r#"{"alg":"ES256"}"#, r#"{"sub":"alice","iat":1,"exp":1001}"#, b"");
        let message = unsigned.trim_end_matches('.');
        let signature = signer.sign(&random, message.as_bytes()).unwrap();
        let signed = token(r#"{"alg":"ES256"}"#, r#"{"sub":"alice","iat":1,"exp":1001}"#, signature.as_ref());
        let config = OAuthConfig { keys: vec![key], ..OAuthConfig::default() };
        assert_eq!(config.validate(&signed, 1_000_000).map(|valid| valid.name), Ok("alice".to_owned()));
        assert_eq!(config.validate(&unsigned, 1_000_000), Err(Invalid::Token));
    }

    #[cfg(feature = "tls")]
    #[test]
    fn text_that_is_no_public_key_is_refused() {
        for pem in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"] {
            assert!(JwtKey::from_public_pem(pem).is_err(), "{pem}");
        }
        assert_eq!(format!("{:?}", JwtKey::hs256(b"hush")), "JwtKey(\"HS256\")");
    }
}
