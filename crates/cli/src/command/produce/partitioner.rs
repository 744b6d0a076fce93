//! The partition of a record, chosen as Kafka's own producer does.

use milena_client::{Record, partition_for};

/// Spreads records over partitions: those with a key by its hash, so that a key stays in one partition, the others one
/// batch at a time to each partition that has a leader.
pub(super) struct Partitioner {
    partitions: Vec<i32>,
    /// Those that can be written to now; all if none can.
    available: Vec<i32>,
    next: usize,
}

impl Partitioner {
    /// Over these, of which there is at least one; some may have no leader.
    pub(super) fn new(partitions: Vec<i32>, leaderless: &[i32]) -> Self {
        let available = available(&partitions, leaderless);
        Self { partitions, available, next: 0 }
    }

    /// These have no leader now, and the others have one.
    pub(super) fn set_leaderless(&mut self, leaderless: &[i32]) {
        self.available = available(&self.partitions, leaderless);
    }

    /// The partition of a record.
    pub(super) fn partition(&self, record: &Record) -> i32 {
        let (partitions, index) = match &record.key {
            Some(key) => (&self.partitions, partition_for(key, self.partitions.len() as i32) as usize),
            None => (&self.available, self.next % self.available.len().max(1)),
        };
        partitions.get(index).copied().unwrap_or_default()
    }

    /// A batch is done: records without a key go to the next partition now.
    pub(super) fn turn(&mut self) {
        self.next = self.next.wrapping_add(1);
    }
}

fn available(partitions: &[i32], leaderless: &[i32]) -> Vec<i32> {
    let available: Vec<i32> = partitions.iter().copied().filter(|partition| !leaderless.contains(partition)).collect();
    if available.is_empty() { partitions.to_vec() } else { available }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_and_others_move_on() {
        let mut partitioner = Partitioner::new(vec![0, 1, 2], &[]);
        let keyed = partitioner.partition(&Record::new("21", ""));
        assert_eq!(partitioner.partition(&Record::from_value("")), 0);
        partitioner.turn();
        assert_eq!(partitioner.partition(&Record::from_value("")), 1);
        assert_eq!(partitioner.partition(&Record::new("21", "")), keyed);
    }

    #[test]
    fn records_without_a_key_avoid_partitions_without_a_leader() {
        let mut partitioner = Partitioner::new(vec![0, 1, 2], &[0, 2]);
        for _ in 0..3 {
            assert_eq!(partitioner.partition(&Record::from_value("")), 1);
            partitioner.turn();
        }
        // -973932308 & 0x7fffffff = 1173551340, which is 0 modulo 3: its partition, with or without a leader.
        assert_eq!(partitioner.partition(&Record::new("21", "")), 0);
        partitioner.set_leaderless(&[0, 1, 2]);
        assert_eq!(partitioner.partition(&Record::from_value("")), 0);
    }
}
