//! Snappy as Kafka has it: blocks after lengths as xerial's snappy-java writes them, or one raw block.

use milena_wire::counted;
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::Decompress;
use crate::error::{Error, Result};

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
/// Magic, version, lowest compatible version.
const HEADER: usize = 16;
const BLOCK: usize = 32 * 1024;
/// A copy of three bytes gives 64 at most; nothing in the format expands further.
const MOST_PER_BYTE: usize = 22;

pub(super) fn compress(data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1]);
    let mut encoder = Encoder::new();
    let blocks = data.len() / BLOCK + 1;
    out.reserve(data.len() / 2 + blocks * 4 + max_compress_len(data.len().min(BLOCK)));
    for block in data.chunks(BLOCK) {
        let start = out.len();
        out.resize(start + 4 + max_compress_len(block.len()), 0);
        let size = encoder
            .compress(block, &mut out[start + 4..])
            .map_err(|error| Error::invalid(format!("snappy: {error}")))?;
        out[start..start + 4].copy_from_slice(&(size as u32).to_be_bytes());
        out.truncate(start + 4 + size);
    }
    Ok(())
}

pub(super) fn decompress(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    if data.is_empty() {
        return Err(Error::malformed(0, "no snappy data"));
    }
    // Java looks at the magic only when there is a whole header.
    if data.len() < HEADER || !data.starts_with(&MAGIC) {
        return block(data, out, how);
    }
    let mut pos = HEADER;
    // Up to three bytes at the end are too few for a length and go unread.
    while let Some(length) = data[pos..].first_chunk::<4>() {
        if length[..] == MAGIC[..4] {
            // Another stream after the first; one that only begins like it ends the data.
            match data.get(pos..pos + HEADER) {
                Some(header) if header.starts_with(&MAGIC) => pos += HEADER,
                Some(_) => return Ok(()),
                None => return Err(Error::malformed(pos, "snappy header cut off")),
            }
            continue;
        }
        let length = i32::from_be_bytes(*length);
        let Some(compressed) = usize::try_from(length).ok().and_then(|length| data[pos + 4..].get(..length)) else {
            let left = data.len() - pos - 4;
            return Err(Error::malformed(pos, format!("snappy block of {}, {left} left", counted(length, "byte"))));
        };
        block(compressed, out, how).map_err(|error| error.shift(pos + 4))?;
        pos += 4 + compressed.len();
    }
    Ok(())
}

fn block(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    let failed = |error| Error::malformed(0, format!("snappy: {error}"));
    let size = decompress_len(data).map_err(failed)?;
    if data.is_empty() {
        return Err(Error::malformed(0, "empty snappy block"));
    }
    if size > data.len().saturating_mul(MOST_PER_BYTE) {
        return Err(Error::malformed(
            0,
            format!("snappy block of {} claims to hold {size}", counted(data.len(), "byte")),
        ));
    }
    how.room(out, size)?;
    let start = out.len();
    out.resize(start + size, 0);
    if let Err(error) = Decoder::new().decompress(data, &mut out[start..]) {
        out.truncate(start);
        return Err(failed(error));
    }
    Ok(())
}
