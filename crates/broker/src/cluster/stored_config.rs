//! Settings that clients stored for brokers, groups and client metrics, and the levels of loggers.

use std::collections::BTreeMap;

/// Settings by name.
pub(crate) type Values = BTreeMap<String, String>;

/// The name under which settings of all brokers together are stored.
pub(crate) const ALL_BROKERS: &str = "";
/// Most groups, subscriptions and so on with settings of their own, of each type.
pub(crate) const MAX_RESOURCES: usize = 100_000;

/// Settings by the name of what has them.
#[derive(Debug)]
pub(crate) struct StoredConfigs {
    pub(crate) brokers: BTreeMap<String, Values>,
    pub(crate) groups: BTreeMap<String, Values>,
    pub(crate) client_metrics: BTreeMap<String, Values>,
    /// Grows with each change of them.
    pub(crate) client_metrics_version: u64,
    /// The level of the root logger of each node that is not at INFO.
    pub(crate) levels: BTreeMap<i32, String>,
}

impl Default for StoredConfigs {
    /// Kafka 4.1 and later set `min.insync.replicas` for the cluster when it is made (KIP-966).
    fn default() -> Self {
        let cluster = Values::from([("min.insync.replicas".to_owned(), "1".to_owned())]);
        Self {
            brokers: BTreeMap::from([(ALL_BROKERS.to_owned(), cluster)]),
            groups: BTreeMap::new(),
            client_metrics: BTreeMap::new(),
            client_metrics_version: 0,
            levels: BTreeMap::new(),
        }
    }
}
