//! What logins are compared with: passwords and SCRAM credentials of users, delegation tokens, keys of JSON web tokens.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use subtle::ConstantTimeEq as _;

use crate::security::config::{Secret, SecurityConfig};
use crate::security::delegation::Tokens;
use crate::security::protocol::SaslMechanism;
use crate::security::sasl::scram::{ScramCredential, ScramHash};
use crate::security::sasl::{Identity, OAuthConfig};

/// The SCRAM credentials of users, by name and hash.
pub(crate) type ScramUsers = BTreeMap<(String, ScramHash), Stored>;

/// A SCRAM credential.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Of a user of the settings: it is computed when it is first needed.
    Password(Secret, OnceLock<ScramCredential>),
    /// Of a client with AlterUserScramCredentials.
    Salted(ScramCredential),
}

impl Stored {
    fn credential(&self, hash: ScramHash) -> ScramCredential {
        match self {
            Self::Password(Secret(password), computed) => {
                computed.get_or_init(|| ScramCredential::of_password(hash, password)).clone()
            }
            Self::Salted(credential) => credential.clone(),
        }
    }

    pub(crate) fn iterations(&self) -> i32 {
        match self {
            Self::Password(..) => ScramHash::MIN_ITERATIONS,
            Self::Salted(credential) => credential.iterations,
        }
    }
}

/// What a proof of SCRAM is compared with, and whose it is.
pub(crate) struct Proven {
    pub(crate) credential: ScramCredential,
    pub(crate) identity: Identity,
}

/// All that clients can log in with. `Debug` shows no secrets.
#[derive(Debug)]
pub(crate) struct Credentials {
    passwords: BTreeMap<String, Secret>,
    scram: Mutex<ScramUsers>,
    tokens: Mutex<Tokens>,
    oauth: OAuthConfig,
}

impl Credentials {
    pub(crate) fn new(config: &SecurityConfig) -> Self {
        let can = |mechanism: SaslMechanism| {
            let users = config.users.iter();
            users.filter(move |user| user.mechanism.is_none_or(|only| only == mechanism))
        };
        let passwords = can(SaslMechanism::Plain).map(|user| (user.name.clone(), user.password.clone())).collect();
        let mut scram = BTreeMap::new();
        for (mechanism, hash) in
            [(SaslMechanism::ScramSha256, ScramHash::Sha256), (SaslMechanism::ScramSha512, ScramHash::Sha512)]
        {
            let stored = |password: &Secret| Stored::Password(password.clone(), OnceLock::new());
            scram.extend(can(mechanism).map(|user| ((user.name.clone(), hash), stored(&user.password))));
        }
        Self {
            passwords,
            scram: Mutex::new(scram),
            tokens: Mutex::new(Tokens::new(config.delegation_tokens.as_ref())),
            oauth: config.oauth.clone(),
        }
    }

    /// Whether this is the password of the user for PLAIN.
    pub(crate) fn is_password(&self, name: &str, password: &str) -> bool {
        let known = self.passwords.get(name);
        known.is_some_and(|Secret(known)| known.as_bytes().ct_eq(password.as_bytes()).into())
    }

    /// The credential of a user, or of a delegation token with this id. Expired tokens count until they are swept, as in
    /// Kafka; their session ends at once.
    pub(crate) fn scram(&self, hash: ScramHash, name: &str, by_token: bool, now_ms: i64) -> Option<Proven> {
        if by_token {
            let mut tokens = self.tokens();
            let token = tokens.swept(now_ms).get(name)?;
            let identity =
                Identity { name: token.owner.name().to_owned(), by_token: true, expires_at: Some(token.expires_at) };
            return Some(Proven { credential: token.credential(hash).clone(), identity });
        }
        let credential = self.scram_users().get(&(name.to_owned(), hash))?.credential(hash);
        Some(Proven { credential, identity: Identity { name: name.to_owned(), by_token: false, expires_at: None } })
    }

    pub(crate) fn oauth(&self) -> &OAuthConfig {
        &self.oauth
    }

    /// The SCRAM credentials of users.
    pub(crate) fn scram_users(&self) -> MutexGuard<'_, ScramUsers> {
        self.scram.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The delegation tokens.
    pub(crate) fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
