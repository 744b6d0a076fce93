//! Damage done to bytes, the same each time: nothing here depends on a clock or on the machine.

/// A source of numbers that look random (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        (number % bound.max(1) as u64) as usize
    }
}

/// What lengths, counts, tags and markers are not expected to be.
const CLAIMS: [&[u8]; 12] = [
    &[0xff, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xfe],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0x80, 0, 0, 0],
    &[0, 1, 0, 0],
    &[0xff, 0xff],
    &[0x7f, 0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x07],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x80, 0x80, 0x80, 0x80, 0x00],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0xed, 0xa0, 0x80],
];

const EDGES: [u8; 8] = [0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff];

/// Damages bytes at one place.
pub(crate) fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let size = (1 + random.below(8)).min(bytes.len() - at);
    match random.below(8) {
        _ if bytes.is_empty() => bytes.push(random.below(256) as u8),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = EDGES[random.below(EDGES.len())],
        2 => bytes.truncate(at),
        3 => bytes.insert(at, random.below(256) as u8),
        4 => {
            bytes.drain(at..at + size);
        }
        5 => {
            let again = bytes[at..at + size].to_vec();
            bytes.splice(at..at, again);
        }
        6 => {
            let claim = CLAIMS[random.below(CLAIMS.len())];
            let end = bytes.len().min(at + claim.len());
            bytes.splice(at..end, claim.iter().copied());
        }
        _ => {
            let claim = CLAIMS[random.below(CLAIMS.len())];
            bytes.splice(at..at, claim.iter().copied());
        }
    }
}
