use crate::error::Result;
use crate::maven;

/// A release of Apache Kafka that can be launched here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KafkaRelease {
    /// 4.4, broker and controller in one process. Magic 2.
    Newest,
    /// 2.8 beside a ZooKeeper. The last release without topic ids in Fetch, and long in use.
    V2_8,
    /// 0.11 beside a ZooKeeper. The first with magic 2 and transactions.
    V0_11,
    /// 0.10.2 beside a ZooKeeper. Magic 1, or 0 in topics with `message.format.version` below 0.10.
    V0_10_2,
    /// 0.10.0 beside a ZooKeeper. As 0.10.2, but it has no CreateTopics.
    V0_10_0,
}

impl KafkaRelease {
    /// Every one, newest first.
    pub const ALL: [Self; 5] = [Self::Newest, Self::V2_8, Self::V0_11, Self::V0_10_2, Self::V0_10_0];

    /// The version of the artifact.
    pub fn version(self) -> &'static str {
        match self {
            Self::Newest => "4.4.0",
            Self::V2_8 => "2.8.2",
            Self::V0_11 => "0.11.0.3",
            Self::V0_10_2 => "0.10.2.2",
            Self::V0_10_0 => "0.10.0.1",
        }
    }

    /// Its jars and theirs, fetched by Maven if they are not there.
    pub(super) fn class_path(self) -> Result<String> {
        let version = format!("-Dkafka.version={}", self.version());
        let name = format!("kafka-{}", self.version());
        match self {
            Self::Newest => maven::class_path("interop/kafka/pom.xml", &name, &[&version]),
            Self::V2_8 | Self::V0_11 | Self::V0_10_2 => {
                maven::class_path("interop/kafka/old/pom.xml", &name, &[&version, "-Dscala.version=2.12"])
            }
            Self::V0_10_0 => maven::class_path("interop/kafka/old/pom.xml", &name, &[&version, "-Dscala.version=2.11"]),
        }
    }

    /// A version of ApiVersions that it serves.
    pub(super) fn probe_version(self) -> i16 {
        if self == Self::Newest { 3 } else { 0 }
    }
}
