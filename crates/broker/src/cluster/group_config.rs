//! The settings of groups: what a group has of its own, what clients set for all brokers, what the cluster was started
//! with.

use crate::cluster::State;
use crate::cluster::resource_config::GROUP_SETTINGS;
use crate::cluster::setting::{Kind, Setting, settings};
use crate::cluster::stored_config::{ALL_BROKERS, Values};
use crate::config::BrokerConfig;
use crate::group::GroupSettings;
use crate::group::consumer::{ConsumerSettings, MigrationPolicy};
use crate::group::streams::StreamsSettings;
use crate::share::settings::{OffsetReset, ShareSettings};

const INT_MAX: i64 = i32::MAX as i64;
const MAX_SIZE: &str = "group.consumer.max.size";
const SHARE_MAX_SIZE: &str = "group.share.max.size";
const RACK_TAGS: &str = "streams.rack.aware.assignment.tags";
const PROTOCOLS: &str = "group.coordinator.rebalance.protocols";

/// Kafka's default of `offset.metadata.max.bytes`.
const MAX_OFFSET_METADATA_BYTES: usize = 4096;

/// The settings of [`BrokerConfig::group_settings`], by name. Defaults are Kafka's, except that nothing waits: the intervals
/// between assignments are 0.
const START_SETTINGS: &[Setting] = settings! {
    "group.consumer.assignment.interval.ms", "0", Kind::Int(0, INT_MAX), -, "Least time between two assignments of a consumer group.";
    "group.consumer.heartbeat.interval.ms", "5000", Kind::Int(1, INT_MAX), -, "How often members of a consumer group send a heartbeat.";
    MAX_SIZE, "2147483647", Kind::Int(1, INT_MAX), -, "Most members of a consumer group.";
    "group.consumer.migration.policy", "bidirectional", Kind::OneOf(&["bidirectional", "disabled", "downgrade", "upgrade"]), -, "Which groups change between the classic and the consumer protocol.";
    "group.consumer.session.timeout.ms", "45000", Kind::Int(1, INT_MAX), -, "After that time without a heartbeat a member has left.";
    PROTOCOLS, "classic,consumer,streams", Kind::ListOf(&["classic", "consumer", "share", "streams"]), -, "The protocols of groups that the coordinator serves.";
    "group.share.assignment.interval.ms", "0", Kind::Int(0, INT_MAX), -, "Least time between two assignments of a share group.";
    "group.share.delivery.count.limit", "5", Kind::Int(2, 10), -, "How often a record is delivered.";
    "group.share.heartbeat.interval.ms", "5000", Kind::Int(1, INT_MAX), -, "How often members of a share group send a heartbeat.";
    SHARE_MAX_SIZE, "200", Kind::Int(1, 1000), -, "Most members of a share group.";
    "group.share.partition.max.record.locks", "2000", Kind::Int(100, 10_000), -, "Most records of a partition that are locked at the same time.";
    "group.share.record.lock.duration.ms", "30000", Kind::Int(1000, 3_600_000), -, "How long a record stays locked.";
    "group.share.session.timeout.ms", "45000", Kind::Int(1, INT_MAX), -, "After that time without a heartbeat a member has left.";
    "group.streams.acceptable.recovery.lag", "10000", Kind::Long(0), -, "How many records a copy may lack to count as restored.";
    "group.streams.assignment.interval.ms", "0", Kind::Int(0, INT_MAX), -, "Least time between two assignments of a streams group.";
    "group.streams.heartbeat.interval.ms", "5000", Kind::Int(1, INT_MAX), -, "How often members of a streams group send a heartbeat.";
    "group.streams.initial.rebalance.delay.ms", "0", Kind::Int(0, INT_MAX), -, "How long the first assignment waits for more members.";
    "group.streams.max.size", "2147483647", Kind::Int(1, INT_MAX), -, "Most members of a streams group.";
    "group.streams.num.standby.replicas", "0", Kind::Int(0, INT_MAX), -, "Standby tasks of each task.";
    "group.streams.rack.aware.assignment.tags", "", Kind::List, -, "Tags of clients that standby tasks are spread over.";
    "group.streams.session.timeout.ms", "45000", Kind::Int(1, INT_MAX), -, "After that time without a heartbeat a member has left.";
    "group.streams.task.offset.interval.ms", "60000", Kind::Int(1, INT_MAX), -, "How often members report how far they restored the state of tasks.";
};

/// The settings with which the cluster was started, under Kafka's names: name, value, type and what it is about.
pub(crate) fn of_start(config: &BrokerConfig) -> impl Iterator<Item = (&'static str, String, i8, &'static str)> {
    let value = |setting: &Setting| {
        let set = config.group_settings.get(setting.name).cloned();
        let max_size = || (setting.name == MAX_SIZE).then(|| config.group_max_size.to_string());
        set.or_else(max_size).unwrap_or_else(|| setting.default.to_owned())
    };
    let all = START_SETTINGS.iter();
    let all = all.map(|setting| (setting.name, value(setting), setting.kind.config_type(), setting.about));
    all.collect::<Vec<_>>().into_iter()
}

/// Those of them that groups fall back on and that are not Kafka's defaults.
pub(crate) fn of_start_for_groups(config: &BrokerConfig) -> impl Iterator<Item = (&'static str, String)> {
    let differs = |name: &str, value: &str| {
        GROUP_SETTINGS.iter().any(|setting| setting.of_broker == Some(name) && setting.default != value)
    };
    of_start(config).filter(move |(name, value, ..)| differs(name, value)).map(|(name, value, ..)| (name, value))
}

/// Checks a setting of [`BrokerConfig::group_settings`].
///
/// # Errors
/// There is no such setting, or it does not take the value.
pub(crate) fn check(name: &str, value: &str) -> Result<(), &'static str> {
    let setting = START_SETTINGS.iter().find(|setting| setting.name == name).ok_or("there is no such setting")?;
    setting.kind.check(name, value).map_err(|_| "the setting does not take this value")
}

impl State {
    /// The settings of all groups.
    pub(crate) fn group_settings(&self) -> GroupSettings {
        GroupSettings {
            min_session_timeout_ms: self.config.group_min_session_timeout_ms,
            max_session_timeout_ms: self.config.group_max_session_timeout_ms,
            initial_rebalance_delay_ms: self.config.group_initial_rebalance_delay_ms,
            max_size: self.config.group_max_size,
            max_metadata_bytes: MAX_OFFSET_METADATA_BYTES,
            offsets_retention_ms: i64::try_from(self.config.offsets_retention.as_millis()).unwrap_or(i64::MAX),
            consumer: self.consumer_settings(""),
            share: self.share_settings(""),
            streams_session_timeout_ms: self.group_number("", "streams.session.timeout.ms"),
        }
    }

    /// The settings of a consumer group.
    pub(crate) fn consumer_settings(&self, group: &str) -> ConsumerSettings {
        let policy = self.config.group_settings.get("group.consumer.migration.policy");
        let max_size = self.config.group_settings.get(MAX_SIZE).and_then(|size| size.parse().ok());
        ConsumerSettings {
            session_timeout_ms: self.group_number(group, "consumer.session.timeout.ms"),
            heartbeat_interval_ms: self.group_number(group, "consumer.heartbeat.interval.ms"),
            max_size: max_size.unwrap_or(self.config.group_max_size),
            migration: policy.map_or(MigrationPolicy::Bidirectional, |policy| MigrationPolicy::named(policy)),
            assignment_interval_ms: self.group_number(group, "consumer.assignment.interval.ms"),
        }
    }

    /// The settings of a share group.
    pub(crate) fn share_settings(&self, group: &str) -> ShareSettings {
        let max_size = self.config.group_settings.get(SHARE_MAX_SIZE).and_then(|size| size.parse().ok());
        let settings = ShareSettings {
            session_timeout_ms: self.group_number(group, "share.session.timeout.ms"),
            heartbeat_interval_ms: self.group_number(group, "share.heartbeat.interval.ms"),
            assignment_interval_ms: self.group_number(group, "share.assignment.interval.ms"),
            max_size: max_size.unwrap_or(200),
            lock_ms: self.group_number(group, "share.record.lock.duration.ms"),
            max_deliveries: self.group_number(group, "share.delivery.count.limit"),
            max_locks: self.group_number(group, "share.partition.max.record.locks"),
            reset: OffsetReset::Latest,
            committed: false,
            may_renew: true,
        };
        match self.stored_configs().groups.get(group) {
            Some(set) => settings.with(set),
            None => settings,
        }
    }

    /// The settings of a streams group.
    pub(crate) fn streams_settings(&self, group: &str) -> StreamsSettings {
        let start = |name: &str| {
            let built_in = || START_SETTINGS.iter().find(|setting| setting.name == name).map(|setting| setting.default);
            let set = self.config.group_settings.get(name).map(String::as_str);
            set.or_else(built_in).unwrap_or_default().to_owned()
        };
        let rack_tags = self.stored_configs().groups.get(group).and_then(|own| own.get(RACK_TAGS)).cloned();
        StreamsSettings {
            session_timeout_ms: self.group_number(group, "streams.session.timeout.ms"),
            heartbeat_interval_ms: self.group_number(group, "streams.heartbeat.interval.ms"),
            max_size: start("group.streams.max.size").parse().unwrap_or(usize::MAX),
            standby_replicas: self.group_number(group, "streams.num.standby.replicas"),
            initial_delay_ms: self.group_number(group, "streams.initial.rebalance.delay.ms"),
            assignment_interval_ms: self.group_number(group, "streams.assignment.interval.ms"),
            task_offset_interval_ms: start("group.streams.task.offset.interval.ms").parse().unwrap_or(60_000),
            acceptable_recovery_lag: start("group.streams.acceptable.recovery.lag").parse().unwrap_or(10_000),
            rack_tags: rack_tags.unwrap_or_else(|| start("group.streams.rack.aware.assignment.tags")),
        }
    }

    /// Whether groups of this protocol are served.
    pub(crate) fn serves_protocol(&self, protocol: &str) -> bool {
        let served = self.config.group_settings.get(PROTOCOLS);
        served.is_none_or(|served| crate::cluster::setting::parts(served).any(|one| one == protocol))
    }

    /// A number that a group may have of its own. Names without a value in any place are 0.
    fn group_number(&self, group: &str, name: &str) -> i32 {
        let of_broker = GROUP_SETTINGS.iter().find(|setting| setting.name == name).and_then(|found| found.of_broker);
        let of_broker = of_broker.unwrap_or(name);
        let stored = self.stored_configs();
        let get = |values: Option<&Values>, name: &str| values?.get(name)?.parse().ok();
        let built_in = || START_SETTINGS.iter().find(|setting| setting.name == of_broker)?.default.parse().ok();
        get(stored.groups.get(group), name)
            .or_else(|| get(stored.brokers.get(ALL_BROKERS), of_broker))
            .or_else(|| get(Some(&self.config.group_settings), of_broker))
            .or_else(built_in)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::state_with;

    #[test]
    fn the_settings_are_sorted_and_take_their_defaults() {
        assert!(START_SETTINGS.is_sorted_by_key(|setting| setting.name));
        for setting in START_SETTINGS {
            assert_eq!(check(setting.name, setting.default), Ok(()));
        }
        assert_eq!(check("group.consumer.session.timeout.ms", "0"), Err("the setting does not take this value"));
        assert_eq!(check("group.consumer.session", "1"), Err("there is no such setting"));
    }

    #[test]
    fn a_group_has_its_own_values_before_those_of_the_brokers() {
        let group_settings = [("group.consumer.session.timeout.ms", "7000"), (MAX_SIZE, "2")];
        let group_settings = group_settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let state = state_with(BrokerConfig { group_settings, ..BrokerConfig::default() }).at(0).state;
        let own = Values::from([("consumer.session.timeout.ms".to_owned(), "50000".to_owned())]);
        state.stored_configs().groups.insert("g".to_owned(), own);
        let all = Values::from([("group.consumer.assignment.interval.ms".to_owned(), "30".to_owned())]);
        state.stored_configs().brokers.insert(ALL_BROKERS.to_owned(), all);
        let (own, other) = (state.consumer_settings("g"), state.consumer_settings("h"));
        assert_eq!((own.session_timeout_ms, other.session_timeout_ms), (50_000, 7000));
        assert_eq!((own.assignment_interval_ms, own.heartbeat_interval_ms, own.max_size), (30, 5000, 2));
    }
}
