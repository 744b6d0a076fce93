//! Zstandard without C. Reads what the C library reads; writes at one level, close to level 1 of the C library.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::Decompress;
use crate::error::{Error, Result};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Largest window that Kafka's reader takes: 128 MiB.
const MAX_WINDOW: u64 = 1 << 27;
/// What is decoded before it is taken out of the decoder.
const STEP: usize = 1 << 20;

pub(super) fn compress(data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.append(&mut compress_to_vec(data, CompressionLevel::Fastest));
    Ok(())
}

pub(super) fn decompress(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    let mut pos = 0;
    while pos < data.len() {
        let rest = &data[pos..];
        if let Some(size) = skippable(rest) {
            // One that is cut off at the end has nothing to say either.
            pos += size.min(rest.len());
        } else {
            pos += frame(rest, out, how).map_err(|error| error.shift(pos))?;
        }
    }
    Ok(())
}

/// The size of a frame without content.
fn skippable(data: &[u8]) -> Option<usize> {
    match data.first_chunk::<8>() {
        Some(&[magic, 0x2a, 0x4d, 0x18, a, b, c, d]) if magic & 0xf0 == 0x50 => {
            Some((u32::from_le_bytes([a, b, c, d]) as usize).saturating_add(8))
        }
        _ => None,
    }
}

/// Checks of the header what the decoder does not, and gives the content size if it is stated.
fn header(data: &[u8], how: &Decompress) -> Result<Option<u64>> {
    const CUT: &str = "zstd frame header cut off";
    let byte = |at: usize| data.get(at).copied().ok_or_else(|| Error::malformed(at, CUT));
    if !data.starts_with(&MAGIC) {
        return Err(Error::malformed(0, "not a zstd frame"));
    }
    let descriptor = byte(4)?;
    if descriptor & 0x08 != 0 {
        return Err(Error::malformed(4, "zstd frame with a reserved flag"));
    }
    let mut pos = 5;
    let single = descriptor & 0x20 != 0;
    if !single {
        let window = byte(pos)?;
        let base = 1u64 << (10 + (window >> 3));
        if base + base / 8 * u64::from(window & 7) > MAX_WINDOW {
            return Err(Error::malformed(pos, "zstd frame with a window above 128 MiB"));
        }
        pos += 1;
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    for at in pos..pos + dictionary {
        if byte(at)? != 0 {
            return Err(Error::malformed(pos, "zstd frame with a dictionary"));
        }
    }
    pos += dictionary;
    let size = match (descriptor >> 6, single) {
        (0, false) => return Ok(None),
        (flag, _) => 1usize << flag,
    };
    let mut content = 0u64;
    for at in (pos..pos + size).rev() {
        content = content << 8 | u64::from(byte(at)?);
    }
    let content = content + if size == 2 { 256 } else { 0 };
    // A lone segment is its own window and has to be kept in whole.
    if single && content > how.limit as u64 {
        return Err(how.exceeded());
    }
    Ok(Some(content))
}

/// Decodes one frame and gives its size.
fn frame(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<usize> {
    let content = header(data, how)?;
    let start = out.len();
    let mut source = data;
    let failed = |left: &[u8], error: &dyn std::fmt::Display| {
        Error::malformed(data.len() - left.len(), format!("zstd: {error}"))
    };
    // A decoder that was used before reserves the whole window at once; a new one grows with the content.
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut source).map_err(|error| failed(source, &error))?;
    let mut decoded = start;
    while !decoder.is_finished() {
        if let Err(error) = decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBytes(STEP)) {
            return Err(failed(source, &error));
        }
        if !decoder.is_finished() {
            decoded += STEP;
        }
        if decoded > how.limit || decoder.can_collect() > how.limit.saturating_sub(out.len()) {
            return Err(how.exceeded());
        }
        decoder.collect_to_writer(&mut *out).map_err(|error| failed(source, &error))?;
    }
    if content.is_some_and(|content| content != (out.len() - start) as u64) {
        return Err(failed(source, &"the content is not of the size that the header states"));
    }
    if decoder.get_checksum_from_data().is_some_and(|stated| decoder.get_calculated_checksum() != Some(stated)) {
        return Err(failed(source, &"the content has a wrong checksum"));
    }
    Ok(data.len() - source.len())
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::{Decompress, zstd};
    use super::*;
    use crate::options::Mode;

    const HOW: Decompress = Decompress { limit: 1 << 20, mode: Mode::Strict, magic: 2 };

    type Reader = fn(&[u8], &mut Vec<u8>, &Decompress) -> Result<()>;

    fn read(reader: Reader, data: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        reader(data, &mut out, &HOW).ok().map(|()| out)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_rust_writes_c_reads_and_the_other_way_around(
            data in vec(any::<u8>(), 0..3000), fold in 1u8..=255, times in 1usize..100,
        ) {
            let data: Vec<u8> = data.iter().map(|byte| byte % fold).collect::<Vec<u8>>().repeat(times);
            let (mut pure, mut c) = (Vec::new(), Vec::new());
            compress(&data, &mut pure).unwrap();
            zstd::compress(&data, 3, &mut c).unwrap();
            prop_assert_eq!(read(zstd::decompress, &pure), Some(data.clone()));
            prop_assert_eq!(read(decompress, &c), Some(data.clone()));
            prop_assert_eq!(read(decompress, &pure), Some(data.clone()));
        }

        #[test]
        fn damage_makes_neither_panic(
            data in vec(any::<u8>(), 0..300), fold in 1u8..=255, at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let data: Vec<u8> = data.iter().map(|byte| byte % fold).collect();
            let mut bytes = Vec::new();
            zstd::compress(&data, 3, &mut bytes).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            let _ = (read(zstd::decompress, &bytes), read(decompress, &bytes));
        }
    }
}
