//! What one request may cost. A few bytes can ask for a lot: compressed records that grow a thousandfold, resources with
//! long descriptions. Each request has a budget for that, and what exceeds it gets an error of its own.

use bytes::Bytes;
use milena_records::{Batch, Codec, ErrorKind, ReadOptions, Result};

/// What a request may decompress in any case, and the limit of a single batch.
const DECOMPRESS: usize = 128 << 20;
/// A large request may decompress that many bytes for each of its own.
const DECOMPRESS_PER_BYTE: usize = 8;
/// The records of old message sets are compressed again, which takes several times as long.
const LEGACY_WEIGHT: usize = 4;
/// Most bytes of a response that repeats what is stored: a group that is listed a thousand times is described a thousand
/// times, as in Kafka.
const RESPONSE: usize = 128 << 20;
/// Most entries of a response that are not asked for one by one: settings of a topic, faults of single records.
const ENTRIES: usize = 200_000;

/// The budget of one request, and what is left of it.
#[derive(Debug)]
pub(crate) struct Cost {
    quick: bool,
    exceeded: bool,
    decompress: usize,
    copy: usize,
    response: usize,
    entries: usize,
}

impl Cost {
    /// The budget of a request that is handled between others, on a thread of the runtime: about a millisecond.
    pub(crate) fn quick() -> Self {
        Self { quick: true, exceeded: false, decompress: 1 << 20, copy: 4 << 20, response: 1 << 20, entries: 5_000 }
    }

    /// The budget of a request of this size on a thread of its own.
    pub(crate) fn full(frame_size: usize) -> Self {
        let decompress = DECOMPRESS.max(frame_size.saturating_mul(DECOMPRESS_PER_BYTE));
        Self { quick: false, exceeded: false, decompress, copy: usize::MAX, response: RESPONSE, entries: ENTRIES }
    }

    /// Whether the request needs more than a quick budget. It is handled again with a full one: a handler that sees this must
    /// not have changed anything yet.
    pub(crate) fn needs_full(&self) -> bool {
        self.quick && self.exceeded
    }

    /// Bytes that may still be decompressed.
    #[cfg(test)]
    pub(crate) fn decompress_left(&self) -> usize {
        self.decompress
    }

    /// Parses a batch and decompresses it within the budget.
    ///
    /// # Errors
    /// The batch cannot be read; [`ErrorKind::LimitExceeded`] when the budget is used up.
    pub(crate) fn open(&mut self, bytes: &Bytes, check_crc: bool) -> Result<Batch> {
        let weight = if is_legacy(bytes) { LEGACY_WEIGHT } else { 1 };
        let limit = DECOMPRESS.min(self.decompress / weight);
        let batch = Batch::parse(bytes.clone(), ReadOptions { check_crc, limit, ..ReadOptions::default() })?;
        if !batch.is_compressed() {
            return Ok(batch);
        }
        let (used, failed) = match batch.decompressed_size() {
            Ok(size) => (size, None),
            Err(error) => {
                self.exceeded |= error.kind() == ErrorKind::LimitExceeded;
                (limit.min(most(&batch)), Some(error))
            }
        };
        self.decompress = self.decompress.saturating_sub(used.saturating_mul(weight));
        match failed {
            // The batch gives the same error to all readers of its records. This build lacks the codec: nothing was done.
            Some(error) if error.kind() != ErrorKind::UnsupportedCodec => Err(error),
            _ => Ok(batch),
        }
    }

    /// Takes bytes to copy; false when that many are too many.
    pub(crate) fn copy(&mut self, bytes: usize) -> bool {
        let left = self.copy.checked_sub(bytes);
        self.exceeded |= left.is_none();
        self.copy = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes bytes of a response that repeats what is stored; false when that many are too many.
    pub(crate) fn response(&mut self, bytes: usize) -> bool {
        let left = self.response.checked_sub(bytes);
        self.exceeded |= left.is_none();
        self.response = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes entries of a response; false when that many are too many.
    pub(crate) fn entries(&mut self, count: usize) -> bool {
        let left = self.entries.checked_sub(count);
        self.exceeded |= left.is_none();
        self.entries = left.unwrap_or(0);
        left.is_some()
    }
}

fn is_legacy(bytes: &[u8]) -> bool {
    bytes.get(16).is_some_and(|magic| *magic < 2)
}

/// The most bytes that decompression can have made before it failed, from how each codec writes the longest run.
fn most(batch: &Batch) -> usize {
    let ratio = match batch.codec() {
        Err(_) | Ok(Codec::None) => 0,
        Ok(Codec::Snappy) => 22,
        Ok(Codec::Lz4) => 255,
        Ok(Codec::Gzip) => 1032,
        // A block of 128 KiB in 4 bytes.
        Ok(Codec::Zstd) => 32_768,
    };
    batch.size_in_bytes().saturating_mul(ratio)
}

#[cfg(test)]
mod tests {
    use milena_records::{BatchMut, Record, encode};

    use super::*;

    /// A batch whose records are that many zeros.
    fn bomb(size: usize, codec: Codec) -> Bytes {
        encode(&[Record::from_value(vec![0; size])], codec).unwrap()
    }

    #[test]
    fn decompressed_bytes_are_counted_over_all_batches() {
        let mut cost = Cost::quick();
        let bomb = bomb(300_000, Codec::Gzip);
        for left in [700_000, 400_000, 100_000] {
            cost.open(&bomb, true).unwrap();
            assert!(cost.decompress_left().abs_diff(left + (1 << 20) - 1_000_000) < 100);
        }
        assert!(!cost.needs_full());
        assert_eq!(cost.open(&bomb, true).unwrap_err().kind(), ErrorKind::LimitExceeded);
        assert!(cost.needs_full());
        assert_eq!(cost.decompress_left(), 0);
    }

    #[test]
    fn batches_that_are_not_compressed_cost_nothing() {
        let mut cost = Cost::quick();
        cost.open(&bomb(2 << 20, Codec::None), true).unwrap();
        assert_eq!(cost.decompress_left(), 1 << 20);
    }

    #[test]
    fn a_batch_that_fails_late_is_charged_for_what_it_may_have_taken() {
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            let mut damaged = bomb(500_000, codec).to_vec();
            damaged.truncate(damaged.len() - 5);
            let size = damaged.len() as u32 - 12;
            damaged[8..12].copy_from_slice(&size.to_be_bytes());
            BatchMut::new(&mut damaged).unwrap().update_crc();
            let mut cost = Cost::quick();
            assert!(cost.open(&damaged.into(), true).is_err(), "{codec}");
            assert!(cost.decompress_left() <= (1 << 20) - 500_000, "{codec}: {}", cost.decompress_left());
        }
    }

    #[test]
    fn large_requests_may_decompress_more() {
        assert_eq!(Cost::full(100).decompress_left(), 128 << 20);
        assert_eq!(Cost::full(100 << 20).decompress_left(), 800 << 20);
    }
}
