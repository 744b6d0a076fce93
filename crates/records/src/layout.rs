//! Where the fields stand. All three formats share the first 17 bytes up to the magic.

/// Offset and size in front of every entry; the size counts what follows it.
pub(crate) const LOG_OVERHEAD: usize = 12;
pub(crate) const SIZE: usize = 8;
pub(crate) const MAGIC: usize = 16;

pub(crate) mod v2 {
    pub(crate) const LEADER_EPOCH: usize = 12;
    pub(crate) const CRC: usize = 17;
    /// The checksum covers everything from here on.
    pub(crate) const ATTRIBUTES: usize = 21;
    pub(crate) const LAST_OFFSET_DELTA: usize = 23;
    pub(crate) const BASE_TIMESTAMP: usize = 27;
    pub(crate) const MAX_TIMESTAMP: usize = 35;
    pub(crate) const PRODUCER_ID: usize = 43;
    pub(crate) const PRODUCER_EPOCH: usize = 51;
    pub(crate) const BASE_SEQUENCE: usize = 53;
    pub(crate) const COUNT: usize = 57;
    pub(crate) const HEADER: usize = 61;
}

pub(crate) mod legacy {
    pub(crate) const CRC: usize = 12;
    pub(crate) const ATTRIBUTES: usize = 17;
    pub(crate) const TIMESTAMP: usize = 18;
    /// Smallest size field: crc, magic, attributes, two lengths.
    pub(crate) const MIN_SIZE_V0: usize = 14;
    /// The same with a timestamp.
    pub(crate) const MIN_SIZE_V1: usize = 22;

    /// Where the key begins.
    pub(crate) fn key(magic: i8) -> usize {
        if magic == 0 { TIMESTAMP } else { TIMESTAMP + 8 }
    }
}

/// Attribute bits 0 to 2: the codec.
pub(crate) const CODEC_BITS: i16 = 0x07;
/// Attribute bit 3: the timestamps are the broker's.
pub(crate) const LOG_APPEND_TIME: i16 = 0x08;
pub(crate) const TRANSACTIONAL: i16 = 0x10;
pub(crate) const CONTROL: i16 = 0x20;
pub(crate) const DELETE_HORIZON: i16 = 0x40;

/// No timestamp, producer, epoch or sequence.
pub(crate) const NONE: i8 = -1;

macro_rules! big_endian {
    ($($get:ident $put:ident $type:ty;)*) => {$(
        /// The caller has made sure that the bytes are there.
        #[inline]
        pub(crate) fn $get(bytes: &[u8], at: usize) -> $type {
            let mut value = [0; size_of::<$type>()];
            value.copy_from_slice(&bytes[at..at + size_of::<$type>()]);
            <$type>::from_be_bytes(value)
        }

        #[inline]
        pub(crate) fn $put(bytes: &mut [u8], at: usize, value: $type) {
            bytes[at..at + size_of::<$type>()].copy_from_slice(&value.to_be_bytes());
        }
    )*};
}

big_endian! {
    i16_at put_i16 i16;
    i32_at put_i32 i32;
    u32_at put_u32 u32;
    i64_at put_i64 i64;
}
