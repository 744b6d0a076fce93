//! Metrics of clients (KIP-714): which clients push what, and how often.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use milena_messages::{ByteString, ErrorCode, Uuid};
use regex::Regex;

use crate::cluster::setting::parts;
use crate::cluster::stored_config::Values;

/// Kafka's default of `telemetry.max.bytes`.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Most clients that a node remembers, as in Kafka.
const MAX_INSTANCES: usize = 16_384;
/// A client is forgotten after this time without a request, or three of its intervals.
const EXPIRY_MS: i64 = 60_000;
const DEFAULT_INTERVAL_MS: i32 = 300_000;
/// What stands for all metrics.
const ALL: &str = "*";

/// How a client calls its software, as ApiVersions says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Software {
    pub(crate) name: ByteString,
    pub(crate) version: ByteString,
}

impl Default for Software {
    fn default() -> Self {
        let unknown = ByteString::from_static("unknown");
        Self { name: unknown.clone(), version: unknown }
    }
}

/// What subscriptions can match, by the names that they have there.
pub(crate) type Properties = BTreeMap<&'static str, String>;

/// What a client pushes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) id: i32,
    /// Prefixes of names of metrics.
    pub(crate) metrics: BTreeSet<String>,
    pub(crate) interval_ms: i32,
}

impl Subscription {
    /// All subscriptions that match a client, as one.
    fn of(instance: Uuid, properties: &Properties, stored: &BTreeMap<String, Values>) -> Self {
        let mut metrics = BTreeSet::new();
        let mut interval_ms = DEFAULT_INTERVAL_MS;
        for values in stored.values() {
            let value = |name: &str| values.get(name).map_or("", String::as_str);
            if parts(value("match")).all(|pair| matches(pair, properties)) {
                metrics.extend(parts(value("metrics")).map(str::to_owned));
                interval_ms = interval_ms.min(value("interval.ms").parse().unwrap_or(DEFAULT_INTERVAL_MS));
            }
        }
        if metrics.contains(ALL) {
            metrics = BTreeSet::from([ALL.to_owned()]);
        }
        let text = format!("{metrics:?}{interval_ms}");
        let words = instance.as_bytes().chunks(4).map(|word| word.iter().fold(0, |all, b| all << 8 | u32::from(*b)));
        let id = words.fold(crc32fast::hash(text.as_bytes()), |all, word| all ^ word);
        Self { id: id as i32, metrics, interval_ms }
    }
}

/// Reads a pair of a property and a regular expression.
pub(crate) fn pattern(pair: &str) -> Option<(&str, Regex)> {
    let (property, regex) = pair.split_once('=').filter(|(_, regex)| !regex.is_empty() && !regex.contains('='))?;
    let regex = Regex::new(&format!("^(?:{})$", regex.trim())).ok()?;
    Some((property.trim(), regex))
}

fn matches(pair: &str, properties: &Properties) -> bool {
    let Some((property, regex)) = pattern(pair) else { return false };
    properties.get(property).is_some_and(|value| regex.is_match(value))
}

/// A client that asked for its subscription.
#[derive(Debug)]
struct Instance {
    subscription: Subscription,
    /// Of the settings that the subscription was made of.
    version: u64,
    last_get_ms: i64,
    last_push_ms: i64,
    last_used_ms: i64,
    terminating: bool,
    last_error: ErrorCode,
    /// Ends with the connection on which it became known.
    connection: Weak<Mutex<Software>>,
}

impl Instance {
    fn is_over(&self, now_ms: i64) -> bool {
        let expiry = EXPIRY_MS.max(3 * i64::from(self.subscription.interval_ms));
        self.connection.strong_count() == 0 || now_ms - self.last_used_ms > expiry
    }
}

/// A client that sends a request, with what its subscription follows from.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) instance: Uuid,
    pub(crate) connection: &'a Arc<Mutex<Software>>,
    pub(crate) properties: Properties,
    pub(crate) stored: &'a BTreeMap<String, Values>,
    /// Of `stored`.
    pub(crate) version: u64,
}

/// What is pushed.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) subscription: i32,
    pub(crate) terminating: bool,
    /// Whether there is a codec of this number.
    pub(crate) codec_known: bool,
    /// Before they are decompressed.
    pub(crate) size: usize,
    /// Whether the metrics can be decompressed.
    pub(crate) readable: bool,
}

/// The clients of a node.
#[derive(Debug, Default)]
pub(crate) struct Telemetry(Mutex<HashMap<Uuid, Instance>>);

impl Telemetry {
    /// The subscription of a client.
    ///
    /// # Errors
    /// It asks again before its interval is over.
    pub(crate) fn subscription(&self, caller: &Caller<'_>, now_ms: i64) -> Result<Subscription, ErrorCode> {
        self.with(caller, now_ms, |instance| {
            let last = instance.last_get_ms.max(instance.last_push_ms);
            let retries = [ErrorCode::UNKNOWN_SUBSCRIPTION_ID, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE];
            if now_ms.saturating_sub(last) >= instance.subscription.interval_ms.into() {
                instance.last_get_ms = now_ms;
            } else if !retries.contains(&instance.last_error) {
                return Err(ErrorCode::THROTTLING_QUOTA_EXCEEDED);
            }
            instance.last_error = ErrorCode::NONE;
            Ok(instance.subscription.clone())
        })
    }

    /// Takes what a client pushes.
    ///
    /// # Errors
    /// What is wrong with it, or that it came too soon.
    pub(crate) fn push(&self, caller: &Caller<'_>, push: &Push, now_ms: i64) -> Result<(), ErrorCode> {
        self.with(caller, now_ms, |instance| {
            let result = check(instance, push, now_ms);
            instance.last_error = result.err().unwrap_or_default();
            instance.terminating = push.terminating;
            result
        })
    }

    fn with<T>(&self, caller: &Caller<'_>, now_ms: i64, act: impl FnOnce(&mut Instance) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stale = |known: &Instance| known.is_over(now_ms) || known.version < caller.version;
        if all.get(&caller.instance).is_none_or(is_stale) {
            all.remove(&caller.instance);
            make_room(&mut all, now_ms);
        }
        let instance = all.entry(caller.instance).or_insert_with(|| Instance {
            subscription: Subscription::of(caller.instance, &caller.properties, caller.stored),
            version: caller.version,
            last_get_ms: i64::MIN,
            last_push_ms: i64::MIN,
            last_used_ms: now_ms,
            terminating: false,
            last_error: ErrorCode::NONE,
            connection: Arc::downgrade(caller.connection),
        });
        instance.last_used_ms = now_ms;
        act(instance)
    }
}

fn make_room(all: &mut HashMap<Uuid, Instance>, now_ms: i64) {
    if all.len() < MAX_INSTANCES {
        return;
    }
    all.retain(|_, instance| !instance.is_over(now_ms));
    if all.len() >= MAX_INSTANCES {
        let oldest = all.iter().min_by_key(|(_, instance)| instance.last_used_ms).map(|(id, _)| *id);
        oldest.map(|oldest| all.remove(&oldest));
    }
}

fn check(instance: &mut Instance, push: &Push, now_ms: i64) -> Result<(), ErrorCode> {
    if instance.terminating {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    // The first push after a subscription comes when the client likes.
    let in_time = instance.last_get_ms > instance.last_push_ms
        || now_ms.saturating_sub(instance.last_push_ms) >= instance.subscription.interval_ms.into();
    if in_time {
        instance.last_push_ms = now_ms;
    } else if !push.terminating {
        return Err(ErrorCode::THROTTLING_QUOTA_EXCEEDED);
    }
    if push.subscription != instance.subscription.id {
        return Err(ErrorCode::UNKNOWN_SUBSCRIPTION_ID);
    }
    if !push.codec_known {
        return Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    }
    if push.size > MAX_BYTES {
        return Err(ErrorCode::TELEMETRY_TOO_LARGE);
    }
    if push.readable { Ok(()) } else { Err(ErrorCode::INVALID_RECORD) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The same steps gave the same codes with Kafka 4.4.
    #[test]
    fn a_client_pushes_once_in_its_interval() {
        let none = BTreeMap::new();
        let settings = [("interval.ms", "1000"), ("metrics", "b.,a."), ("match", "client_software_name=probe.*")];
        let one = BTreeMap::from([("s".to_owned(), values(&settings))]);
        let (telemetry, connection) = (Telemetry::default(), Arc::default());
        let properties = Properties::from([("client_software_name", "probe-soft".to_owned())]);
        let caller = |stored, version| Caller {
            instance: Uuid::from_bytes([7; 16]),
            connection: &connection,
            properties: properties.clone(),
            stored,
            version,
        };
        let push = |subscription| Push { subscription, terminating: false, codec_known: true, size: 1, readable: true };
        let first = telemetry.subscription(&caller(&none, 0), 1000).unwrap();
        assert_eq!((first.metrics.len(), first.interval_ms), (0, 300_000));
        let too_soon = Err(ErrorCode::THROTTLING_QUOTA_EXCEEDED);
        assert_eq!(telemetry.subscription(&caller(&none, 0), 1000).map(|_| ()), too_soon);
        assert_eq!(telemetry.push(&caller(&none, 0), &push(first.id), 1001), Ok(()));
        assert_eq!(telemetry.push(&caller(&none, 0), &push(first.id), 1002), too_soon);
        let second = telemetry.subscription(&caller(&one, 1), 1100).unwrap();
        assert_eq!((second.metrics.len(), second.interval_ms), (2, 1000));
        assert_ne!(second.id, first.id);
        let caller = caller(&one, 1);
        assert_eq!(telemetry.push(&caller, &push(first.id), 1101), Err(ErrorCode::UNKNOWN_SUBSCRIPTION_ID));
        assert_eq!(telemetry.subscription(&caller, 1102).as_ref(), Ok(&second), "to learn of the new one");
        for (at, push, code) in [
            (2200, Push { codec_known: false, ..push(second.id) }, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE),
            (3300, Push { size: MAX_BYTES + 1, ..push(second.id) }, ErrorCode::TELEMETRY_TOO_LARGE),
            (4400, Push { readable: false, ..push(second.id) }, ErrorCode::INVALID_RECORD),
            (5500, push(second.id), ErrorCode::NONE),
            (5501, Push { terminating: true, ..push(second.id) }, ErrorCode::NONE),
            (5502, push(second.id), ErrorCode::INVALID_REQUEST),
            (5503, Push { terminating: true, ..push(second.id) }, ErrorCode::NONE),
        ] {
            assert_eq!(telemetry.push(&caller, &push, at).err().unwrap_or_default(), code, "at {at}");
        }
    }

    #[test]
    fn subscriptions_that_match_are_one() {
        let properties =
            Properties::from([("client_id", "probe".to_owned()), ("client_source_address", "::1".to_owned())]);
        let of = |all: &[&[(&str, &str)]]| {
            let stored = all.iter().enumerate().map(|(number, one)| (number.to_string(), values(one))).collect();
            let found = Subscription::of(Uuid::ZERO, &properties, &stored);
            (found.metrics.into_iter().collect::<Vec<_>>().join(" "), found.interval_ms)
        };
        assert_eq!(of(&[&[("metrics", "a,b")], &[("metrics", "b,c"), ("interval.ms", "700")]]), ("a b c".into(), 700));
        assert_eq!(of(&[&[("metrics", "a,*")], &[("metrics", "c")]]), ("*".into(), 300_000));
        for (pattern, is_match) in [
            ("client_id=prob.", true),
            ("client_id=rob", false),
            ("client_id=probe|x, client_source_address=::1", true),
            ("client_id=probe,client_source_address=::2", false),
        ] {
            let expected = if is_match { ("a".to_owned(), 300_000) } else { (String::new(), 300_000) };
            assert_eq!(of(&[&[("metrics", "a"), ("match", pattern)]]), expected, "{pattern}");
        }
    }

    #[test]
    fn a_client_is_forgotten_with_its_connection_and_when_there_are_too_many() {
        let (telemetry, stored) = (Telemetry::default(), BTreeMap::new());
        let ask = |connection: &Arc<Mutex<Software>>, number: u64| {
            let mut instance = [0; 16];
            instance[..8].copy_from_slice(&number.to_be_bytes());
            let instance = Uuid::from_bytes(instance);
            let caller = Caller { instance, connection, properties: Properties::new(), stored: &stored, version: 0 };
            telemetry.subscription(&caller, 5).is_ok()
        };
        let (first, second) = (Arc::default(), Arc::default());
        assert!(ask(&first, 1) && !ask(&second, 1));
        drop(first);
        assert!(ask(&second, 1), "it is new here");
        for number in 0..MAX_INSTANCES as u64 + 10 {
            ask(&second, number);
        }
        assert_eq!(telemetry.0.lock().unwrap().len(), MAX_INSTANCES);
    }
}
