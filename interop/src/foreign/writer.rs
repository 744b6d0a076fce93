//! Who writes what, to where, and what the broker then has on its disk.

use std::process::Command;

use milena_records::{Codec, TimestampType};

use super::sample::Room;
use crate::error::Result;
use crate::java::java_client;
use crate::kafka::KafkaRelease;
use crate::python::python_client;

pub(super) enum Program {
    Librdkafka,
    KafkaPython,
    /// Apache Kafka's own client, of that version.
    Java(&'static str),
}

impl Program {
    pub(super) fn command(&self) -> Result<Command> {
        match self {
            Self::Librdkafka => python_client("write_librdkafka.py"),
            Self::KafkaPython => python_client("write_kafka_python.py"),
            Self::Java(version) => java_client("Write", version),
        }
    }
}

/// The timestamps of the records once they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// What the client was given.
    Kept,
    /// Nothing: the format, or the client, has none.
    None,
    /// The time at which the broker appended them.
    Append,
}

/// One writer against one kind of topic.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) release: KafkaRelease,
    pub(super) program: Program,
    pub(super) options: &'static [&'static str],
    /// Settings of the broker.
    pub(super) broker: &'static [&'static str],
    /// Settings of the topics, beside one that keeps old records.
    pub(super) topic: &'static [(&'static str, &'static str)],
    pub(super) codecs: &'static [Codec],
    pub(super) room: Room,
    /// The format on the broker's disk.
    pub(super) magic: i8,
    pub(super) time: Time,
}

impl Case {
    /// What the batches on disk have to say of their timestamps; magic 0 has no room for that.
    pub(super) fn timestamp_type(&self) -> TimestampType {
        match (self.magic, self.time) {
            (0, _) => TimestampType::None,
            (_, Time::Append) => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        }
    }
}

const ALL: &[Codec] = &Codec::ALL;
/// zstd came with Kafka 2.1.
const OLD: &[Codec] = &[Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4];
/// kafka-python 3.0.12 fails while it compresses for LZ4 of magic 0.
const OLD_WITHOUT_LZ4: &[Codec] = &[Codec::None, Codec::Gzip, Codec::Snappy];

const FULL: Room = Room { headers: true, null_headers: true, null_records: true };
/// kafka-python writes no header whose value is null, and no record that is all null.
const KAFKA_PYTHON: Room = Room { headers: true, null_headers: false, null_records: false };
/// Headers came with magic 2.
const NO_HEADERS: Room = Room { headers: false, ..FULL };
const KAFKA_PYTHON_NO_HEADERS: Room = Room { headers: false, ..KAFKA_PYTHON };

const MAGIC_0: &[(&str, &str)] = &[("message.format.version", "0.9.0")];
const APPEND_TIME: &[(&str, &str)] = &[("message.timestamp.type", "LogAppendTime")];
/// 0.10.0 creates topics only on first use, so the settings of the broker replace theirs.
const BROKER_1: &[&str] = &["log.retention.ms=-1"];
const BROKER_0: &[&str] = &["log.retention.ms=-1", "log.message.format.version=0.9.0"];
const LIBRDKAFKA_0_9: &[&str] = &["api.version.request=false", "broker.version.fallback=0.9.0"];

pub(super) const CASES: &[Case] = &[
    Case {
        name: "librdkafka_writes_magic_2",
        release: KafkaRelease::Newest,
        program: Program::Librdkafka,
        options: &[],
        broker: &[],
        topic: &[],
        codecs: ALL,
        room: FULL,
        magic: 2,
        time: Time::Kept,
    },
    Case {
        name: "kafka_python_writes_magic_2",
        release: KafkaRelease::Newest,
        program: Program::KafkaPython,
        options: &[],
        broker: &[],
        topic: &[],
        codecs: ALL,
        room: KAFKA_PYTHON,
        magic: 2,
        time: Time::Kept,
    },
    Case {
        name: "java_writes_magic_2",
        release: KafkaRelease::Newest,
        program: Program::Java("4.4.0"),
        options: &[],
        broker: &[],
        topic: &[],
        codecs: ALL,
        room: FULL,
        magic: 2,
        time: Time::Kept,
    },
    Case {
        name: "java_writes_magic_2_and_the_broker_its_time",
        release: KafkaRelease::Newest,
        program: Program::Java("4.4.0"),
        options: &[],
        broker: &[],
        topic: APPEND_TIME,
        codecs: ALL,
        room: FULL,
        magic: 2,
        time: Time::Append,
    },
    Case {
        name: "librdkafka_writes_magic_1",
        release: KafkaRelease::V0_10_2,
        program: Program::Librdkafka,
        options: &[],
        broker: &[],
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 1,
        time: Time::Kept,
    },
    Case {
        name: "kafka_python_writes_magic_1",
        release: KafkaRelease::V0_10_2,
        program: Program::KafkaPython,
        options: &[],
        broker: &[],
        topic: &[],
        codecs: OLD,
        room: KAFKA_PYTHON_NO_HEADERS,
        magic: 1,
        time: Time::Kept,
    },
    Case {
        name: "java_writes_magic_1",
        release: KafkaRelease::V0_10_2,
        program: Program::Java("0.10.2.2"),
        options: &[],
        broker: &[],
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 1,
        time: Time::Kept,
    },
    Case {
        name: "java_writes_magic_1_and_the_broker_its_time",
        release: KafkaRelease::V0_10_2,
        program: Program::Java("0.10.2.2"),
        options: &[],
        broker: &[],
        topic: APPEND_TIME,
        codecs: OLD,
        room: NO_HEADERS,
        magic: 1,
        time: Time::Append,
    },
    Case {
        name: "librdkafka_writes_magic_0",
        release: KafkaRelease::V0_10_2,
        program: Program::Librdkafka,
        options: LIBRDKAFKA_0_9,
        broker: &[],
        topic: MAGIC_0,
        codecs: OLD,
        room: NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
    Case {
        name: "kafka_python_writes_magic_0",
        release: KafkaRelease::V0_10_2,
        program: Program::KafkaPython,
        options: &["api_version=0.9"],
        broker: &[],
        topic: MAGIC_0,
        codecs: OLD_WITHOUT_LZ4,
        room: KAFKA_PYTHON_NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
    Case {
        name: "java_writes_magic_0",
        release: KafkaRelease::V0_10_2,
        program: Program::Java("0.9.0.1"),
        options: &[],
        broker: &[],
        topic: MAGIC_0,
        codecs: OLD,
        room: NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
    Case {
        name: "java_writes_magic_0_and_the_broker_makes_it_1",
        release: KafkaRelease::V0_10_2,
        program: Program::Java("0.9.0.1"),
        options: &[],
        broker: &[],
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 1,
        time: Time::None,
    },
    Case {
        name: "java_writes_magic_1_and_the_broker_makes_it_0",
        release: KafkaRelease::V0_10_2,
        program: Program::Java("0.10.2.2"),
        options: &[],
        broker: &[],
        topic: MAGIC_0,
        codecs: OLD,
        room: NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
    Case {
        name: "librdkafka_writes_magic_1",
        release: KafkaRelease::V0_10_0,
        program: Program::Librdkafka,
        options: &[],
        broker: BROKER_1,
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 1,
        time: Time::Kept,
    },
    Case {
        name: "kafka_python_writes_magic_1",
        release: KafkaRelease::V0_10_0,
        program: Program::KafkaPython,
        options: &[],
        broker: BROKER_1,
        topic: &[],
        codecs: OLD,
        room: KAFKA_PYTHON_NO_HEADERS,
        magic: 1,
        time: Time::Kept,
    },
    Case {
        name: "java_writes_magic_1",
        release: KafkaRelease::V0_10_0,
        program: Program::Java("0.10.0.1"),
        options: &[],
        broker: BROKER_1,
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 1,
        time: Time::Kept,
    },
    Case {
        name: "librdkafka_writes_magic_0",
        release: KafkaRelease::V0_10_0,
        program: Program::Librdkafka,
        options: LIBRDKAFKA_0_9,
        broker: BROKER_0,
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
    Case {
        name: "kafka_python_writes_magic_0",
        release: KafkaRelease::V0_10_0,
        program: Program::KafkaPython,
        options: &["api_version=0.9"],
        broker: BROKER_0,
        topic: &[],
        codecs: OLD_WITHOUT_LZ4,
        room: KAFKA_PYTHON_NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
    Case {
        name: "java_writes_magic_0",
        release: KafkaRelease::V0_10_0,
        program: Program::Java("0.9.0.1"),
        options: &[],
        broker: BROKER_0,
        topic: &[],
        codecs: OLD,
        room: NO_HEADERS,
        magic: 0,
        time: Time::None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_magic_and_codec_has_a_writer() {
        let mut names: Vec<_> = CASES.iter().map(|case| (case.release.version(), case.name)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
        for magic in 0..=2 {
            for codec in Codec::ALL.into_iter().filter(|codec| magic == 2 || *codec != Codec::Zstd) {
                let writers = CASES.iter().filter(|case| case.magic == magic && case.codecs.contains(&codec)).count();
                assert!(writers >= 2, "magic {magic}, {codec}");
            }
        }
    }
}
