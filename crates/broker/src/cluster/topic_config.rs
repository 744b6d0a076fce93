//! The settings of topics: which there are, which values they take, and those that this broker acts upon.

use std::collections::BTreeMap;

use milena_messages::ErrorCode;

use crate::refusal::Refusal;

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    /// At least that.
    Int(i64),
    /// At least that.
    Long(i64),
    /// From 0 to 1.
    Ratio,
    OneOf(&'static [&'static str]),
    /// Any number of them, with commas between.
    ListOf(&'static [&'static str]),
    Text,
}

impl Kind {
    /// The number of DescribeConfigs.
    pub(crate) fn config_type(self) -> i8 {
        match self {
            Self::Bool => 1,
            Self::OneOf(_) | Self::Text => 2,
            Self::Int(_) => 3,
            Self::Long(_) => 5,
            Self::Ratio => 6,
            Self::ListOf(_) => 7,
        }
    }

    fn takes(self, value: &str) -> bool {
        match self {
            Self::Bool => value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false"),
            Self::Int(min) => value.parse::<i32>().is_ok_and(|value| i64::from(value) >= min),
            Self::Long(min) => value.parse::<i64>().is_ok_and(|value| value >= min),
            Self::Ratio => value.parse::<f64>().is_ok_and(|value| (0.0..=1.0).contains(&value)),
            Self::OneOf(names) => names.contains(&value),
            Self::ListOf(names) => value.split(',').all(|part| names.contains(&part.trim())),
            Self::Text => true,
        }
    }
}

/// One setting of topics.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) kind: Kind,
    pub(crate) about: &'static str,
}

pub(crate) const MAX_MESSAGE_BYTES: &str = "max.message.bytes";
const TIMESTAMP_TYPE: &str = "message.timestamp.type";
const TIMESTAMP_AFTER: &str = "message.timestamp.after.max.ms";
const TIMESTAMP_BEFORE: &str = "message.timestamp.before.max.ms";
const CLEANUP_POLICY: &str = "cleanup.policy";

const NEVER: &str = "9223372036854775807";

macro_rules! settings {
    ($($name:expr, $default:expr, $kind:expr, $about:expr;)*) => {
        &[$(Setting { name: $name, default: $default, kind: $kind, about: $about }),*]
    };
}

/// All of them, by name. The defaults are those of Kafka 4.
pub(crate) const SETTINGS: &[Setting] = settings! {
    CLEANUP_POLICY, "delete", Kind::ListOf(&["delete", "compact"]), "Whether old records are deleted or compacted; kept as a note here.";
    "compression.type", "producer", Kind::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), "How the broker compresses; here always as the producer did.";
    "delete.retention.ms", "86400000", Kind::Long(0), "How long tombstones stay; kept as a note here.";
    "file.delete.delay.ms", "60000", Kind::Long(0), "No files here: kept as a note.";
    "flush.messages", NEVER, Kind::Long(1), "No files here: kept as a note.";
    "flush.ms", NEVER, Kind::Long(0), "No files here: kept as a note.";
    "index.interval.bytes", "4096", Kind::Int(0), "No files here: kept as a note.";
    "max.compaction.lag.ms", NEVER, Kind::Long(1), "Kept as a note here.";
    MAX_MESSAGE_BYTES, "1048588", Kind::Int(0), "Largest record batch in bytes, its header included.";
    TIMESTAMP_AFTER, "3600000", Kind::Long(0), "How far a timestamp of a producer may be ahead of the broker, in milliseconds.";
    TIMESTAMP_BEFORE, NEVER, Kind::Long(0), "How old a timestamp of a producer may be by the clock of the broker, in milliseconds.";
    TIMESTAMP_TYPE, "CreateTime", Kind::OneOf(&["CreateTime", "LogAppendTime"]), "Whose clock gives the timestamps: the producer's or the broker's.";
    "min.cleanable.dirty.ratio", "0.5", Kind::Ratio, "Kept as a note here.";
    "min.compaction.lag.ms", "0", Kind::Long(0), "Kept as a note here.";
    "min.insync.replicas", "1", Kind::Int(1), "Replicas that acks=all waits for; there is one.";
    "preallocate", "false", Kind::Bool, "No files here: kept as a note.";
    "retention.bytes", "-1", Kind::Long(-1), "How much is kept per partition; kept as a note here, as nothing is dropped.";
    "retention.ms", "604800000", Kind::Long(-1), "How long records are kept; kept as a note here, as nothing is dropped.";
    "segment.bytes", "1073741824", Kind::Int(14), "No files here: kept as a note.";
    "segment.index.bytes", "10485760", Kind::Int(4), "No files here: kept as a note.";
    "segment.jitter.ms", "0", Kind::Long(0), "No files here: kept as a note.";
    "segment.ms", "604800000", Kind::Long(1), "No files here: kept as a note.";
    "unclean.leader.election.enable", "false", Kind::Bool, "One node elects nobody: kept as a note.";
};

/// Settings that Kafka knows besides and that change nothing here: taken with any value.
const OTHERS: &[&str] = &[
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.difference.max.ms",
    "remote.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
];

/// The settings of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicConfig {
    set: BTreeMap<String, String>,
    /// Whether the broker's clock gives the timestamps.
    pub(crate) log_append_time: bool,
    pub(crate) max_message_bytes: i32,
    pub(crate) timestamp_after_max_ms: i64,
    pub(crate) timestamp_before_max_ms: i64,
    /// Replicas in sync that acks=all needs.
    pub(crate) min_in_sync: usize,
    /// Whether every record needs a key.
    pub(crate) compacted: bool,
    /// Whether records may be deleted because they are old.
    pub(crate) deletes: bool,
}

impl TopicConfig {
    /// `max_message_bytes` is that of the broker, for topics that say nothing.
    pub(crate) fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
        max_message_bytes: i32,
    ) -> Result<Self, Refusal> {
        let mut set = BTreeMap::new();
        for (name, value) in pairs {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            if setting.is_none() && !OTHERS.contains(&name) {
                return Err(Refusal::new(ErrorCode::INVALID_CONFIG, format!("Unknown topic config name: {name}")));
            }
            let Some(value) = value else {
                let message = format!("Null value not supported for topic configs: {name}");
                return Err(Refusal::new(ErrorCode::INVALID_CONFIG, message));
            };
            // Kafka cuts off white space before it looks.
            let value = value.trim();
            if setting.is_some_and(|setting| !setting.kind.takes(value)) {
                let message = format!("Invalid value {value} for configuration {name}");
                return Err(Refusal::new(ErrorCode::INVALID_CONFIG, message));
            }
            set.insert(name.to_owned(), value.to_owned());
        }
        let number = |name: &str, default: i64| set.get(name).and_then(|value| value.parse().ok()).unwrap_or(default);
        Ok(Self {
            log_append_time: set.get(TIMESTAMP_TYPE).is_some_and(|value| value == "LogAppendTime"),
            max_message_bytes: number(MAX_MESSAGE_BYTES, max_message_bytes.into()) as i32,
            timestamp_after_max_ms: number(TIMESTAMP_AFTER, 3_600_000),
            timestamp_before_max_ms: number(TIMESTAMP_BEFORE, i64::MAX),
            min_in_sync: number("min.insync.replicas", 1) as usize,
            deletes: set.get(CLEANUP_POLICY).is_none_or(|value| value.contains("delete")),
            compacted: set.get(CLEANUP_POLICY).is_some_and(|value| value.contains("compact")),
            set,
        })
    }

    /// What was set for the topic itself.
    pub(crate) fn own(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_sorted() {
        for setting in SETTINGS {
            assert!(setting.kind.takes(setting.default), "{}", setting.name);
        }
        assert!(SETTINGS.is_sorted_by_key(|setting| setting.name));
    }

    #[test]
    fn unknown_names_and_bad_values_are_refused() {
        for (name, value) in [
            ("retention", Some("1")),
            ("retention.ms", Some("soon")),
            ("retention.ms", Some("-2")),
            ("retention.ms", None),
            ("message.timestamp.type", Some("logappendtime")),
            ("cleanup.policy", Some("delete,compcat")),
            ("min.cleanable.dirty.ratio", Some("1.5")),
        ] {
            let refusal = TopicConfig::new([(name, value)], 1).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::INVALID_CONFIG, "{name}={value:?}");
        }
    }

    #[test]
    fn what_is_set_is_acted_upon() {
        let pairs = [("message.timestamp.type", Some("LogAppendTime")), ("cleanup.policy", Some("compact, delete"))];
        let config = TopicConfig::new(pairs, 77).unwrap();
        assert!(config.log_append_time && config.compacted);
        assert_eq!(config.max_message_bytes, 77);
        assert_eq!(config.own("cleanup.policy"), Some("compact, delete"));
    }
}
