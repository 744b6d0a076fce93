//! The client's side of SCRAM, by ring: written apart from the broker's.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

use crate::error::{Error, Result};

/// The hash of a mechanism.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hash {
    Sha256,
    Sha512,
}

impl Hash {
    pub(super) fn mechanism(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    /// The number in AlterUserScramCredentials.
    pub(super) fn number(self) -> i8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha512 => 2,
        }
    }

    /// A password as AlterUserScramCredentials has it.
    pub(super) fn salted(self, password: &[u8], salt: &[u8], iterations: NonZeroU32) -> Vec<u8> {
        let (algorithm, length) = match self {
            Self::Sha256 => (pbkdf2::PBKDF2_HMAC_SHA256, digest::SHA256_OUTPUT_LEN),
            Self::Sha512 => (pbkdf2::PBKDF2_HMAC_SHA512, digest::SHA512_OUTPUT_LEN),
        };
        let mut out = vec![0; length];
        pbkdf2::derive(algorithm, iterations, salt, password, &mut out);
        out
    }

    fn sign(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), text).as_ref().to_vec()
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        };
        digest::digest(algorithm, bytes).as_ref().to_vec()
    }
}

/// What a client sends last, and what the server has to respond.
pub(super) struct Proof {
    /// The last message without the proof.
    pub(super) without: String,
    pub(super) proof: Vec<u8>,
    pub(super) verifier: String,
}

/// The proof of a password, after the first messages of both sides.
pub(super) fn proof(hash: Hash, password: &str, first_bare: &str, server_first: &str) -> Result<Proof> {
    let part = |key: &str| {
        let found = server_first.split(',').find_map(|part| part.strip_prefix(key));
        found.ok_or_else(|| Error::Other(format!("`{server_first}` has no {key}")))
    };
    let salt = STANDARD.decode(part("s=")?).map_err(|error| Error::Other(error.to_string()))?;
    let iterations = part("i=")?.parse().map_err(|_| Error::Other("the iterations are no number".to_owned()))?;
    let salted = hash.salted(password.as_bytes(), &salt, iterations);
    let client_key = hash.sign(&salted, b"Client Key");
    let without = format!("c=biws,r={}", part("r=")?);
    let message = format!("{first_bare},{server_first},{without}");
    let signature = hash.sign(&hash.digest(&client_key), message.as_bytes());
    let proof = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
    let verifier = hash.sign(&hash.sign(&salted, b"Server Key"), message.as_bytes());
    Ok(Proof { without, proof, verifier: format!("v={}", STANDARD.encode(verifier)) })
}
