//! The release of Apache Kafka that a cluster acts as.

use milena_messages::{ApiKey, ErrorCode, VersionRange};
use milena_schema::Spec;

use crate::error::BrokerError;
use crate::handler::SERVED;

/// The first release that has ApiVersions, without which clients could not learn what is served.
const OLDEST: &str = "0.10.0";
/// Before this one clusters ran with ZooKeeper, except to try KRaft.
const FIRST_WITH_KRAFT: &str = "3.3";
/// APIs that need KRaft.
const OF_KRAFT: [ApiKey; 2] = [ApiKey::DESCRIBE_QUORUM, ApiKey::UNREGISTER_BROKER];
/// From here on brokers list Produce from version 0, for old librdkafka, and close the connection below 3 (KAFKA-18659).
const LISTS_OLD_PRODUCE: &str = "4.0";

/// What a service lists in its response to ApiVersions.
type Listed = &'static [(ApiKey, i16, i16)];

/// Azure Event Hubs, as of issue 13 of oliveigah/klife for the APIs of producers and consumers, and issue 209 of
/// Azure/azure-event-hubs-for-kafka for administration. No transactions, ACLs, log folders or deletion of records.
/// DescribeGroups and ListGroups as of issue 69, which is older. ApiVersions 4 and later end the connection (issue 2602 of
/// dpkp/kafka-python); here they are refused as Kafka does.
const EVENT_HUBS: Listed = &[
    (ApiKey::PRODUCE, 0, 7),
    (ApiKey::FETCH, 4, 6),
    (ApiKey::LIST_OFFSETS, 0, 8),
    (ApiKey::METADATA, 0, 5),
    (ApiKey::OFFSET_COMMIT, 0, 8),
    (ApiKey::OFFSET_FETCH, 0, 8),
    (ApiKey::FIND_COORDINATOR, 0, 4),
    (ApiKey::JOIN_GROUP, 0, 9),
    (ApiKey::HEARTBEAT, 0, 4),
    (ApiKey::LEAVE_GROUP, 0, 5),
    (ApiKey::SYNC_GROUP, 0, 5),
    (ApiKey::DESCRIBE_GROUPS, 0, 1),
    (ApiKey::LIST_GROUPS, 0, 1),
    (ApiKey::SASL_HANDSHAKE, 0, 1),
    (ApiKey::API_VERSIONS, 0, 3),
    (ApiKey::CREATE_TOPICS, 0, 2),
    (ApiKey::DELETE_TOPICS, 0, 2),
    (ApiKey::DESCRIBE_CONFIGS, 0, 2),
    (ApiKey::SASL_AUTHENTICATE, 0, 1),
    (ApiKey::CREATE_PARTITIONS, 0, 1),
    (ApiKey::DELETE_GROUPS, 0, 0),
];

/// Amazon MSK Serverless, which runs 2.8: what pull request 1113 of tchiotludo/akhq shows of it. Other APIs are as in 2.8,
/// without those of [`NOT_IN_MSK_SERVERLESS`].
const MSK_SERVERLESS: Listed = &[
    (ApiKey::PRODUCE, 7, 9),
    (ApiKey::FETCH, 10, 12),
    (ApiKey::LIST_OFFSETS, 5, 6),
    (ApiKey::METADATA, 7, 11),
    (ApiKey::OFFSET_COMMIT, 6, 8),
    (ApiKey::OFFSET_FETCH, 5, 7),
    (ApiKey::FIND_COORDINATOR, 2, 3),
    (ApiKey::JOIN_GROUP, 4, 7),
    (ApiKey::HEARTBEAT, 2, 4),
    (ApiKey::LEAVE_GROUP, 2, 4),
    (ApiKey::SYNC_GROUP, 2, 5),
    (ApiKey::DESCRIBE_GROUPS, 2, 5),
    (ApiKey::LIST_GROUPS, 2, 4),
    (ApiKey::SASL_HANDSHAKE, 1, 1),
    (ApiKey::API_VERSIONS, 2, 3),
    (ApiKey::CREATE_TOPICS, 3, 7),
    (ApiKey::DELETE_TOPICS, 3, 6),
    (ApiKey::INIT_PRODUCER_ID, 1, 4),
    (ApiKey::OFFSET_FOR_LEADER_EPOCH, 2, 4),
    (ApiKey::ADD_PARTITIONS_TO_TXN, 1, 3),
    (ApiKey::ADD_OFFSETS_TO_TXN, 1, 3),
];

/// The same pull request, issue 3331 of provectus/kafka-ui, and issue 69 of segmentio/topicctl.
const NOT_IN_MSK_SERVERLESS: [ApiKey; 3] =
    [ApiKey::DELETE_RECORDS, ApiKey::DESCRIBE_LOG_DIRS, ApiKey::ALTER_PARTITION_REASSIGNMENTS];

/// A release, or a service that acts much like one.
#[derive(Debug)]
pub(crate) struct Release {
    /// Its place in the list of releases; `None` for all that this broker has.
    index: Option<usize>,
    served: Vec<(ApiKey, VersionRange)>,
    listed: Vec<(ApiKey, VersionRange)>,
}

impl Release {
    /// The release with this version number, or the service with this name; without one all that there is.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn named(name: Option<&str>) -> Result<Self, BrokerError> {
        let Some(name) = name else {
            return Ok(Self { index: None, served: SERVED.to_vec(), listed: SERVED.to_vec() });
        };
        match name {
            "event-hubs" => Ok(Self::of("1.0", restrict(EVENT_HUBS.iter().copied()))),
            "msk-serverless" => {
                let known = MSK_SERVERLESS.iter().copied();
                let rest = of_release("2.8").into_iter().filter(|(api, ..)| {
                    !NOT_IN_MSK_SERVERLESS.contains(api) && MSK_SERVERLESS.iter().all(|(other, ..)| other != api)
                });
                Ok(Self::of("2.8", restrict(known.chain(rest))))
            }
            version => {
                let wrong = || BrokerError::Config {
                    setting: "kafka_version",
                    value: format!("`{version}`"),
                    reason: "a release from 0.10.0 to 4.4, event-hubs or msk-serverless is expected",
                };
                let release = Spec::kafka().release_of(version).ok_or_else(wrong)?;
                if index(&release.name) < index(OLDEST) {
                    return Err(wrong());
                }
                Ok(Self::of(&release.name, restrict(of_release(&release.name).into_iter())))
            }
        }
    }

    fn of(name: &str, served: Vec<(ApiKey, VersionRange)>) -> Self {
        let mut listed = served.clone();
        if index(name) >= index(LISTS_OLD_PRODUCE) {
            for (_, versions) in listed.iter_mut().filter(|(api, _)| *api == ApiKey::PRODUCE) {
                *versions = VersionRange::new(0, versions.max());
            }
        }
        Self { index: index(name), served, listed }
    }

    /// The APIs and versions that are served.
    pub(crate) fn served(&self) -> &[(ApiKey, VersionRange)] {
        &self.served
    }

    /// Those that ApiVersions lists.
    pub(crate) fn listed(&self) -> &[(ApiKey, VersionRange)] {
        &self.listed
    }

    /// Whether this is that release or a later one.
    pub(crate) fn has(&self, release: &str) -> bool {
        self.index.is_none() || self.index >= index(release)
    }

    /// The error code that such a broker uses for one of today's.
    pub(crate) fn code(&self, code: ErrorCode) -> ErrorCode {
        match code {
            // As recorded of 0.10.2.2, 0.11.0.3 and 2.8.2; Kafka 2.4 has the first INVALID_RECORD (KIP-467).
            ErrorCode::INVALID_RECORD if !self.has("2.4") => ErrorCode::CORRUPT_MESSAGE,
            code => code,
        }
    }
}

fn index(release: &str) -> Option<usize> {
    Spec::kafka().release_index(release)
}

fn of_release(name: &str) -> Vec<(ApiKey, i16, i16)> {
    let offered = Spec::kafka().versions_in(name).into_iter();
    let offered = offered.map(|(api, versions)| (ApiKey(api.key), versions.min(), versions.max()));
    let with_kraft = index(name) >= index(FIRST_WITH_KRAFT);
    offered.filter(|(api, ..)| with_kraft || !OF_KRAFT.contains(api)).collect()
}

/// What this broker has of it, by key.
fn restrict(offered: impl Iterator<Item = (ApiKey, i16, i16)>) -> Vec<(ApiKey, VersionRange)> {
    let served = |api: ApiKey| SERVED.iter().find(|(other, _)| *other == api).map(|(_, versions)| *versions);
    let both = offered.filter_map(|(api, min, max)| {
        let versions = served(api)?.intersect(VersionRange::new(min, max));
        (!versions.is_empty()).then_some((api, versions))
    });
    let mut both: Vec<_> = both.collect();
    both.sort_by_key(|(api, _)| *api);
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(release: &str, api: ApiKey) -> Option<String> {
        let release = Release::named(Some(release)).unwrap();
        release.listed().iter().find(|(other, _)| *other == api).map(|(_, versions)| versions.to_string())
    }

    #[test]
    fn a_release_has_its_versions() {
        let of = |release, api| range(release, api).unwrap_or_default();
        assert_eq!([of("2.8.2", ApiKey::FETCH), of("0.10.0.1", ApiKey::FETCH)], ["0-12", "0-2"]);
        assert_eq!([of("0.11", ApiKey::END_TXN), of("0.10.2", ApiKey::END_TXN)], ["0", ""]);
        assert_eq!([of("3.2", ApiKey::DESCRIBE_QUORUM), of("3.3", ApiKey::DESCRIBE_QUORUM)], ["", "0-1"]);
        // As recorded of 4.4.0 and 3.9.2: Produce from 0, Fetch from 4.
        assert_eq!([of("4.4", ApiKey::PRODUCE), of("4.4", ApiKey::FETCH)], ["0-13", "4-18"]);
        let newest = Release::named(Some("4.4")).unwrap();
        assert_eq!(newest.served()[0], (ApiKey::PRODUCE, VersionRange::new(3, 13)));
        assert_eq!([of("event-hubs", ApiKey::FETCH), of("event-hubs", ApiKey::INIT_PRODUCER_ID)], ["4-6", ""]);
        assert_eq!([of("msk-serverless", ApiKey::PRODUCE), of("msk-serverless", ApiKey::DELETE_RECORDS)], ["7-9", ""]);
        assert_eq!(of("msk-serverless", ApiKey::DELETE_GROUPS), of("2.8", ApiKey::DELETE_GROUPS));
    }

    #[test]
    fn releases_are_in_order_and_others_are_refused() {
        let release = Release::named(Some("2.4")).unwrap();
        assert!(release.has("2.4") && release.has("0.11.0") && !release.has("2.5"));
        assert!(Release::named(None).unwrap().has("4.4"));
        for wrong in ["", "0.9.0", "0.8.2", "5.0", "2.", "kafka"] {
            let error = Release::named(Some(wrong)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("kafka_version cannot be `{wrong}`: ")), "{error}");
        }
    }
}
