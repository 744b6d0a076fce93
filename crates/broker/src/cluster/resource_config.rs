//! The settings of groups and of subscriptions to client metrics, which are stored and described.

use crate::cluster::setting::{Kind, Setting, settings};
use crate::telemetry::pattern;

const INT_MAX: i64 = i32::MAX as i64;

/// The settings of groups, by name, with the defaults and limits of Kafka 4.4.
pub(crate) const GROUP_SETTINGS: &[Setting] = settings! {
    "consumer.assignment.interval.ms", "1000", Kind::Limited(0, 0, 15_000), "group.consumer.assignment.interval.ms", "Least time between two assignments of a consumer group.";
    "consumer.heartbeat.interval.ms", "5000", Kind::Limited(1, 5000, 15_000), "group.consumer.heartbeat.interval.ms", "How often members of a consumer group send a heartbeat.";
    "consumer.session.timeout.ms", "45000", Kind::Limited(1, 45_000, 60_000), "group.consumer.session.timeout.ms", "After that time without a heartbeat a member has left.";
    "errors.deadletterqueue.copy.record.enable", "false", Kind::Bool, "errors.deadletterqueue.copy.record.enable", "Whether whole records go to the dead letter queue.";
    "errors.deadletterqueue.topic.name", "", Kind::Text, "errors.deadletterqueue.topic.name", "The topic for records that could not be processed.";
    "share.assignment.interval.ms", "1000", Kind::Limited(0, 0, 15_000), "group.share.assignment.interval.ms", "Least time between two assignments of a share group.";
    "share.auto.offset.reset", "latest", Kind::OffsetReset, "share.auto.offset.reset", "Where a share group begins.";
    "share.delivery.count.limit", "5", Kind::Limited(2, 2, 10), "group.share.delivery.count.limit", "How often a record is delivered.";
    "share.heartbeat.interval.ms", "5000", Kind::Limited(1, 5000, 15_000), "group.share.heartbeat.interval.ms", "How often members of a share group send a heartbeat.";
    "share.isolation.level", "read_uncommitted", Kind::OneOf(&["read_committed", "read_uncommitted"]), "share.isolation.level", "Whether share groups read records of open transactions.";
    "share.partition.max.record.locks", "2000", Kind::Limited(100, 100, 4000), "group.share.partition.max.record.locks", "Most records of a partition that are locked at the same time.";
    "share.record.lock.duration.ms", "30000", Kind::Limited(1000, 15_000, 60_000), "group.share.record.lock.duration.ms", "How long a record stays locked.";
    "share.renew.acknowledge.enable", "true", Kind::Bool, "share.renew.acknowledge.enable", "Whether members may renew the lock of a record.";
    "share.session.timeout.ms", "45000", Kind::Limited(1, 45_000, 60_000), "group.share.session.timeout.ms", "After that time without a heartbeat a member has left.";
    "streams.assignment.interval.ms", "1000", Kind::Limited(0, 0, 15_000), "group.streams.assignment.interval.ms", "Least time between two assignments of a streams group.";
    "streams.assignor.name", "sticky", Kind::OneOf(&["sticky"]), "group.streams.assignors", "Who assigns tasks.";
    "streams.heartbeat.interval.ms", "5000", Kind::Limited(1, 5000, 15_000), "group.streams.heartbeat.interval.ms", "How often members of a streams group send a heartbeat.";
    "streams.initial.rebalance.delay.ms", "3000", Kind::Int(0, INT_MAX), "group.streams.initial.rebalance.delay.ms", "How long the first assignment waits for more members.";
    "streams.num.standby.replicas", "0", Kind::Limited(0, 0, 2), "group.streams.num.standby.replicas", "Standby tasks of each task.";
    "streams.rack.aware.assignment.tags", "", Kind::List, "group.streams.rack.aware.assignment.tags", "Tags of clients that standby tasks are spread over.";
    "streams.session.timeout.ms", "45000", Kind::Limited(1, 45_000, 60_000), "group.streams.session.timeout.ms", "After that time without a heartbeat a member has left.";
};

/// The settings of subscriptions to client metrics (KIP-714), by name.
pub(crate) const METRICS_SETTINGS: &[Setting] = settings! {
    "interval.ms", "300000", Kind::Int(i32::MIN as i64, INT_MAX), -, "How often clients push metrics.";
    "match", "", Kind::List, -, "Which clients push: pairs of a property and a regular expression.";
    "metrics", "", Kind::List, -, "Prefixes of the names of metrics to push.";
};

/// What `match` can name.
const CLIENT_PROPERTIES: &[&str] = &[
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

/// Checks whether a value of `match` names properties of clients, each with a regular expression.
///
/// # Errors
/// The pair that does not.
pub(crate) fn check_match(value: &str) -> Result<(), &str> {
    let valid = |pair: &&str| pattern(pair).is_some_and(|(property, _)| CLIENT_PROPERTIES.contains(&property));
    crate::cluster::setting::parts(value).find(|pair| !valid(pair)).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_sorted() {
        for table in [GROUP_SETTINGS, METRICS_SETTINGS] {
            assert!(table.is_sorted_by_key(|setting| setting.name));
            for setting in table {
                assert_eq!(setting.kind.check(setting.name, setting.default), Ok(()));
            }
        }
        assert_eq!(GROUP_SETTINGS.len(), 21, "as many as Kafka 4.4 has");
    }

    #[test]
    fn only_properties_of_clients_are_matched() {
        assert_eq!(check_match("client_id=a.*,client_source_port=1"), Ok(()));
        assert_eq!(check_match("foo=bar"), Err("foo=bar"));
        for illegal in ["client_id", "client_id=", "client_id=a=b", "client_id=("] {
            assert_eq!(check_match(illegal), Err(illegal));
        }
    }
}
