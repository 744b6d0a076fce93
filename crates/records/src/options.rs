/// What to do about bytes that Kafka's own consumer refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Accept what Kafka accepts and refuse what it refuses. Stricter in one point: data after the first frame of an
    /// LZ4 payload, which Kafka loses without a word, is an error. And earlier in another: a payload is decompressed as a
    /// whole before its first record is given, where Kafka gives records up to the fault; both refuse the batch. The
    /// list of all differences is `conformance/deviations.md`, and a test holds it to be complete.
    #[default]
    Strict,
    /// Show as much as can be made out, for tools that look at broken data. Reading goes as far as the bytes carry and
    /// then reports what is wrong with them:
    ///
    /// - records in front of the point where a compressed payload breaks are given before the error;
    /// - a last record with bytes after it is given before the error;
    /// - LZ4: a wrong header checksum, a missing end mark, linked blocks and further frames are read;
    /// - magic 0 and 1: zstd in a wrapper is read, and a wrapper's offset below that of its last message means that the
    ///   inner offsets are absolute.
    Tolerant,
}

/// How to read batches.
///
/// ```
/// use milena_records::ReadOptions;
///
/// let options = ReadOptions { check_crc: false, ..ReadOptions::default() };
/// assert_eq!(options.limit, 128 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Strict unless said otherwise.
    pub mode: Mode,
    /// Whether `records()` compares the checksum of the batch first, and in magic 0 and 1 that of each inner message as
    /// it comes by. On by default. `check_crc()` of a batch does it at any time.
    pub check_crc: bool,
    /// Most bytes that the payload of one batch may decompress to; 128 MiB by default. This bounds the memory that a
    /// few hostile bytes can cost. A payload that is not compressed costs nothing and has no limit.
    pub limit: usize,
}

impl ReadOptions {
    /// As a debugger reads: tolerant, and without a look at the checksums.
    pub fn tolerant() -> Self {
        Self { mode: Mode::Tolerant, check_crc: false, ..Self::default() }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { mode: Mode::Strict, check_crc: true, limit: 128 << 20 }
    }
}
