//! Delegation tokens (KIP-48): secrets that stand for a user for a time, with which others log in by SCRAM.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_messages::{ErrorCode, Uuid};

use crate::cluster::random_uuid;
use crate::security::config::Secret;
use crate::security::principal::Principal;
use crate::security::sasl::scram::{ScramCredential, ScramHash};

/// How often tokens that have expired are removed: Kafka's default of `delegation.token.expiry.check.interval.ms`.
const SWEEP_INTERVAL_MS: i64 = 3_600_000;
/// Most tokens at the same time; Kafka has no limit.
const MAX_TOKENS: usize = 100_000;

/// Delegation tokens are possible. Kafka has them when `delegation.token.secret.key` is set. `Debug` does not show the
/// secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationTokenConfig {
    pub(crate) secret: Secret,
    /// How long a token can be renewed. Kafka's `delegation.token.max.lifetime.ms`. Default: 7 days.
    pub max_lifetime: Duration,
    /// How long a token is valid when it is not renewed. Kafka's `delegation.token.expiry.time.ms`. Default: 1 day.
    pub expiry_time: Duration,
}

impl DelegationTokenConfig {
    /// Tokens signed with this secret.
    pub fn new(secret: &str) -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self { secret: Secret(secret.to_owned()), max_lifetime: 7 * DAY, expiry_time: DAY }
    }
}

/// A delegation token.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) id: Uuid,
    pub(crate) owner: Principal,
    pub(crate) requester: Principal,
    pub(crate) renewers: Vec<Principal>,
    pub(crate) issued_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) max_at: i64,
    pub(crate) hmac: Vec<u8>,
    credentials: [ScramCredential; 2],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Token {
    pub(crate) fn credential(&self, hash: ScramHash) -> &ScramCredential {
        &self.credentials[hash as usize]
    }

    /// Whether this principal sees the token: its owner, who asked for it, and its renewers.
    pub(crate) fn concerns(&self, principal: &Principal) -> bool {
        self.requester == *principal || self.belongs_to(principal)
    }

    /// Whether this principal may renew the token: its owner, and its renewers.
    fn belongs_to(&self, principal: &Principal) -> bool {
        self.owner == *principal || self.renewers.contains(principal)
    }

    fn is_expired(&self, now_ms: i64) -> bool {
        self.max_at < now_ms || self.expires_at < now_ms
    }
}

/// Who asks for a token, and who will own it.
#[derive(Debug)]
pub(crate) struct NewToken {
    pub(crate) owner: Principal,
    pub(crate) requester: Principal,
    pub(crate) renewers: Vec<Principal>,
    /// In milliseconds; 0 or less for the longest.
    pub(crate) max_lifetime_ms: i64,
}

/// All tokens by their id.
#[derive(Debug)]
pub(crate) struct Tokens {
    config: Option<DelegationTokenConfig>,
    by_id: BTreeMap<String, Token>,
    ids_by_hmac: BTreeMap<Vec<u8>, String>,
    swept_at: Option<i64>,
}

impl Tokens {
    pub(crate) fn new(config: Option<&DelegationTokenConfig>) -> Self {
        let config = config.cloned();
        Self { config, by_id: BTreeMap::new(), ids_by_hmac: BTreeMap::new(), swept_at: None }
    }

    /// Whether there can be tokens.
    pub(crate) fn is_enabled(&self) -> bool {
        self.config.is_some()
    }

    /// The tokens by id, without those that expired before the last sweep.
    pub(crate) fn swept(&mut self, now_ms: i64) -> &BTreeMap<String, Token> {
        let last = *self.swept_at.get_or_insert(now_ms);
        if now_ms.saturating_sub(last) >= SWEEP_INTERVAL_MS {
            self.swept_at = Some(now_ms);
            self.by_id.retain(|_, token| !token.is_expired(now_ms));
            self.ids_by_hmac.retain(|_, id| self.by_id.contains_key(id));
        }
        &self.by_id
    }

    /// Creates a token. Costs twice [`ScramHash::MIN_ITERATIONS`] hashes.
    ///
    /// # Errors
    /// Tokens are not enabled, or there are too many.
    pub(crate) fn create(&mut self, new: NewToken, now_ms: i64) -> Result<Token, ErrorCode> {
        let Some(config) = self.config.clone() else { return Err(ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED) };
        if self.swept(now_ms).len() >= MAX_TOKENS {
            return Err(ErrorCode::POLICY_VIOLATION);
        }
        let longest = millis(config.max_lifetime);
        let lifetime = if new.max_lifetime_ms > 0 { longest.min(new.max_lifetime_ms) } else { longest };
        let max_at = now_ms.saturating_add(lifetime);
        let id = random_uuid();
        let hmac = ScramHash::Sha512.hmac(config.secret.0.as_bytes(), &[id.to_string().as_bytes()]);
        let password = STANDARD.encode(&hmac);
        let token = Token {
            id,
            owner: new.owner,
            requester: new.requester,
            renewers: new.renewers,
            issued_at: now_ms,
            expires_at: max_at.min(now_ms.saturating_add(millis(config.expiry_time))),
            max_at,
            credentials: ScramHash::ALL.map(|hash| ScramCredential::of_password(hash, &password)),
            hmac: hmac.clone(),
        };
        self.by_id.insert(id.to_string(), token.clone());
        self.ids_by_hmac.insert(hmac, id.to_string());
        Ok(token)
    }

    /// Makes a token valid for longer, and says until when. A period of 0 or less is the longest one.
    ///
    /// # Errors
    /// There is no such token, or it has expired, or does not belong to who asks.
    pub(crate) fn renew(
        &mut self,
        hmac: &[u8],
        period_ms: i64,
        who: &Principal,
        now_ms: i64,
    ) -> Result<i64, ErrorCode> {
        let longest = self.config.as_ref().map(|config| millis(config.expiry_time));
        let longest = longest.ok_or(ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED)?;
        let token = self.find(hmac, now_ms)?;
        if token.is_expired(now_ms) {
            return Err(ErrorCode::DELEGATION_TOKEN_EXPIRED);
        }
        if !token.belongs_to(who) {
            return Err(ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH);
        }
        let period = if period_ms > 0 { longest.min(period_ms) } else { longest };
        token.expires_at = token.max_at.min(now_ms.saturating_add(period));
        Ok(token.expires_at)
    }

    /// Sets when a token expires, and gives that time; a negative period removes it at once.
    ///
    /// # Errors
    /// As [`renew`](Self::renew).
    pub(crate) fn expire(
        &mut self,
        hmac: &[u8],
        period_ms: i64,
        who: &Principal,
        now_ms: i64,
    ) -> Result<i64, ErrorCode> {
        if !self.is_enabled() {
            return Err(ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED);
        }
        let token = self.find(hmac, now_ms)?;
        if !token.belongs_to(who) {
            return Err(ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH);
        }
        if period_ms < 0 {
            if let Some(id) = self.ids_by_hmac.remove(hmac) {
                self.by_id.remove(&id);
            }
            return Ok(now_ms);
        }
        if token.is_expired(now_ms) {
            return Err(ErrorCode::DELEGATION_TOKEN_EXPIRED);
        }
        token.expires_at = token.max_at.min(now_ms.saturating_add(period_ms));
        Ok(token.expires_at)
    }

    fn find(&mut self, hmac: &[u8], now_ms: i64) -> Result<&mut Token, ErrorCode> {
        self.swept(now_ms);
        let id = self.ids_by_hmac.get(hmac).ok_or(ErrorCode::DELEGATION_TOKEN_NOT_FOUND)?;
        self.by_id.get_mut(id).ok_or(ErrorCode::DELEGATION_TOKEN_NOT_FOUND)
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    #[test]
    fn tokens_live_as_long_as_they_are_renewed_and_no_longer_than_their_maximum() {
        let mut tokens = Tokens::new(Some(&DelegationTokenConfig::new("hush")));
        let [owner, renewer, other] = ["owner", "renewer", "other"].map(Principal::user);
        let new = |max_lifetime_ms| NewToken {
            owner: owner.clone(),
            requester: owner.clone(),
            renewers: vec![renewer.clone()],
            max_lifetime_ms,
        };
        let token = tokens.create(new(-1), 0).unwrap();
        assert_eq!((token.issued_at, token.expires_at, token.max_at), (0, DAY, 7 * DAY));
        let short = tokens.create(new(1000), 5).unwrap();
        assert_eq!((short.expires_at, short.max_at), (1005, 1005));
        assert_eq!(tokens.renew(&token.hmac, -1, &renewer, 1000), Ok(DAY + 1000));
        assert_eq!(tokens.renew(&token.hmac, 500, &owner, 1000), Ok(1500));
        assert_eq!(tokens.renew(&token.hmac, 500, &other, 1000), Err(ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH));
        assert_eq!(tokens.renew(b"x", 500, &owner, 1000), Err(ErrorCode::DELEGATION_TOKEN_NOT_FOUND));
        assert_eq!(tokens.renew(&token.hmac, 500, &owner, 1501), Err(ErrorCode::DELEGATION_TOKEN_EXPIRED));
        assert_eq!(tokens.expire(&token.hmac, 0, &owner, 1501), Err(ErrorCode::DELEGATION_TOKEN_EXPIRED));
        assert_eq!(tokens.expire(&token.hmac, -1, &other, 0), Err(ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH));
        assert_eq!(tokens.expire(&token.hmac, -1, &renewer, 1501), Ok(1501));
        assert_eq!(tokens.expire(&token.hmac, -1, &owner, 1501), Err(ErrorCode::DELEGATION_TOKEN_NOT_FOUND));
        // Half an hour after it expired it is still there, and an hour after the last sweep it is gone.
        assert!(tokens.swept(SWEEP_INTERVAL_MS - 1).contains_key(&short.id.to_string()));
        assert!(tokens.swept(SWEEP_INTERVAL_MS).is_empty());
        assert!(tokens.ids_by_hmac.is_empty());
    }
}
