//! The settings of topics: which there are, which values they take, and those that this broker acts upon.

use std::collections::BTreeMap;

use milena_messages::ErrorCode;

use crate::cluster::setting::{Kind, Setting, settings};
use crate::refusal::Refusal;
use crate::storage::cleanable::CompactWhen;
use crate::storage::log::{Keep, RollAt};

const MAX_MESSAGE_BYTES: &str = "max.message.bytes";
const TIMESTAMP_TYPE: &str = "message.timestamp.type";
const TIMESTAMP_AFTER: &str = "message.timestamp.after.max.ms";
const TIMESTAMP_BEFORE: &str = "message.timestamp.before.max.ms";
const CLEANUP_POLICY: &str = "cleanup.policy";

const MIN_IN_SYNC: &str = "min.insync.replicas";
const MIN_COMPACTION_LAG: &str = "min.compaction.lag.ms";
const MAX_COMPACTION_LAG: &str = "max.compaction.lag.ms";
const SEGMENT_BYTES: &str = "segment.bytes";
/// The setting under which Kafka takes smaller segments, for tests. Clients do not see it.
const OF_TESTS: Setting = Setting {
    name: "internal.segment.bytes",
    default: "",
    kind: Kind::Int(i32::MIN as i64, INT_MAX),
    of_broker: None,
    broker_has_default: true,
    about: "Most bytes of a segment, in tests.",
};
const SEGMENT_MS: &str = "segment.ms";
const RETENTION_MS: &str = "retention.ms";
const RETENTION_BYTES: &str = "retention.bytes";
const DELETE_RETENTION: &str = "delete.retention.ms";
const MIN_CLEANABLE_RATIO: &str = "min.cleanable.dirty.ratio";
const REMOTE_STORAGE: &str = "remote.storage.enable";

const INT_MAX: i64 = i32::MAX as i64;

/// All of them, by name, with the defaults of Kafka 4.4.
pub(crate) const SETTINGS: &[Setting] = settings! {
    CLEANUP_POLICY, "delete", Kind::ListOf(&["compact", "delete"]), "log.cleanup.policy", "Whether old records are deleted or compacted.";
    "compression.gzip.level", "-1", Kind::GzipLevel, "compression.gzip.level", "Stored only: batches stay as the producer wrote them.";
    "compression.lz4.level", "9", Kind::Int(1, 17), "compression.lz4.level", "Stored only: batches stay as the producer wrote them.";
    "compression.type", "producer", Kind::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), "compression.type", "Stored only: batches stay as the producer wrote them.";
    "compression.zstd.level", "3", Kind::Int(-131_072, 22), "compression.zstd.level", "Stored only: batches stay as the producer wrote them.";
    DELETE_RETENTION, "86400000", Kind::Long(0), "log.cleaner.delete.retention.ms", "How long tombstones stay after compaction has seen them, in milliseconds.";
    "errors.deadletterqueue.group.enable", "false", Kind::Bool, -, "Whether share groups write here what nobody could process. Stored only.";
    "file.delete.delay.ms", "60000", Kind::Long(0), "log.segment.delete.delay.ms", "Stored only: files are deleted at once.";
    "flush.messages", "9223372036854775807", Kind::Long(1), "log.flush.interval.messages", "Stored only: nothing waits for the disk.";
    "flush.ms", "9223372036854775807", Kind::Long(0), (no default "log.flush.interval.ms"), "Stored only: nothing waits for the disk.";
    "follower.replication.throttled.replicas", "", Kind::Replicas, -, "Stored only: replicas share one log.";
    "index.interval.bytes", "4096", Kind::Int(0, INT_MAX), "log.index.interval.bytes", "Stored only: indexes have an entry for 4096 bytes.";
    "leader.replication.throttled.replicas", "", Kind::Replicas, -, "Stored only: replicas share one log.";
    "local.retention.bytes", "-2", Kind::Long(-2), "log.local.retention.bytes", "Stored only: there is no remote storage.";
    "local.retention.ms", "-2", Kind::Long(-2), "log.local.retention.ms", "Stored only: there is no remote storage.";
    MAX_COMPACTION_LAG, "9223372036854775807", Kind::Long(1), "log.cleaner.max.compaction.lag.ms", "How old a record gets, in milliseconds, before it is compacted in any case.";
    "max.decompressed.message.bytes", "2147483639", Kind::Int(1, INT_MAX), "max.decompressed.message.bytes", "Stored only: the limit of the broker holds.";
    MAX_MESSAGE_BYTES, "1048588", Kind::Int(0, INT_MAX), "message.max.bytes", "Largest record batch in bytes, its header included.";
    TIMESTAMP_AFTER, "3600000", Kind::Long(0), "log.message.timestamp.after.max.ms", "How far a timestamp of a producer may be ahead of the broker, in milliseconds.";
    TIMESTAMP_BEFORE, "9223372036854775807", Kind::Long(0), "log.message.timestamp.before.max.ms", "How old a timestamp of a producer may be by the clock of the broker, in milliseconds.";
    TIMESTAMP_TYPE, "CreateTime", Kind::OneOf(&["CreateTime", "LogAppendTime"]), "log.message.timestamp.type", "Whose clock gives the timestamps: the producer's or the broker's.";
    MIN_CLEANABLE_RATIO, "0.5", Kind::Ratio, "log.cleaner.min.cleanable.ratio", "The part of a log that was not compacted yet which makes compaction worthwhile.";
    MIN_COMPACTION_LAG, "0", Kind::Long(0), "log.cleaner.min.compaction.lag.ms", "How long a record stays as it is before it is compacted, in milliseconds.";
    MIN_IN_SYNC, "1", Kind::Int(1, INT_MAX), "min.insync.replicas", "Replicas in sync that acks=all needs.";
    "preallocate", "false", Kind::Bool, "log.preallocate", "Stored only: files are not preallocated.";
    "remote.copy.lag.bytes", "-1", Kind::Long(-1), "log.remote.copy.lag.bytes", "Stored only: there is no remote storage.";
    "remote.copy.lag.ms", "0", Kind::Long(-1), "log.remote.copy.lag.ms", "Stored only: there is no remote storage.";
    "remote.log.copy.disable", "false", Kind::Bool, -, "Stored only: there is no remote storage.";
    "remote.log.delete.on.disable", "false", Kind::Bool, -, "Stored only: there is no remote storage.";
    REMOTE_STORAGE, "false", Kind::Bool, -, "Whether segments go to remote storage, which this broker lacks.";
    RETENTION_BYTES, "-1", Kind::Long(i64::MIN), "log.retention.bytes", "Bytes to keep per partition; segments are deleted as long as so many are left.";
    RETENTION_MS, "604800000", Kind::Long(-1), (no default "log.retention.ms"), "How long to keep records, in milliseconds by their timestamps.";
    SEGMENT_BYTES, "1073741824", Kind::Int(1_048_576, INT_MAX), "log.segment.bytes", "Most bytes of a segment.";
    "segment.index.bytes", "10485760", Kind::Int(4, INT_MAX), "log.index.size.max.bytes", "Stored only: indexes are as large as they need to be.";
    "segment.jitter.ms", "0", Kind::Long(0), (no default "log.roll.jitter.ms"), "Stored only: segments begin without jitter.";
    SEGMENT_MS, "604800000", Kind::Long(1), (no default "log.roll.ms"), "After that many milliseconds a new segment begins, even if the last one is not full.";
    "unclean.leader.election.enable", "false", Kind::Bool, "unclean.leader.election.enable", "Stored only: ElectLeaders asks for such elections.";
};

/// The settings of one topic.
#[derive(Clone, Debug, PartialEq)]
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
    segment_bytes: u64,
    segment_ms: i64,
    retention_ms: i64,
    retention_bytes: i64,
    pub(crate) delete_retention_ms: i64,
    min_compaction_lag_ms: i64,
    max_compaction_lag_ms: i64,
    min_cleanable_ratio: f64,
}

impl TopicConfig {
    /// When a segment is full.
    pub(crate) fn roll_at(&self) -> RollAt {
        let lag = if self.compacted { self.max_compaction_lag_ms } else { i64::MAX };
        RollAt { bytes: self.segment_bytes, age_ms: self.segment_ms.min(lag) }
    }

    /// What retention keeps; `None` when it deletes nothing.
    pub(crate) fn keep(&self) -> Option<Keep> {
        let limits =
            Keep { ms: Some(self.retention_ms).filter(|ms| *ms >= 0), bytes: u64::try_from(self.retention_bytes).ok() };
        self.deletes.then_some(limits)
    }

    /// When the log is compacted; `None` when it is not.
    pub(crate) fn compact_when(&self) -> Option<CompactWhen> {
        self.compacted.then_some(CompactWhen {
            min_lag_ms: self.min_compaction_lag_ms,
            max_lag_ms: self.max_compaction_lag_ms,
            min_ratio: self.min_cleanable_ratio,
        })
    }
}

impl TopicConfig {
    /// `max_message_bytes` is that of the broker, for topics that say nothing.
    #[cfg(test)]
    pub(crate) fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
        max_message_bytes: i32,
    ) -> Result<Self, Refusal> {
        let defaults = BTreeMap::from([("message.max.bytes".to_owned(), max_message_bytes.to_string())]);
        Self::with_defaults(pairs, &defaults)
    }

    /// `defaults` are settings of the brokers, for topics that say nothing.
    ///
    /// # Errors
    /// INVALID_CONFIG with the message of Kafka.
    pub(crate) fn with_defaults<'a>(
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
        defaults: &BTreeMap<String, String>,
    ) -> Result<Self, Refusal> {
        let invalid = |message: String| Err(Refusal::new(ErrorCode::INVALID_CONFIG, message));
        let mut set = BTreeMap::new();
        for (name, value) in pairs {
            let Some(value) = value else {
                return invalid(format!("Null value not supported for topic configs: {name}"));
            };
            let Some(setting) = setting(name).or_else(|| (name == OF_TESTS.name).then_some(&OF_TESTS)) else {
                return invalid(format!("Unknown topic config name: {name}"));
            };
            // Kafka cuts off white space before it looks.
            let value = value.trim();
            if let Err(message) = setting.kind.check(name, value) {
                return invalid(message);
            }
            set.insert(name.to_owned(), value.to_owned());
        }
        let value = |name: &str| -> &str {
            let setting = setting(name);
            let default = || setting.and_then(|setting| defaults.get(setting.of_broker?)).map(String::as_str);
            set.get(name).map(String::as_str).or_else(default).or(setting.map(|setting| setting.default)).unwrap_or("")
        };
        let number = |name: &str| value(name).parse::<i64>().unwrap_or(0);
        if value(REMOTE_STORAGE).eq_ignore_ascii_case("true") {
            let message = "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote \
                           log storage.";
            return invalid(message.to_owned());
        }
        let (least, most) = (number(MIN_COMPACTION_LAG), number(MAX_COMPACTION_LAG));
        if least > most {
            return invalid(format!(
                "conflict topic config setting {MIN_COMPACTION_LAG} ({least}) > {MAX_COMPACTION_LAG} ({most})"
            ));
        }
        let segment_bytes = u64::try_from(number(SEGMENT_BYTES)).unwrap_or(u64::MAX);
        Ok(Self {
            log_append_time: value(TIMESTAMP_TYPE) == "LogAppendTime",
            max_message_bytes: number(MAX_MESSAGE_BYTES) as i32,
            timestamp_after_max_ms: number(TIMESTAMP_AFTER),
            timestamp_before_max_ms: number(TIMESTAMP_BEFORE),
            min_in_sync: number(MIN_IN_SYNC) as usize,
            deletes: value(CLEANUP_POLICY).contains("delete"),
            compacted: value(CLEANUP_POLICY).contains("compact"),
            segment_bytes: set.get(OF_TESTS.name).and_then(|bytes| bytes.parse().ok()).unwrap_or(segment_bytes),
            segment_ms: number(SEGMENT_MS),
            retention_ms: number(RETENTION_MS),
            retention_bytes: number(RETENTION_BYTES),
            delete_retention_ms: number(DELETE_RETENTION),
            min_compaction_lag_ms: least,
            max_compaction_lag_ms: most,
            min_cleanable_ratio: value(MIN_CLEANABLE_RATIO).parse().unwrap_or(0.5),
            set,
        })
    }

    /// All that was set for the topic itself.
    pub(crate) fn all_own(&self) -> &BTreeMap<String, String> {
        &self.set
    }

    /// What was set for the topic itself.
    pub(crate) fn own(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }
}

/// The setting of topics with this name.
pub(crate) fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.binary_search_by(|setting| setting.name.cmp(name)).ok().map(|at| &SETTINGS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_sorted() {
        for setting in SETTINGS {
            assert_eq!(setting.kind.check(setting.name, setting.default), Ok(()));
        }
        assert_eq!(SETTINGS.len(), 37, "as many as Kafka 4.4 has");
        assert!(SETTINGS.is_sorted_by_key(|setting| setting.name));
    }

    #[test]
    fn unknown_names_and_bad_values_are_refused() {
        for (name, value) in [
            ("retention", Some("1")),
            ("retention.ms", Some("soon")),
            ("message.format.version", Some("2.0")),
            ("remote.storage.enable", Some("true")),
            ("segment.bytes", Some("100")),
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
