//! What holds clients back that exceed their quotas (KIP-13, KIP-219, KIP-599).

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::cluster::quotas::{CLIENT_ID, Entity, Quotas, USER};

/// Kafka's default of `quota.window.num`.
const WINDOWS: usize = 11;
/// Kafka's default of `quota.window.size.seconds`.
const WINDOW_MS: i64 = 1000;
/// Most clients that are measured at the same time on a node. Those that sent nothing for some seconds are dropped first.
const MAX_METERS: usize = 100_000;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum QuotaKind {
    /// Bytes of Produce requests.
    Produce,
    /// Bytes of Fetch responses.
    Fetch,
    /// Partitions that are created or deleted.
    Mutation,
}

impl QuotaKind {
    /// Its key in AlterClientQuotas.
    fn key(self) -> &'static str {
        match self {
            Self::Produce => "producer_byte_rate",
            Self::Fetch => "consumer_byte_rate",
            Self::Mutation => "controller_mutation_rate",
        }
    }
}

/// The quota of a client, and with which others it shares that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClientQuota {
    kind: QuotaKind,
    /// Per second.
    limit: f64,
    /// Empty when the quota is for all users, and likewise for clients.
    user: String,
    client: String,
}

impl ClientQuota {
    /// The quota of this user and client id, in Kafka's order: the more is named, the sooner it counts.
    pub(crate) fn find(quotas: &Quotas, kind: QuotaKind, user: &str, client: &str) -> Option<Self> {
        if quotas.is_empty() {
            return None;
        }
        let entity = |pairs: &[(&str, Option<&str>)]| -> Entity {
            pairs.iter().map(|(of, name)| ((*of).to_owned(), name.map(str::to_owned))).collect()
        };
        let (users, clients) = ([Some(user), None], [Some(client), None]);
        let of_user = users.into_iter().flat_map(|user| {
            let both = clients.into_iter().map(move |client| entity(&[(USER, user), (CLIENT_ID, client)]));
            both.chain([entity(&[(USER, user)])])
        });
        let all = of_user.chain(clients.into_iter().map(|client| entity(&[(CLIENT_ID, client)])));
        for entity in all {
            let Some(limit) = quotas.get(&entity).and_then(|quotas| quotas.get(kind.key())) else { continue };
            // Who falls under a default is measured alone.
            let of = |key, name: &str| if entity.contains_key(key) { name.to_owned() } else { String::new() };
            return Some(Self { kind, limit: *limit, user: of(USER, user), client: of(CLIENT_ID, client) });
        }
        None
    }

    /// What can be taken at once without being held back.
    pub(crate) fn burst(&self) -> f64 {
        self.limit * (WINDOWS - 1) as f64
    }
}

/// What a client took lately.
#[derive(Debug, Default)]
struct Meter {
    /// The begin of each window with what was taken in it, oldest first.
    windows: VecDeque<(i64, f64)>,
    /// What is left to create and delete, at which time.
    tokens: Option<(f64, i64)>,
}

impl Meter {
    fn forget_old(&mut self, now_ms: i64) {
        let over = now_ms - WINDOWS as i64 * WINDOW_MS;
        while self.windows.front().is_some_and(|(begin, _)| *begin <= over) {
            self.windows.pop_front();
        }
    }

    fn add(&mut self, amount: f64, now_ms: i64) {
        match self.windows.back_mut() {
            Some((begin, taken)) if now_ms - *begin < WINDOW_MS => *taken += amount,
            _ => self.windows.push_back((now_ms, amount)),
        }
        if self.windows.len() > WINDOWS {
            self.windows.pop_front();
        }
    }

    /// For how long the client is held back, in milliseconds.
    fn excess_ms(&mut self, limit: f64, now_ms: i64) -> i32 {
        self.forget_old(now_ms);
        let taken: f64 = self.windows.iter().map(|(_, taken)| taken).sum();
        // At least ten whole windows count, also when less time has passed.
        let passed = self.windows.front().map_or(0, |(begin, _)| now_ms - begin);
        let missing = (WINDOWS as i64 - 1 - passed / WINDOW_MS).max(0);
        let span_ms = (passed + missing * WINDOW_MS) as f64;
        let rate = taken * 1000.0 / span_ms;
        rounded((rate - limit) / limit * span_ms)
    }

    /// Partitions may be changed while there are tokens. They come back with time.
    fn tokens(&mut self, limit: f64, now_ms: i64) -> &mut f64 {
        let most = limit * WINDOWS as f64 * WINDOW_MS as f64 / 1000.0;
        let (left, at) = self.tokens.get_or_insert((most, now_ms));
        *left = (*left + limit * (now_ms - *at).max(0) as f64 / 1000.0).min(most);
        *at = now_ms.max(*at);
        left
    }
}

fn rounded(ms: f64) -> i32 {
    // It is cut at the greatest number.
    ms.round().max(0.0) as i32
}

type Meters = HashMap<(QuotaKind, String, String), Meter>;

/// The clients with quotas that a node measures.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<Meters>);

impl Throttle {
    /// Counts what a client takes; gives for how many milliseconds it is held back.
    pub(crate) fn take(&self, quota: &ClientQuota, amount: f64, now_ms: i64) -> i32 {
        self.with(quota, now_ms, |meter| {
            meter.add(amount, now_ms);
            meter.excess_ms(quota.limit, now_ms)
        })
    }

    /// Takes back what the client did not get after all.
    pub(crate) fn give_back(&self, quota: &ClientQuota, amount: f64, now_ms: i64) {
        self.with(quota, now_ms, |meter| meter.add(-amount, now_ms));
    }

    /// Counts partitions that are created or deleted. With `strict` it takes nothing when there are no tokens left, and says
    /// false.
    pub(crate) fn mutate(&self, quota: &ClientQuota, partitions: usize, strict: bool, now_ms: i64) -> bool {
        self.with(quota, now_ms, |meter| {
            let left = meter.tokens(quota.limit, now_ms);
            if strict && *left < 0.0 {
                return false;
            }
            *left -= partitions as f64;
            true
        })
    }

    /// For how many milliseconds a client is held back that changed too many partitions.
    pub(crate) fn mutation_debt_ms(&self, quota: &ClientQuota, now_ms: i64) -> i32 {
        self.with(quota, now_ms, |meter| rounded(-*meter.tokens(quota.limit, now_ms) / quota.limit * 1000.0))
    }

    fn with<T>(&self, quota: &ClientQuota, now_ms: i64, act: impl FnOnce(&mut Meter) -> T) -> T {
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (quota.kind, quota.user.clone(), quota.client.clone());
        if meters.len() >= MAX_METERS && !meters.contains_key(&key) {
            meters.retain(|_, meter| {
                meter.forget_old(now_ms);
                !meter.windows.is_empty() || meter.tokens.is_some_and(|(left, _)| left < 0.0)
            });
            if meters.len() >= MAX_METERS {
                meters.clear();
            }
        }
        act(meters.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs<'a> = &'a [(&'a str, Option<&'a str>)];

    fn quotas(all: &[(Pairs<'_>, f64)]) -> Quotas {
        let entity = |pairs: Pairs<'_>| -> Entity {
            pairs.iter().map(|(of, name)| ((*of).to_owned(), name.map(str::to_owned))).collect()
        };
        let quota = |limit: f64| [("producer_byte_rate".to_owned(), limit)].into();
        all.iter().map(|(pairs, limit)| (entity(pairs), quota(*limit))).collect()
    }

    /// The order is that of KIP-55.
    #[test]
    fn the_quota_that_names_more_counts() {
        let (u, c) = ((USER, Some("u")), (CLIENT_ID, Some("c")));
        let (any_u, any_c) = ((USER, None), (CLIENT_ID, None));
        let order: [Pairs<'_>; 8] =
            [&[u, c], &[u, any_c], &[u], &[any_u, c], &[any_u, any_c], &[any_u], &[c], &[any_c]];
        let mut all: Vec<_> = order.iter().enumerate().map(|(place, one)| (*one, place as f64 + 1.0)).collect();
        while let Some(first) = all.first().map(|one| one.1) {
            let found = ClientQuota::find(&quotas(&all), QuotaKind::Produce, "u", "c").unwrap();
            assert_eq!(found.limit, first);
            assert_eq!((found.user.is_empty(), found.client.is_empty()), (first > 6.0, first == 3.0 || first == 6.0));
            assert_eq!(ClientQuota::find(&quotas(&all), QuotaKind::Fetch, "u", "c"), None);
            all.remove(0);
        }
        let other = quotas(&[(&[u], 5.0)]);
        assert_eq!(ClientQuota::find(&other, QuotaKind::Produce, "v", "c"), None);
    }

    fn quota(kind: QuotaKind, limit: f64) -> ClientQuota {
        ClientQuota { kind, limit, user: String::new(), client: "c".to_owned() }
    }

    /// Kafka 4.4 held a client back for 5116 ms that sent 15,116 bytes at 1000 bytes per second.
    #[test]
    fn a_client_waits_until_it_is_back_at_its_rate() {
        let (throttle, slow) = (Throttle::default(), quota(QuotaKind::Produce, 1000.0));
        assert_eq!(throttle.take(&slow, 10_000.0, 5000), 0);
        assert_eq!(throttle.take(&slow, 5116.0, 5000), 5116);
        throttle.give_back(&slow, 5116.0, 5000);
        assert_eq!(throttle.take(&slow, 0.0, 5000), 0);
        assert_eq!(throttle.take(&slow, 5000.0, 10_000), 5000, "ten seconds count");
        assert_eq!(throttle.take(&slow, 0.0, 17_000), 0, "the first ones are long ago");
        assert_eq!(throttle.take(&slow, 5100.0, 17_000), 100);
        let other = ClientQuota { client: "d".to_owned(), ..slow };
        assert_eq!(throttle.take(&other, 10_000.0, 17_000), 0);
    }

    /// As KIP-599 describes it: the last change goes into debt.
    #[test]
    fn partitions_are_changed_while_there_are_tokens() {
        let (throttle, slow) = (Throttle::default(), quota(QuotaKind::Mutation, 2.0));
        assert!(throttle.mutate(&slow, 20, true, 0) && throttle.mutate(&slow, 5, true, 0));
        assert_eq!(throttle.mutation_debt_ms(&slow, 0), 1500);
        assert!(!throttle.mutate(&slow, 1, true, 1000) && throttle.mutate(&slow, 1, false, 1000));
        assert_eq!(throttle.mutation_debt_ms(&slow, 1000), 1000);
        assert!(throttle.mutate(&slow, 1, true, 2000));
        assert_eq!(throttle.mutation_debt_ms(&slow, 100_000), 0);
        assert!(throttle.mutate(&slow, 23, true, 100_000) && !throttle.mutate(&slow, 1, true, 100_000), "22 at most");
    }
}
