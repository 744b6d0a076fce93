//! One interface for the four codecs, each with the quirks of Kafka's own reader.

#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(all(feature = "zstd", not(target_family = "wasm")))]
mod zstd;
#[cfg(feature = "zstd-pure")]
#[cfg_attr(all(feature = "zstd", not(target_family = "wasm")), allow(dead_code, reason = "gives way to the C library"))]
mod zstd_pure;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::options::Mode;

/// How the records of a batch are compressed.
///
/// Each codec but `None` is a cargo feature of the same name; without it the codec can be named, but not used. `zstd` is
/// the C library and does not exist on wasm; `zstd-pure` is zstd in Rust alone, which reads the same, writes at one level
/// only, and gives way to `zstd` where both are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Not at all.
    #[default]
    None,
    /// gzip, as a plain member. Levels 1 to 9; -1 is 6.
    Gzip,
    /// Snappy in the framing of xerial's snappy-java, which Kafka took over. Has no levels.
    Snappy,
    /// LZ4 frames of independent 64 KiB blocks. Levels 1 to 17 are accepted and make no difference.
    Lz4,
    /// Zstandard (KIP-110), in record batches of magic 2 alone. Levels -131072 to 22, 3 unless said otherwise.
    Zstd,
}

impl Codec {
    /// All of them, in the order of their ids.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The number in the lowest three bits of the attributes.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec of that number; 5 to 7 are not in use, and above 7 nothing can be.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The name as Kafka's `compression.type` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Whether this build has it.
    pub fn is_available(self) -> bool {
        match self {
            Self::None => true,
            Self::Gzip => cfg!(feature = "gzip"),
            Self::Snappy => cfg!(feature = "snappy"),
            Self::Lz4 => cfg!(feature = "lz4"),
            Self::Zstd => cfg!(any(feature = "zstd-pure", all(feature = "zstd", not(target_family = "wasm")))),
        }
    }

    /// Compresses all of `data` as Kafka's producer would.
    ///
    /// # Errors
    /// A level that the codec does not have, or a codec that was left out of the build.
    pub fn compress(self, data: &[u8], level: Option<i32>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.compress_into(data, level, 2, &mut out)?;
        Ok(out)
    }

    /// Decompresses all of `data`, which may come to at most `limit` bytes. Reads what Kafka reads from a batch of magic
    /// 2 and refuses what Kafka refuses.
    ///
    /// # Errors
    /// Bytes that are damaged, cut off or not of this codec, a result above the limit, or a codec that was left out of
    /// the build. No more memory than the limit and a few times the input is ever in use.
    pub fn decompress(self, data: &[u8], limit: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decompress_into(data, &mut out, &Decompress { limit, mode: Mode::Strict, magic: 2 })?;
        Ok(out)
    }

    /// As [`Codec::decompress`], for data out of a wrapper of magic 0 or 1: in magic 0 the header checksum of an LZ4 frame
    /// is wrong by design and nobody compares it. The other codecs do not differ by magic.
    ///
    /// # Errors
    /// As [`Codec::decompress`].
    pub fn decompress_message(self, data: &[u8], limit: usize, magic: i8) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decompress_into(data, &mut out, &Decompress { limit, mode: Mode::Strict, magic })?;
        Ok(out)
    }

    /// Decompresses as far as it goes, in the manner of [`Mode::Tolerant`]: gives what came out, and what stopped it if
    /// that was not the end. `magic` is that of the batch or wrapper.
    pub fn salvage(self, data: &[u8], limit: usize, magic: i8) -> (Vec<u8>, Option<Error>) {
        let mut out = Vec::new();
        let fault = self.decompress_into(data, &mut out, &Decompress { limit, mode: Mode::Tolerant, magic }).err();
        (out, fault)
    }

    /// Appends the compressed data; `magic` matters for LZ4 alone.
    pub(crate) fn compress_into(self, data: &[u8], level: Option<i32>, magic: i8, out: &mut Vec<u8>) -> Result<()> {
        // Not every codec looks at these.
        let (_, _) = (level, magic);
        match self {
            Self::None => {
                out.extend_from_slice(data);
                Ok(())
            }
            #[cfg(feature = "gzip")]
            Self::Gzip => gzip::compress(data, self.level(level, 1..=9, -1)?, out),
            #[cfg(feature = "snappy")]
            Self::Snappy => snappy::compress(data, out),
            #[cfg(feature = "lz4")]
            Self::Lz4 => {
                self.level(level, 1..=17, 9)?;
                lz4::compress(data, magic, out)
            }
            #[cfg(all(feature = "zstd", not(target_family = "wasm")))]
            Self::Zstd => zstd::compress(data, self.level(level, -131_072..=22, 3)?, out),
            #[cfg(all(feature = "zstd-pure", not(all(feature = "zstd", not(target_family = "wasm")))))]
            Self::Zstd => {
                self.level(level, -131_072..=22, 3)?;
                zstd_pure::compress(data, out)
            }
            #[allow(unreachable_patterns, reason = "reached when a codec is left out")]
            _ => Err(self.missing()),
        }
    }

    /// Appends what comes out. When it fails, what came out before the fault stays in `out`.
    pub(crate) fn decompress_into(self, data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
        match self {
            Self::None => {
                how.room(out, data.len())?;
                out.extend_from_slice(data);
                Ok(())
            }
            #[cfg(feature = "gzip")]
            Self::Gzip => gzip::decompress(data, out, how),
            #[cfg(feature = "snappy")]
            Self::Snappy => snappy::decompress(data, out, how),
            #[cfg(feature = "lz4")]
            Self::Lz4 => lz4::decompress(data, out, how),
            #[cfg(all(feature = "zstd", not(target_family = "wasm")))]
            Self::Zstd => zstd::decompress(data, out, how),
            #[cfg(all(feature = "zstd-pure", not(all(feature = "zstd", not(target_family = "wasm")))))]
            Self::Zstd => zstd_pure::decompress(data, out, how),
            #[allow(unreachable_patterns, reason = "reached when a codec is left out")]
            _ => Err(self.missing()),
        }
    }

    #[allow(dead_code, reason = "not every codec has levels")]
    fn level(self, level: Option<i32>, range: std::ops::RangeInclusive<i32>, default: i32) -> Result<i32> {
        match level {
            None => Ok(default),
            Some(level) if level == default || range.contains(&level) => Ok(level),
            Some(level) => {
                Err(Error::invalid(format!("{self} has levels {} to {}, not {level}", range.start(), range.end())))
            }
        }
    }

    #[allow(dead_code, reason = "called when a codec is left out")]
    fn missing(self) -> Error {
        Error::new(ErrorKind::UnsupportedCodec, format!("this build has no {self}: its cargo feature is off"))
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(|| {
            Error::invalid(format!("no codec is named {name:?}; expected none, gzip, snappy, lz4 or zstd"))
        })
    }
}

/// How to decompress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decompress {
    /// Most bytes that may come out.
    pub(crate) limit: usize,
    #[cfg_attr(not(feature = "lz4"), allow(dead_code, reason = "lz4 alone is read in two modes"))]
    pub(crate) mode: Mode,
    #[cfg_attr(not(feature = "lz4"), allow(dead_code, reason = "lz4 alone differs by magic"))]
    pub(crate) magic: i8,
}

impl Decompress {
    /// Makes sure that `more` bytes are below the limit.
    pub(crate) fn room(&self, out: &[u8], more: usize) -> Result<()> {
        if more > self.limit.saturating_sub(out.len()) { Err(self.exceeded()) } else { Ok(()) }
    }

    #[cold]
    pub(crate) fn exceeded(&self) -> Error {
        Error::new(ErrorKind::LimitExceeded, format!("decompresses to more than the limit of {} bytes", self.limit))
    }

    /// Grows the capacity of a buffer that is full: twofold, from `first` on, and to one byte above the limit at most,
    /// so that a codec can show that there is more.
    #[allow(dead_code, reason = "not every codec grows its output")]
    pub(crate) fn grow(&self, out: &mut Vec<u8>, first: usize) {
        if out.len() == out.capacity() {
            let most = self.limit.saturating_add(1).saturating_sub(out.len());
            out.reserve_exact(out.len().max(first).min(most));
        }
    }
}
