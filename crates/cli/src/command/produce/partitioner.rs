//! The partition of a record, chosen as Kafka's own producer does.

use milena_client::Record;

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
            Some(key) => (&self.partitions, (murmur2(key) & 0x7fff_ffff) as usize),
            None => (&self.available, self.next),
        };
        partitions.get(index % partitions.len().max(1)).copied().unwrap_or_default()
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

/// Murmur2 with 32 bits and Kafka's seed.
fn murmur2(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ bytes.len() as u32;
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    for word in words {
        let mut k = word.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte)).wrapping_mul(M);
        k = (k ^ k >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !rest.is_empty() {
        hash = (hash ^ rest.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte))).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_kafka() {
        // From the tests of Kafka's own Utils.murmur2.
        let known: [(&[u8], i32); 5] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ];
        for (bytes, hash) in known {
            assert_eq!(murmur2(bytes) as i32, hash, "{bytes:?}");
        }
    }

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
