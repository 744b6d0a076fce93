//! Variable-length integers: groups of 7 bits, lowest first, the high bit of a byte says that more follow.
//!
//! Kafka uses the unsigned form for lengths and tags of flexible versions, and the zigzag form (small numbers of either
//! sign take few bytes) inside record batches. Reading accepts what Kafka accepts: forms longer than needed, and spare
//! bits in the last byte, which are dropped. Writing gives the shortest form.

/// Longest varint of 32 bits.
pub const MAX_LEN_32: usize = 5;
/// Longest varint of 64 bits.
pub const MAX_LEN_64: usize = 10;

/// Reads an unsigned 32-bit varint from the front: the value and its size. `None` when cut off or longer than 5 bytes.
#[inline]
pub fn read_u32(bytes: &[u8]) -> Option<(u32, usize)> {
    // Nearly all are of one or two bytes. More than these here, and the loops over records are no longer inlined.
    match *bytes {
        [low, ..] if low < 0x80 => Some((u32::from(low), 1)),
        [low, high, ..] if high < 0x80 => Some((u32::from(low & 0x7f) | u32::from(high) << 7, 2)),
        _ => read_long_u32(bytes),
    }
}

#[inline(never)]
fn read_long_u32(bytes: &[u8]) -> Option<(u32, usize)> {
    // The lengths of record batches.
    if let [low, middle, high @ 0..0x80, ..] = *bytes {
        return Some((u32::from(low & 0x7f) | u32::from(middle & 0x7f) << 7 | u32::from(high) << 14, 3));
    }
    let mut value = 0u32;
    for (i, &byte) in bytes.iter().take(MAX_LEN_32).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Reads an unsigned 64-bit varint from the front: the value and its size. `None` when cut off or longer than 10 bytes.
#[inline]
pub fn read_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    // Nearly all are of one or two bytes.
    match *bytes {
        [low, ..] if low < 0x80 => Some((u64::from(low), 1)),
        [low, high, ..] if high < 0x80 => Some((u64::from(low & 0x7f) | u64::from(high) << 7, 2)),
        _ => read_long_u64(bytes),
    }
}

fn read_long_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(MAX_LEN_64).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Appends an unsigned 32-bit varint.
#[inline]
pub fn write_u32(buf: &mut Vec<u8>, value: u32) {
    write_u64(buf, u64::from(value));
}

/// Appends an unsigned 64-bit varint.
#[inline]
pub fn write_u64(buf: &mut Vec<u8>, value: u64) {
    match value {
        0..0x80 => buf.push(value as u8),
        0x80..0x4000 => buf.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]),
        0x4000..0x20_0000 => {
            buf.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8 | 0x80, (value >> 14) as u8]);
        }
        _ => write_long(buf, value),
    }
}

fn write_long(buf: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buf.push(value as u8 | 0x80);
        value >>= 7;
    }
    buf.push(value as u8);
}

/// Bytes that [`write_u64`] will take.
#[inline]
pub fn size_u64(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Signed to zigzag: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
pub fn zigzag32(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

/// Zigzag to signed.
#[inline]
pub fn unzigzag32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Signed to zigzag, 64 bits.
#[inline]
pub fn zigzag64(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Zigzag to signed, 64 bits.
#[inline]
pub fn unzigzag64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_arithmetic() {
        for bits in 0..64 {
            let value = 1u64 << bits;
            let mut buf = Vec::new();
            write_u64(&mut buf, value);
            assert_eq!(buf.len(), bits / 7 + 1, "2^{bits}");
            assert_eq!(size_u64(value), buf.len());
            assert_eq!(read_u64(&buf), Some((value, buf.len())));
        }
        assert_eq!(size_u64(0), 1);
        assert_eq!(size_u64(127), 1);
        assert_eq!(size_u64(u64::MAX), 10);
    }

    #[test]
    fn zigzag_numbers_are_those_of_the_definition() {
        for (signed, zigzag) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i32::MAX, u32::MAX - 1), (i32::MIN, u32::MAX)] {
            assert_eq!((zigzag32(signed), unzigzag32(zigzag)), (zigzag, signed));
        }
        assert_eq!((zigzag64(i64::MIN), unzigzag64(u64::MAX)), (u64::MAX, i64::MIN));
    }
}
