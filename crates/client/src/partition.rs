/// The partition that Kafka's default partitioner gives a key: murmur2 of the key, modulo `partitions`.
///
/// Java's producer and milena's agree, so that records of one key stay in one partition. librdkafka agrees with
/// `partitioner=murmur2_random`. The count includes partitions that have no leader now.
///
/// ```
/// use milena_client::partition_for;
///
/// assert_eq!(partition_for(b"milena", 12), 4);
/// ```
///
/// Without partitions, that is with a count below 1, it is 0.
pub fn partition_for(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & 0x7fff_ffff) as i32 % partitions.max(1)
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
}
