//! Who leads a partition, and who has its records.

use milena_messages::ErrorCode;

/// No node leads.
pub(crate) const NO_LEADER: i32 = -1;

/// The replicas of one partition. All of them share one log: what the leader appends, the replicas in sync have at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leadership {
    /// [`NO_LEADER`] while no replica in sync is up.
    pub(crate) leader: i32,
    /// Grows with each election.
    pub(crate) epoch: i32,
    /// In the order of preference.
    pub(crate) replicas: Vec<i32>,
    /// The replicas in sync. Never empty: the last one stays, up or not.
    pub(crate) in_sync: Vec<i32>,
}

impl Leadership {
    /// A new partition on these nodes, of which at least one is up.
    pub(crate) fn new(replicas: Vec<i32>, is_up: impl Fn(i32) -> bool) -> Self {
        let in_sync: Vec<i32> = replicas.iter().copied().filter(|node| is_up(*node)).collect();
        let leader = in_sync.first().copied().unwrap_or(NO_LEADER);
        let in_sync = if in_sync.is_empty() { replicas.clone() } else { in_sync };
        Self { leader, epoch: 0, replicas, in_sync }
    }

    /// Checks the leader epoch that a client knows (KIP-320). -1 says that it knows none.
    ///
    /// # Errors
    /// The client has an older or newer epoch than this partition.
    pub(crate) fn check_epoch(&self, current_leader_epoch: i32) -> Result<(), ErrorCode> {
        match current_leader_epoch {
            -1 => Ok(()),
            epoch if epoch < self.epoch => Err(ErrorCode::FENCED_LEADER_EPOCH),
            epoch if epoch > self.epoch => Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
            _ => Ok(()),
        }
    }

    /// Checks that a node leads.
    ///
    /// # Errors
    /// Another node leads, or none.
    pub(crate) fn check_leader(&self, node: i32) -> Result<(), ErrorCode> {
        if self.leader == node { Ok(()) } else { Err(ErrorCode::NOT_LEADER_OR_FOLLOWER) }
    }

    /// A node went down: it leaves the replicas in sync, and the first one that is up leads.
    /// True when anything changed.
    pub(crate) fn node_down(&mut self, node: i32, is_up: impl Fn(i32) -> bool) -> bool {
        let before = self.clone();
        if self.in_sync.len() > 1 {
            self.in_sync.retain(|replica| *replica != node);
        }
        if self.leader == node {
            self.elect(is_up);
        }
        *self != before
    }

    /// A node came up: it is in sync again, and leads when nobody else does. True when anything changed.
    pub(crate) fn node_up(&mut self, node: i32, is_up: impl Fn(i32) -> bool) -> bool {
        if !self.replicas.contains(&node) {
            return false;
        }
        let before = self.clone();
        if self.leader == NO_LEADER && self.in_sync.contains(&node) {
            self.elect(&is_up);
        }
        if self.leader != NO_LEADER && !self.in_sync.contains(&node) {
            self.in_sync.push(node);
        }
        *self != before
    }

    /// Makes a replica in sync the leader.
    ///
    /// # Errors
    /// The node is not in sync.
    pub(crate) fn lead(&mut self, node: i32) -> Result<(), ErrorCode> {
        if !self.replicas.contains(&node) {
            return Err(ErrorCode::REPLICA_NOT_AVAILABLE);
        }
        if !self.in_sync.contains(&node) {
            return Err(ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE);
        }
        if self.leader != node {
            self.leader = node;
            self.epoch += 1;
        }
        Ok(())
    }

    /// Makes any replica that is up the leader and the only one in sync. False when none is up.
    pub(crate) fn lead_unclean(&mut self, is_up: impl Fn(i32) -> bool) -> bool {
        let Some(first) = self.replicas.iter().copied().find(|node| is_up(*node)) else { return false };
        (self.leader, self.in_sync) = (first, vec![first]);
        self.epoch += 1;
        true
    }

    /// Moves the partition to other replicas, of which at least one is up. Those that are up are in sync at once; the
    /// leader stays when it is among them.
    pub(crate) fn reassign(&mut self, replicas: Vec<i32>, is_up: impl Fn(i32) -> bool) {
        let kept = self.in_sync.iter().copied().filter(|node| replicas.contains(node) && is_up(*node));
        let mut in_sync: Vec<i32> = kept.collect();
        in_sync.extend(replicas.iter().copied().filter(|node| !self.in_sync.contains(node) && is_up(*node)));
        let shrunk = self.replicas.iter().any(|node| !replicas.contains(node));
        (self.replicas, self.in_sync) = (replicas, in_sync);
        if !self.in_sync.contains(&self.leader) {
            self.elect(is_up);
        } else if shrunk {
            // Kafka begins an epoch as well, so that those that are no replica any more are fenced.
            self.epoch += 1;
        }
    }

    fn elect(&mut self, is_up: impl Fn(i32) -> bool) {
        let first = self.replicas.iter().find(|node| self.in_sync.contains(node) && is_up(**node));
        self.leader = first.copied().unwrap_or(NO_LEADER);
        self.epoch += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_replica_in_sync_leads_when_the_leader_goes() {
        let mut partition = Leadership::new(vec![2, 3, 1], |_| true);
        assert_eq!((partition.leader, partition.epoch), (2, 0));
        assert!(partition.node_down(2, |node| node != 2));
        assert_eq!((partition.leader, partition.epoch, &partition.in_sync[..]), (3, 1, &[3, 1][..]));
        assert!(partition.node_up(2, |_| true));
        assert_eq!((partition.leader, partition.epoch, &partition.in_sync[..]), (3, 1, &[3, 1, 2][..]));
        assert!(!partition.node_up(4, |_| true));
    }

    #[test]
    fn the_last_replica_in_sync_stays_and_leads_again() {
        let mut partition = Leadership::new(vec![1, 2], |_| true);
        partition.node_down(2, |node| node == 1);
        partition.node_down(1, |_| false);
        assert_eq!((partition.leader, partition.epoch, &partition.in_sync[..]), (NO_LEADER, 1, &[1][..]));
        assert!(!partition.node_up(2, |node| node == 2), "it may lack records");
        partition.node_up(1, |node| node == 1);
        assert_eq!((partition.leader, partition.epoch), (1, 2));
    }

    #[test]
    fn epochs_of_clients_are_compared() {
        let mut partition = Leadership::new(vec![1, 2], |_| true);
        partition.lead(2).unwrap();
        assert_eq!(partition.check_epoch(-1), Ok(()));
        assert_eq!(partition.check_epoch(0), Err(ErrorCode::FENCED_LEADER_EPOCH));
        assert_eq!(partition.check_epoch(1), Ok(()));
        assert_eq!(partition.check_epoch(2), Err(ErrorCode::UNKNOWN_LEADER_EPOCH));
        assert_eq!(partition.lead(3), Err(ErrorCode::REPLICA_NOT_AVAILABLE));
    }
}
