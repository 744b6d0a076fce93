//! Which release brought a version, and which took it away.

use milena_wire::VersionRange;

use crate::model::{Api, MessageSpec, Release, Since};
use crate::spec::Spec;

impl Spec {
    /// The release that a version number belongs to: `2.8` for `2.8.2`, `0.11.0` for `0.11`. `None` when there is none.
    ///
    /// ```
    /// use milena_schema::Spec;
    ///
    /// let release = |version| Some(Spec::kafka().release_of(version)?.name.as_str());
    /// assert_eq!((release("2.8.2"), release("0.11"), release("2.80")), (Some("2.8"), Some("0.11.0"), None));
    /// ```
    pub fn release_of(&self, version: &str) -> Option<&Release> {
        let fits = |name: &str| {
            let patch = version.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            patch || name.strip_suffix(".0").is_some_and(|short| short == version)
        };
        self.releases.iter().rev().find(|release| fits(&release.name))
    }

    /// The place of a release in [`Spec::releases`], by its name.
    pub fn release_index(&self, name: &str) -> Option<usize> {
        self.releases.iter().position(|release| release.name == name)
    }

    /// The APIs that brokers of a release have for clients and for each other, by key, with the versions that they offer
    /// unless unstable ones are enabled. Empty for a name that is no release.
    pub fn versions_in(&self, release: &str) -> Vec<(&Api, VersionRange)> {
        let Some(at) = self.release_index(release) else { return Vec::new() };
        let index = |name: &str| self.release_index(name).unwrap_or(usize::MAX);
        let offered = |api: &Api, version: i16| {
            let added = api.added_in(version).map_or(usize::MAX, index);
            let dropped = api.dropped_in(version).map_or(usize::MAX, index);
            let held_back = api.unstable_in(version).is_some_and(|text| {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                (index(first)..=index(last)).contains(&at)
            });
            (added..dropped).contains(&at) && !held_back
        };
        let range = |api: &Api| {
            let mut versions = api.versions.iter().filter(|version| offered(api, *version));
            let first = versions.next()?;
            Some(VersionRange::new(first, versions.next_back().unwrap_or(first)))
        };
        let of_brokers =
            |api: &&Api| api.listeners.iter().any(|listener| listener == "broker" || listener == "zkBroker");
        let mut all: Vec<_> = self.apis.iter().filter(of_brokers).filter_map(|api| Some((api, range(api)?))).collect();
        all.sort_by_key(|(api, _)| api.key);
        all
    }
}

impl Api {
    /// The first release that has a version; `None` for a version that never was.
    pub fn added_in(&self, version: i16) -> Option<&str> {
        release(&self.added, version)
    }

    /// The first release that lacks a version; `None` while the newest still has it.
    pub fn dropped_in(&self, version: i16) -> Option<&str> {
        release(&self.dropped, version)
    }

    /// The releases, one or two with a dash between, that offered a version only when unstable versions were enabled.
    pub fn unstable_in(&self, version: i16) -> Option<&str> {
        release(&self.unstable, version)
    }
}

impl MessageSpec {
    /// The first release whose definitions have a version; `None` for a version that never was.
    pub fn added_in(&self, version: i16) -> Option<&str> {
        release(&self.added, version)
    }

    /// The first release whose definitions lack a version; `None` while the newest still has it.
    pub fn dropped_in(&self, version: i16) -> Option<&str> {
        release(&self.dropped, version)
    }
}

fn release(list: &[Since], version: i16) -> Option<&str> {
    list.iter().find(|since| since.versions.contains(version)).map(|since| since.release.as_str())
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    /// What ApiVersions of real brokers with ZooKeeper listed: 2.8.2, 0.11.0.3, 0.10.2.2 and 0.10.0.1.
    const RECORDED: [(&str, &str); 4] = [
        (
            "2.8",
            "Produce:0-9 Fetch:0-12 ListOffsets:0-6 Metadata:0-11 LeaderAndIsr:0-5 StopReplica:0-3 \
             UpdateMetadata:0-7 ControlledShutdown:0-3 OffsetCommit:0-8 OffsetFetch:0-7 FindCoordinator:0-3 \
             JoinGroup:0-7 Heartbeat:0-4 LeaveGroup:0-4 SyncGroup:0-5 DescribeGroups:0-5 ListGroups:0-4 \
             SaslHandshake:0-1 ApiVersions:0-3 CreateTopics:0-7 DeleteTopics:0-6 DeleteRecords:0-2 \
             InitProducerId:0-4 OffsetForLeaderEpoch:0-4 AddPartitionsToTxn:0-3 AddOffsetsToTxn:0-3 EndTxn:0-3 \
             WriteTxnMarkers:0-1 TxnOffsetCommit:0-3 DescribeAcls:0-2 CreateAcls:0-2 DeleteAcls:0-2 \
             DescribeConfigs:0-4 AlterConfigs:0-2 AlterReplicaLogDirs:0-2 DescribeLogDirs:0-2 \
             SaslAuthenticate:0-2 CreatePartitions:0-3 CreateDelegationToken:0-2 RenewDelegationToken:0-2 \
             ExpireDelegationToken:0-2 DescribeDelegationToken:0-2 DeleteGroups:0-2 ElectLeaders:0-2 \
             IncrementalAlterConfigs:0-1 AlterPartitionReassignments:0 ListPartitionReassignments:0 \
             OffsetDelete:0 DescribeClientQuotas:0-1 AlterClientQuotas:0-1 DescribeUserScramCredentials:0 \
             AlterUserScramCredentials:0 AlterPartition:0 UpdateFeatures:0 DescribeCluster:0 DescribeProducers:0",
        ),
        (
            "0.11.0",
            "Produce:0-3 Fetch:0-5 ListOffsets:0-2 Metadata:0-4 LeaderAndIsr:0 StopReplica:0 UpdateMetadata:0-3 \
             ControlledShutdown:1 OffsetCommit:0-3 OffsetFetch:0-3 FindCoordinator:0-1 JoinGroup:0-2 \
             Heartbeat:0-1 LeaveGroup:0-1 SyncGroup:0-1 DescribeGroups:0-1 ListGroups:0-1 SaslHandshake:0 \
             ApiVersions:0-1 CreateTopics:0-2 DeleteTopics:0-1 DeleteRecords:0 InitProducerId:0 \
             OffsetForLeaderEpoch:0 AddPartitionsToTxn:0 AddOffsetsToTxn:0 EndTxn:0 WriteTxnMarkers:0 \
             TxnOffsetCommit:0 DescribeAcls:0 CreateAcls:0 DeleteAcls:0 DescribeConfigs:0 AlterConfigs:0",
        ),
        (
            "0.10.2",
            "Produce:0-2 Fetch:0-3 ListOffsets:0-1 Metadata:0-2 LeaderAndIsr:0 StopReplica:0 UpdateMetadata:0-3 \
             ControlledShutdown:1 OffsetCommit:0-2 OffsetFetch:0-2 FindCoordinator:0 JoinGroup:0-1 Heartbeat:0 \
             LeaveGroup:0 SyncGroup:0 DescribeGroups:0 ListGroups:0 SaslHandshake:0 ApiVersions:0 \
             CreateTopics:0-1 DeleteTopics:0",
        ),
        (
            "0.10.0",
            "Produce:0-2 Fetch:0-2 ListOffsets:0 Metadata:0-1 LeaderAndIsr:0 StopReplica:0 UpdateMetadata:0-2 \
             ControlledShutdown:1 OffsetCommit:0-2 OffsetFetch:0-1 FindCoordinator:0 JoinGroup:0 Heartbeat:0 \
             LeaveGroup:0 SyncGroup:0 DescribeGroups:0 ListGroups:0 SaslHandshake:0 ApiVersions:0",
        ),
    ];

    #[test]
    fn releases_offer_what_real_brokers_listed() {
        for (release, listed) in RECORDED {
            let offered = Spec::kafka().versions_in(release);
            // Brokers with KRaft have the first two; with ZooKeeper the others are between brokers and the controller.
            const BY_MODE: [&str; 4] = ["DescribeQuorum", "UnregisterBroker", "AlterPartition", "ControlledShutdown"];
            let by_mode =
                |name: &str| BY_MODE.iter().any(|api| name.split_once(':').is_some_and(|(own, _)| own == *api));
            let offered = offered.iter().map(|(api, range)| format!("{}:{range}", api.name));
            let offered: Vec<String> = offered.filter(|name| !by_mode(name)).collect();
            let listed: Vec<&str> = listed.split_whitespace().filter(|name| !by_mode(name)).collect();
            assert_eq!(offered, listed, "{release}");
        }
    }

    #[test]
    fn the_history_of_fetch_is_that_of_kafka() {
        let fetch = Spec::kafka().api(1).unwrap();
        // Kafka 0.11.0 brought Fetch v4 and v5 with transactions; 4.0 dropped what is older than v4 (KIP-896).
        assert_eq!(fetch.added_in(4), Some("0.11.0"));
        assert_eq!((fetch.dropped_in(3), fetch.dropped_in(4)), (Some("4.0"), None));
        assert_eq!(fetch.added_in(19), None);
    }

    #[test]
    fn every_version_has_a_release_that_brought_it() {
        let spec = Spec::kafka();
        for message in &spec.messages {
            for version in message.versions.iter() {
                assert!(message.added_in(version).is_some(), "{} {version}", message.name);
            }
        }
    }
}
