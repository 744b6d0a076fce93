//! Which partition a record goes to: as Kafka's own producer has it.

use milena_client::Record;

/// Spreads records over partitions: those with a key by its hash, so that one key stays in one place, the others a batch
/// at a time.
pub(super) struct Partitioner {
    partitions: Vec<i32>,
    next: usize,
}

impl Partitioner {
    /// Over these, of which there is at least one.
    pub(super) fn new(partitions: Vec<i32>) -> Self {
        Self { partitions, next: 0 }
    }

    /// The partition of a record.
    pub(super) fn partition(&self, record: &Record) -> i32 {
        let index = match &record.key {
            Some(key) => (murmur2(key) & 0x7fff_ffff) as usize % self.partitions.len().max(1),
            None => self.next,
        };
        self.partitions.get(index).copied().unwrap_or_default()
    }

    /// A batch is done: records without a key go elsewhere now.
    pub(super) fn turn(&mut self) {
        self.next = (self.next + 1) % self.partitions.len().max(1);
    }
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
        let mut partitioner = Partitioner::new(vec![0, 1, 2]);
        let keyed = partitioner.partition(&Record::new("21", ""));
        assert_eq!(partitioner.partition(&Record::from_value("")), 0);
        partitioner.turn();
        assert_eq!(partitioner.partition(&Record::from_value("")), 1);
        assert_eq!(partitioner.partition(&Record::new("21", "")), keyed);
    }
}
