//! xxHash32 with seed 0, the checksum of the LZ4 frame format.

const PRIME_1: u32 = 0x9e37_79b1;
const PRIME_2: u32 = 0x85eb_ca77;
const PRIME_3: u32 = 0xc2b2_ae3d;
const PRIME_4: u32 = 0x27d4_eb2f;
const PRIME_5: u32 = 0x1656_67b1;

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

pub(super) fn xxh32(data: &[u8]) -> u32 {
    let stripes = data.chunks_exact(16);
    let rest = stripes.remainder();
    let mut hash = if data.len() < 16 {
        PRIME_5
    } else {
        let mut lanes = [PRIME_1.wrapping_add(PRIME_2), PRIME_2, 0, 0u32.wrapping_sub(PRIME_1)];
        for stripe in stripes {
            for (lane, input) in lanes.iter_mut().zip(stripe.chunks_exact(4)) {
                *lane = lane.wrapping_add(word(input).wrapping_mul(PRIME_2)).rotate_left(13).wrapping_mul(PRIME_1);
            }
        }
        let [a, b, c, d] = lanes;
        a.rotate_left(1).wrapping_add(b.rotate_left(7)).wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18))
    };
    hash = hash.wrapping_add(data.len() as u32);
    let words = rest.chunks_exact(4);
    let bytes = words.remainder();
    for input in words {
        hash = hash.wrapping_add(word(input).wrapping_mul(PRIME_3)).rotate_left(17).wrapping_mul(PRIME_4);
    }
    for &byte in bytes {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(PRIME_5)).rotate_left(11).wrapping_mul(PRIME_1);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(PRIME_2);
    hash = (hash ^ hash >> 13).wrapping_mul(PRIME_3);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::xxh32;

    #[test]
    fn hashes_are_those_of_the_reference_implementation() {
        // From the xxhash package of Python.
        assert_eq!(xxh32(b""), 0x02cc_5d05);
        assert_eq!(xxh32(b"a"), 0x550d_7456);
        assert_eq!(xxh32(b"abc"), 0x32d1_53ff);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition"), 0xe229_3b2f);
    }
}
