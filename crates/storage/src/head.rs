use std::ops::Range;

use milena_records::Codec;

use crate::number::big_endian;

/// Offset and size before every entry, and the magic after them.
const OVERHEAD: usize = 12;
pub(crate) const MAGIC: usize = 16;
/// The longest header, that of magic 2.
pub(crate) const HEAD: usize = 61;
/// Bytes of the smallest message: checksum, magic, attributes, and the lengths of key and value.
const SMALLEST: i32 = 14;

/// The first bytes of an entry.
pub(crate) enum Head {
    /// They say that it takes so many bytes.
    Whole(usize),
    /// There are too few to tell, except for the size perhaps.
    Short(Option<u64>),
    /// They are impossible.
    Wrong { at: usize, message: String },
}

impl Head {
    pub(crate) fn read(bytes: &[u8], max_batch: usize) -> Self {
        let Some(size) = bytes.get(8..OVERHEAD) else { return Self::Short(None) };
        let size = big_endian(size) as i32;
        if size < SMALLEST {
            return Self::Wrong { at: 8, message: format!("entry of {size} bytes, the smallest has {SMALLEST}") };
        }
        let total = size as usize + OVERHEAD;
        let Some(magic) = bytes.get(MAGIC) else { return Self::Short(Some(total as u64)) };
        if *magic > 2 {
            return Self::Wrong {
                at: MAGIC,
                message: format!("magic {} is unknown; expected 0, 1 or 2", *magic as i8),
            };
        }
        if total > max_batch {
            return Self::Wrong {
                at: 8,
                message: format!("entry of {size} bytes, more than the limit of {max_batch}"),
            };
        }
        Self::Whole(total)
    }
}

/// Bytes of the entry that begins here, if its header fields are possible. It takes [`HEAD`] bytes to tell of magic 2; of
/// the others key and value have to fill the entry exactly, as far as `bytes` reaches.
pub(crate) fn plausible(bytes: &[u8], max_batch: usize) -> Option<usize> {
    // No offset is negative. Most places fail here.
    if *bytes.first()? >= 0x80 {
        return None;
    }
    let Head::Whole(total) = Head::read(bytes, max_batch) else { return None };
    let number = |range: Range<usize>| bytes.get(range).map(big_endian);
    if bytes[MAGIC] == 2 {
        let (attributes, delta, count) = (number(21..23)?, number(23..27)? as i32, number(57..61)? as i32);
        let is_possible = attributes < 0x80
            && is_codec(attributes)
            && delta >= 0
            && count >= 0
            && i64::from(count) <= i64::from(delta) + 1;
        return (is_possible && total >= HEAD).then_some(total);
    }
    let attributes = number(17..18)?;
    if attributes >= 0x10 || !is_codec(attributes) {
        return None;
    }
    // A length of -1 is null, and no other is negative.
    let after = |at: usize| {
        let length = number(at..at + 4)? as i32;
        (length >= -1).then_some(at + 4 + length.max(0) as usize)
    };
    let value = after(if bytes[MAGIC] == 0 { 18 } else { 26 })?;
    if value + 4 > total {
        return None;
    }
    if value + 4 > bytes.len() {
        return Some(total);
    }
    (after(value)? == total).then_some(total)
}

fn is_codec(attributes: u64) -> bool {
    Codec::from_id((attributes & 7) as u8).is_some()
}

/// Whether a batch that is not known to be right is where it should be: its header says so in more than one way.
pub(crate) fn is_in_place(bytes: &[u8], max_batch: usize, next_offset: Option<i64>) -> bool {
    // An end that is cut off cannot say more.
    if bytes.len() <= MAGIC {
        return bytes.first().is_none_or(|byte| *byte < 0x80);
    }
    if plausible(bytes, max_batch).is_none() {
        return false;
    }
    let offset = big_endian(&bytes[..8]) as i64;
    if next_offset.is_some_and(|next| !is_near(next, offset) && offset > next) {
        return false;
    }
    let is_ordered = next_offset.is_some_and(|next| offset >= next);
    bytes[MAGIC] < 2 || is_ordered || big_endian(&bytes[57..61]) == big_endian(&bytes[23..27]) + 1
}

/// Offsets of one segment differ by less than 2^31, or they would not fit in its indexes.
pub(crate) fn is_near(from: i64, to: i64) -> bool {
    to.checked_sub(from).is_some_and(|distance| (0..1 << 31).contains(&distance))
}
