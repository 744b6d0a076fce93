//! The settings of a share group: its own, or those of the brokers.

use crate::cluster::stored_config::Values;

/// Where a group begins to read a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffsetReset {
    Earliest,
    Latest,
    /// At the first record that is not older than so many milliseconds.
    ByDuration(i64),
}

/// What a share group is set to, under Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShareSettings {
    /// `share.session.timeout.ms`
    pub(crate) session_timeout_ms: i32,
    /// `share.heartbeat.interval.ms`
    pub(crate) heartbeat_interval_ms: i32,
    /// `share.assignment.interval.ms`
    pub(crate) assignment_interval_ms: i32,
    /// `group.share.max.size`
    pub(crate) max_size: usize,
    /// `share.record.lock.duration.ms`
    pub(crate) lock_ms: i32,
    /// `share.delivery.count.limit`
    pub(crate) max_deliveries: i32,
    /// `share.partition.max.record.locks`
    pub(crate) max_locks: i32,
    /// `share.auto.offset.reset`
    pub(crate) reset: OffsetReset,
    /// `share.isolation.level` is `read_committed`.
    pub(crate) committed: bool,
    /// `share.renew.acknowledge.enable`
    pub(crate) may_renew: bool,
}

impl ShareSettings {
    /// With what only groups can have. Values were checked when they were stored.
    pub(crate) fn with(mut self, set: &Values) -> Self {
        if let Some(reset) = set.get("share.auto.offset.reset").and_then(|value| offset_reset(value)) {
            self.reset = reset;
        }
        if let Some(level) = set.get("share.isolation.level") {
            self.committed = level == "read_committed";
        }
        if let Some(enabled) = set.get("share.renew.acknowledge.enable") {
            self.may_renew = enabled.eq_ignore_ascii_case("true");
        }
        self
    }
}

fn offset_reset(value: &str) -> Option<OffsetReset> {
    match value {
        "earliest" => Some(OffsetReset::Earliest),
        "latest" => Some(OffsetReset::Latest),
        _ => value.strip_prefix("by_duration:").and_then(milliseconds).map(OffsetReset::ByDuration),
    }
}

/// The milliseconds of a duration in the form `PnDTnHnMn.nS` of ISO 8601.
fn milliseconds(text: &str) -> Option<i64> {
    let text = text.strip_prefix('P')?;
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let mut total = 0f64;
    for (part, units) in
        [(days, &[('D', 86_400_000f64)][..]), (time, &[('H', 3_600_000f64), ('M', 60_000f64), ('S', 1000f64)])]
    {
        let mut rest = part;
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let (_, weight) = units.iter().find(|(unit, _)| rest[end..].starts_with(*unit))?;
            total += rest[..end].parse::<f64>().ok()? * weight;
            rest = &rest[end + 1..];
        }
    }
    Some(total as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::state_with;

    #[test]
    fn the_settings_of_a_group_take_the_place_of_those_of_brokers() {
        let brokers = [("group.share.record.lock.duration.ms", "1000"), ("group.share.max.size", "7")];
        let group_settings = brokers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let state = state_with(BrokerConfig { group_settings, ..BrokerConfig::default() });
        let pairs = [
            ("share.record.lock.duration.ms", "15000"),
            ("share.auto.offset.reset", "by_duration:P1DT1H2M3.5S"),
            ("share.isolation.level", "read_committed"),
            ("share.renew.acknowledge.enable", "False"),
        ];
        let set = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        state.stored_configs().groups.insert("g".to_owned(), set);
        let (other, group) = (state.share_settings("h"), state.share_settings("g"));
        assert_eq!((other.lock_ms, other.max_deliveries, other.max_locks, other.max_size), (1000, 5, 2000, 7));
        assert_eq!((group.lock_ms, group.max_deliveries, group.max_size), (15_000, 5, 7));
        assert_eq!(group.reset, OffsetReset::ByDuration(86_400_000 + 3_723_500));
        assert!(group.committed && !group.may_renew && other.may_renew);
        assert_eq!(offset_reset("by_duration:P1X"), None);
    }
}
