//! SCRAM (RFC 5802) as Kafka speaks it: without channel binding, and with logins by delegation token (KIP-48).

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _};
use sha2::{Digest as _, Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::{Identity, Progress, Rejected, is_sasl_name};
use crate::security::credentials::{Credentials, Proven};
use crate::security::random;

/// As Java's decoder, which does not look at bits that are left over.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&ALPHABET, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// The extension that says that the name is the id of a delegation token.
const TOKEN_AUTH: &str = "tokenauth";
/// Letters and digits of a nonce: 130 bits in base 36.
const NONCE_LENGTH: usize = 26;

/// The hash of a SCRAM mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScramHash {
    Sha256,
    Sha512,
}

impl ScramHash {
    pub(crate) const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];
    /// The fewest iterations that Kafka accepts, which are also those of the users of a broker's settings.
    pub(crate) const MIN_ITERATIONS: i32 = 4096;
    /// The most iterations that Kafka accepts.
    pub(crate) const MAX_ITERATIONS: i32 = 16_384;

    /// The mechanism by its number in AlterUserScramCredentials.
    pub(crate) fn of_number(number: i8) -> Option<Self> {
        match number {
            1 => Some(Self::Sha256),
            2 => Some(Self::Sha512),
            _ => None,
        }
    }

    pub(crate) fn number(self) -> i8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha512 => 2,
        }
    }

    fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    pub(crate) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        // Every length of key is possible.
        match self {
            Self::Sha256 => Hmac::<Sha256>::new_from_slice(key).map_or_else(|_| Vec::new(), |mac| sign(mac, parts)),
            Self::Sha512 => Hmac::<Sha512>::new_from_slice(key).map_or_else(|_| Vec::new(), |mac| sign(mac, parts)),
        }
    }

    /// `Hi` of RFC 5802, which is PBKDF2 with one block.
    fn salted(self, password: &[u8], salt: &[u8], iterations: i32) -> Vec<u8> {
        match self {
            Self::Sha256 => Hmac::<Sha256>::new_from_slice(password)
                .map_or_else(|_| Vec::new(), |mac| iterated(&mac, salt, iterations)),
            Self::Sha512 => Hmac::<Sha512>::new_from_slice(password)
                .map_or_else(|_| Vec::new(), |mac| iterated(&mac, salt, iterations)),
        }
    }
}

fn sign<M: hmac::Mac>(mut mac: M, parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

fn iterated<M: hmac::Mac + Clone>(mac: &M, salt: &[u8], iterations: i32) -> Vec<u8> {
    let mut last = sign(mac.clone(), &[salt, &1u32.to_be_bytes()]);
    let mut result = last.clone();
    for _ in 1..iterations {
        last = sign(mac.clone(), &[&last]);
        result.iter_mut().zip(&last).for_each(|(byte, other)| *byte ^= other);
    }
    result
}

/// What a broker stores of a password: enough to check a proof, not enough to make one. `Debug` shows the iterations only.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ScramCredential {
    pub(crate) salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
    pub(crate) iterations: i32,
}

impl fmt::Debug for ScramCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramCredential").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

impl ScramCredential {
    /// Of a password. Costs as many hashes as there are iterations.
    pub(crate) fn of_password(hash: ScramHash, password: &str) -> Self {
        let salt = random::text(NONCE_LENGTH).into_bytes();
        let iterations = ScramHash::MIN_ITERATIONS;
        let salted = hash.salted(password.as_bytes(), &salt, iterations);
        Self::of_salted(hash, salt, &salted, iterations)
    }

    /// Of a password that a client has salted.
    pub(crate) fn of_salted(hash: ScramHash, salt: Vec<u8>, salted: &[u8], iterations: i32) -> Self {
        let stored_key = hash.hash(&hash.hmac(salted, &[b"Client Key"]));
        let server_key = hash.hmac(salted, &[b"Server Key"]);
        Self { salt, stored_key, server_key, iterations }
    }
}

/// A login by SCRAM.
#[derive(Debug)]
pub(crate) struct Scram {
    hash: ScramHash,
    proof: Option<Proof>,
}

/// What the proof of the client is compared with.
struct Proof {
    first_bare: String,
    server_first: String,
    nonce: String,
    credential: ScramCredential,
    identity: Identity,
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Scram {
    pub(super) fn new(hash: ScramHash) -> Self {
        Self { hash, proof: None }
    }

    pub(super) fn evaluate(
        &mut self,
        token: &[u8],
        credentials: &Credentials,
        now_ms: i64,
    ) -> Result<Progress, Rejected> {
        // The message is ASCII in all its parts.
        let text = std::str::from_utf8(token).map_err(|_| Rejected::Credentials)?;
        match self.proof.take() {
            None => self.first(text, credentials, now_ms),
            Some(proof) => self.last(text, proof),
        }
    }

    fn first(&mut self, text: &str, credentials: &Credentials, now_ms: i64) -> Result<Progress, Rejected> {
        let first = ClientFirst::parse(text).ok_or(Rejected::Credentials)?;
        let name = first.name.replace("=2C", ",").replace("=3D", "=");
        let Proven { credential, identity } =
            credentials.scram(self.hash, &name, first.by_token, now_ms).ok_or(Rejected::Credentials)?;
        if first.authorization_id.is_some_and(|id| id != name) {
            let message = "Authentication failed: Client requested an authorization id that is different from username";
            return Err(Rejected::Message(message.to_owned()));
        }
        let nonce = format!("{}{}", first.nonce, random::text(NONCE_LENGTH));
        let server_first = format!("r={nonce},s={},i={}", STANDARD.encode(&credential.salt), credential.iterations);
        let challenge = server_first.clone().into_bytes();
        self.proof = Some(Proof { first_bare: first.bare(), server_first, nonce, credential, identity });
        Ok(Progress::Challenge(challenge))
    }

    fn last(&self, text: &str, proof: Proof) -> Result<Progress, Rejected> {
        let last = ClientFinal::parse(text).ok_or(Rejected::Credentials)?;
        if !last.nonce.ends_with(&proof.nonce) {
            return Err(Rejected::Credentials);
        }
        let message = format!("{},{},c={},r={}", proof.first_bare, proof.server_first, last.channel, last.nonce);
        let signature = self.hash.hmac(&proof.credential.stored_key, &[message.as_bytes()]);
        if last.proof.len() != signature.len() {
            return Err(Rejected::Broken("a SCRAM proof of another length"));
        }
        let client_key: Vec<u8> = signature.iter().zip(&last.proof).map(|(a, b)| a ^ b).collect();
        if !bool::from(self.hash.hash(&client_key).ct_eq(&proof.credential.stored_key)) {
            return Err(Rejected::Credentials);
        }
        let server_signature = self.hash.hmac(&proof.credential.server_key, &[message.as_bytes()]);
        Ok(Progress::Done(format!("v={}", STANDARD.encode(server_signature)).into_bytes(), proof.identity))
    }
}

/// `n,[a=authorization id],[m=reserved,]n=name,r=nonce[,extension]...`
struct ClientFirst<'a> {
    authorization_id: Option<&'a str>,
    name: &'a str,
    nonce: &'a str,
    extensions: Vec<(&'a str, &'a str)>,
    by_token: bool,
}

impl<'a> ClientFirst<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.strip_prefix("n,")?.split(',').peekable();
        let authorization_id = match parts.next()? {
            "" => None,
            part => Some(part.strip_prefix("a=").filter(|id| is_sasl_name(id))?),
        };
        parts.next_if(|part| part.strip_prefix("m=").is_some_and(is_value));
        let name = parts.next()?.strip_prefix("n=").filter(|name| is_sasl_name(name))?;
        let nonce = parts.next()?.strip_prefix("r=").filter(|nonce| is_printable(nonce))?;
        let extensions: Vec<_> = parts.map(extension).collect::<Option<_>>()?;
        // Of two of the same name Kafka takes the last one.
        let last = extensions.iter().rev().find(|(key, _)| *key == TOKEN_AUTH);
        let by_token = last.is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"));
        Some(Self { authorization_id, name, nonce, extensions, by_token })
    }

    /// The part that is signed, as Kafka writes it again: without the reserved part. Kafka 4.4 puts several extensions into an
    /// order that changes from one start to the next; here it is that of the client.
    fn bare(&self) -> String {
        let mut bare = format!("n={},r={}", self.name, self.nonce);
        for (key, value) in &self.extensions {
            bare.push_str(&format!(",{key}={value}"));
        }
        bare
    }
}

/// `c=channel,r=nonce[,extension]...,p=proof`; the channel binding is not looked at, as in Kafka.
struct ClientFinal<'a> {
    channel: &'a str,
    nonce: &'a str,
    proof: Vec<u8>,
}

impl<'a> ClientFinal<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (front, proof) = text.rsplit_once(",p=")?;
        let mut parts = front.split(',');
        let channel = parts.next()?.strip_prefix("c=")?;
        LENIENT.decode(channel).ok()?;
        let nonce = parts.next()?.strip_prefix("r=").filter(|nonce| is_printable(nonce))?;
        parts.map(extension).collect::<Option<Vec<_>>>()?;
        Some(Self { channel, nonce, proof: LENIENT.decode(proof).ok()? })
    }
}

fn extension(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    (!key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphabetic()) && is_value(value)).then_some((key, value))
}

fn is_value(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (1..0x80).contains(&byte))
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x21..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchanges of RFC 7677 (SHA-256) and of a published example with SHA-512 have fixed nonces; their keys are
    /// compared here.
    #[test]
    fn keys_are_those_of_rfc_7677() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = ScramHash::Sha256.salted(b"pencil", &salt, 4096);
        let credential = ScramCredential::of_salted(ScramHash::Sha256, salt, &salted, 4096);
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let proof = Proof {
            first_bare: "n=user,r=rOprNGfwEbeRWgbNEkqO".to_owned(),
            server_first: format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
            nonce: nonce.to_owned(),
            credential,
            identity: Identity { name: "user".to_owned(), by_token: false, expires_at: None },
        };
        let last = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let Ok(Progress::Done(token, identity)) = Scram::new(ScramHash::Sha256).last(&last, proof) else {
            panic!("the proof is right");
        };
        assert_eq!(String::from_utf8_lossy(&token), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert_eq!(identity.name, "user");
    }

    #[test]
    fn messages_that_kafka_refuses_are_refused() {
        let first = |text: &str| ClientFirst::parse(text).is_some();
        for good in ["n,,n=a,r=b", "n,a=a,n=a,r=b", "n,,m=x,n=a,r=b", "n,,n=a=2C=3D,r=b,k=v=w"] {
            assert!(first(good), "{good}");
        }
        for bad in
            ["", "y,,n=a,r=b", "n,,n=,r=b", "n,,n=a=b,r=b", "n,,n=a", "n,,n=a,r=", "n,,n=a,r=b c", "n,,n=a,r=b,1=2"]
        {
            assert!(!first(bad), "{bad}");
        }
        let last = |text: &str| ClientFinal::parse(text).is_some();
        assert!(last("c=biws,r=x,p=AAAA") && last("c=,r=x,k=v,p="));
        for bad in ["", "c=biws,r=x", "c=bi,r=x,p=AAAA", "c=biws,p=AAAA,r=x", "c=biws,r=x,p=A"] {
            assert!(!last(bad), "{bad}");
        }
    }
}
